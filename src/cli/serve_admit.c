// SPDX-License-Identifier: Apache-2.0
// What a submission means: its task, its device, the hash of its settings. Everything that would make the judgement
// fail for reasons of the submission is found here, before it is queued.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "cli/serving.h"
#include "judge/machine.h"
#include "task/task.h"

// Versions of the compilers on PATH.
static void find_compilers(struct serving *a) {
  static const char *const commands[] = {"gcc -dumpfullversion 2>/dev/null", "nvcc --version 2>/dev/null | tail -n 1"};
  size_t used = 0;
  a->compilers[0] = '\0';
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    char line[100] = "";
    FILE *f = popen(commands[i], "re");
    if (f && !fgets(line, sizeof line, f))
      line[0] = '\0';
    if (f && pclose(f) != 0)
      line[0] = '\0'; // it is not there
    line[strcspn(line, "\n")] = '\0';
    if (used < sizeof a->compilers)
      used += (size_t)snprintf(a->compilers + used, sizeof a->compilers - used, "%s%s", i ? "; " : "", line);
  }
}

enum assay_status serving_find_machine(struct serving *a, struct assay_error *err) {
  char *machine = machine_identity(false);
  if (!machine)
    return error_nomem(err, "the machine's name");
  snprintf(a->machine, sizeof a->machine, "%s", machine);
  base_free(machine);
  find_compilers(a);
  return ASSAY_OK;
}

static void take_bool(const json_t *settings, const char *key, bool *out) {
  const json_t *value = json_object_get(settings, key);
  if (value)
    *out = json_is_true(value);
}

static void take_text(const json_t *settings, const char *key, const char **out) {
  const char *value = json_string_value(json_object_get(settings, key));
  if (value)
    *out = value;
}

static bool is_text(const json_t *settings, const char *key, const char *text) {
  const char *value = json_string_value(json_object_get(settings, key));
  return value && strcmp(value, text) == 0;
}

void serving_take_settings(struct cli_judging *j, const json_t *settings) {
  struct assay_judge_options *o = &j->options;
  const json_t *checks = json_object_get(settings, "checks");
  take_bool(settings, "as_published", &o->as_published);
  take_bool(settings, "probes", &o->probes);
  take_bool(settings, "timing", &o->timing);
  take_text(settings, "contract", &o->contract);
  take_text(settings, "mode", &o->mode);
  take_text(settings, "toolchain", &o->toolchain);
  if (checks)
    o->declared_checks = (int)json_integer_value(checks);
  if (is_text(settings, "rule", "allclose"))
    o->rule = ASSAY_RULE_ALLCLOSE;
  if (is_text(settings, "shapes", "judged"))
    o->shapes = ASSAY_SHAPES_JUDGED;
}

// What can never be judged here is not queued: a worker would only find that out three times.
static enum assay_status check_memory(const struct assay_judge_options *o, const struct task *task,
                                      const struct workload *workload, struct assay_error *err) {
  struct task_cost cost;
  int64_t total = 0;
  struct assay_error ignored = {0};
  if (strcmp(o->device, plan_device_cpu.name) != 0 || task_cost(task, workload, &cost, &ignored) != ASSAY_OK)
    return ASSAY_OK;
  const double bytes = cost.input_bytes + cost.output_bytes;
  memory_available("", &total);
  if (total <= 0 || bytes <= (double)total)
    return ASSAY_OK;
  return error_set(
      err, ASSAY_ERR_INVALID,
      "%s at workload %s has tensors of %.1f GB, and this server's machine has %.1f GB of memory: ask for a "
      "smaller workload",
      task->name, workload->name, bytes / 1e9, (double)total / 1e9);
}

// Whether the task has such a workload and contract, and what the two are called, however they were written.
static enum assay_status check_task(const struct assay_judge_options *o, struct serve_admission *out,
                                    struct assay_error *err) {
  struct task task;
  struct arena arena = {0};
  struct workload workload;
  enum assay_status status = task_read(o->task, o->as_published, &task, err);
  if (status)
    return status;
  status = task_take_contract(&task, o->contract, err);
  if (!status)
    status = task_parse_workload(&task, o->workload, &arena, &workload, err);
  if (!status && strlen(workload.name) >= sizeof out->workload)
    status = error_set(err, ASSAY_ERR_INVALID, "the workload's sizes are too long a text");
  if (!status)
    status = check_memory(o, &task, &workload, err);
  if (!status) {
    snprintf(out->workload, sizeof out->workload, "%s", workload.name);
    snprintf(out->task, sizeof out->task, "%s", task.name);
  }
  arena_release(&arena);
  task_release(&task);
  return status;
}

// Which hardware: the GPU's name where it was calibrated, and the machine's identity.
static void name_kind(struct serving *a, const struct form *form, char *kind, size_t size) {
  const struct cli_device *d = cli_device(&a->judging, form->device);
  snprintf(kind, size, "%s; %s; %s", form->device->name, d->peaks.device, a->machine);
}

static bool is_served(const struct serving *a, const char *device) {
  for (int i = 0; i < a->options.n_units; i++)
    if (strcmp(a->units[i].device, device) == 0)
      return true;
  return false;
}

static enum assay_status find_form(const struct serving *a, const struct serve_candidate *c, const struct form **form,
                                   struct assay_error *err) {
  enum assay_status status = cli_form_of(c->name, c->device, form, err);
  // Without a wish, a Python module goes where there is a worker.
  if (!status && !c->device && !is_served(a, (*form)->device->name) && is_served(a, plan_device_cpu.name))
    status = cli_form_of(c->name, plan_device_cpu.name, form, err);
  if (!status && c->device && strcmp((*form)->device->name, c->device) != 0)
    status =
        error_set(err, ASSAY_ERR_USAGE, "%s is for device %s, not for %s", c->name, (*form)->device->name, c->device);
  if (!status && !is_served(a, (*form)->device->name))
    status = error_set(err, ASSAY_ERR_USAGE, "this server has no worker for device %s, which %s needs",
                       (*form)->device->name, c->name);
  return status;
}

// Back to the name that was submitted, where the task's own leads elsewhere: workers look for it by name.
static void keep_name(const struct serving *a, const char *submitted, const char *path, struct serve_admission *out) {
  struct assay_error ignored = {0};
  char *again = NULL;
  if (task_find(a->judging.paths.tasks, out->task, &again, &ignored) != ASSAY_OK || strcmp(again, path) != 0)
    snprintf(out->task, sizeof out->task, "%s", submitted);
  base_free(again);
}

enum assay_status serving_admit(void *arg, const struct serve_candidate *c, struct serve_admission *out,
                                struct assay_error *err) {
  struct serving *a = arg;
  char *task_path = NULL;
  const struct form *form = NULL;
  enum assay_status status = task_find(a->judging.paths.tasks, c->task, &task_path, err);
  if (status) // its message lists paths
    return error_set(err, status, "there is no task %.120s", c->task);
  *out = (struct serve_admission){0};
  pthread_mutex_lock(&a->lock);
  struct assay_judge_options *o = &a->judging.options;
  const struct assay_judge_options before = *o;
  o->task = task_path;
  o->workload = c->workload;
  o->candidate = c->name;
  serving_take_settings(&a->judging, c->settings);
  status = find_form(a, c, &form, err);
  if (!status) {
    o->device = form->device->name;
    status = check_task(o, out, err);
  }
  if (!status)
    keep_name(a, c->task, task_path, out);
  o->workload = out->workload;
  if (!status)
    status = assay_settings_hash(o, out->settings_hash, err);
  if (!status) {
    name_kind(a, form, out->kind, sizeof out->kind);
    out->timed = o->timing;
    snprintf(out->device, sizeof out->device, "%s", form->device->name);
    snprintf(out->toolchain, sizeof out->toolchain, "%s; %s", o->toolchain ? o->toolchain : form->language,
             a->compilers);
  }
  *o = before;
  pthread_mutex_unlock(&a->lock);
  base_free(task_path);
  return status;
}
