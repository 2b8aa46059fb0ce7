// SPDX-License-Identifier: Apache-2.0
// assay make TASK|SUITE --method M --endpoint E: kernels from language models, with the judge in the loop. What the
// options mean together, and the run.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/argv.h"
#include "cli/make.h"
#include "method/feedback.h"
#include "task/task.h"

// --- tasks

static bool has_task(const struct make *m, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(m->tasks[i].name, name) == 0)
      return true;
  return false;
}

// One that a suite and a name have both given is made once.
static enum assay_status add_task(struct make *m, const char *path, size_t *n, size_t *capacity,
                                  struct assay_error *err) {
  struct task t;
  enum assay_status status = task_read(path, m->judging.options.as_published, &t, err);
  if (status)
    return status;
  if (has_task(m, *n, t.name)) {
    task_release(&t);
    return ASSAY_OK;
  }
  if (*n == *capacity) {
    struct engine_task *more = arena_grow(&m->arena, m->tasks, *n, capacity, sizeof *more);
    m->tasks = more ? more : m->tasks;
    status = more ? ASSAY_OK : error_nomem(err, "a list of tasks");
  }
  if (!status) {
    struct engine_task *e = &m->tasks[(*n)++];
    *e = (struct engine_task){arena_strdup(&m->arena, t.name), arena_strdup(&m->arena, path)};
    status = e->name && e->path ? ASSAY_OK : error_nomem(err, "a list of tasks");
  }
  task_release(&t);
  return status;
}

static enum assay_status list_tasks(struct make *m, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  size_t n = 0, capacity = 0;
  for (int i = 0; i < m->n_arguments && !status; i++) {
    char **paths = NULL, *path = NULL;
    int count = 0;
    if (access(m->arguments[i], F_OK) == 0) {
      status = task_find(m->judging.paths.tasks, m->arguments[i], &path, err);
      status = status ? status : add_task(m, path, &n, &capacity, err);
      base_free(path);
      continue;
    }
    status = task_list(m->judging.paths.tasks, m->arguments[i], &paths, &count, err);
    for (int k = 0; k < count && !status; k++)
      status = add_task(m, paths[k], &n, &capacity, err);
    if (paths)
      task_list_release(paths, count);
  }
  m->engine.tasks = m->tasks;
  m->engine.n_tasks = (int)n;
  if (n == 1) // sizes are one task's
    m->judging.options.workload = task_workload_name(m->engine.tasks[0].path, m->judging.options.workload, &m->arena);
  return status;
}

// --- what the options mean

// Model i is asked at endpoint i, or all at the only one; without names each endpoint is a model of its own.
static enum assay_status pair_models(struct make *m, struct assay_error *err) {
  int n = m->n_names ? m->n_names : m->n_endpoints;
  if (m->n_names && m->n_endpoints > 1 && m->n_endpoints != m->n_names)
    return error_set(err, ASSAY_ERR_USAGE, "%d --model and %d --endpoint: give one endpoint, or one for each model",
                     m->n_names, m->n_endpoints);
  m->n_given = m->n_endpoints;
  for (; m->n_endpoints < n; m->n_endpoints++) { // what a server refuses, and its limits, are of one model
    m->endpoints[m->n_endpoints] = m->endpoints[0];
    m->more[m->n_endpoints] = m->more[0];
    json_incref(m->more[0].given);
  }
  for (int i = 0; i < n; i++) {
    if (model_endpoint_check(&m->endpoints[i], err) != ASSAY_OK)
      return err->status;
    if (m->n_names && !m->model_names[i][0])
      return error_set(err, ASSAY_ERR_USAGE, "a --model has no name");
    const char *name = m->n_names ? m->model_names[i] : n > 1 ? m->endpoints[i].url : "";
    bool program = model_endpoint_is_program(&m->endpoints[i]);
    if (!m->n_names && !program)
      return error_set(err, ASSAY_ERR_USAGE, "%s serves models by name: say which one with --model",
                       m->endpoints[i].url);
    m->models[i] = (struct engine_model){.name = name, .endpoint = i, .program = program};
  }
  m->engine.models = m->models;
  m->engine.settings.n_models = n;
  return ASSAY_OK;
}

// Nothing that the form gives can be judged on the device.
static enum assay_status no_form(const struct make *m, struct assay_error *err) {
  const struct answer_form *f = m->engine.form, *usual;
  enum assay_status status = answer_form_of_device(m->judging.device, &usual, err);
  if (status)
    return status;
  return error_set(err, ASSAY_ERR_USAGE,
                   "the form %s is %s, which cannot be judged on the device %s: use --form %s (%s), or --device %s",
                   f->name, f->what, m->judging.device, usual->name, usual->what, f->device);
}

static enum assay_status choose_form(struct make *m, struct assay_error *err) {
  const char *device = m->judging.device ? m->judging.device : cli_has_nvidia() ? "cuda" : "cpu";
  enum assay_status status = m->form ? answer_form_by_name(m->form, &m->engine.form, err)
                                     : answer_form_of_device(device, &m->engine.form, err);
  const struct form *form;
  if (!status)
    status = cli_form_of(m->engine.form->ending, m->judging.device, &form, err);
  if (status)
    return status;
  if (m->judging.device && strcmp(form->device->name, m->judging.device) != 0)
    return no_form(m, err);
  m->judging.options.device = form->device->name;
  m->judging.options.peaks = cli_device(&m->judging, form->device)->peaks;
  return ASSAY_OK;
}

// --field, as the client takes it.
static enum assay_status write_fields(struct make *m, struct assay_error *err) {
  for (int i = 0; i < m->n_endpoints; i++) {
    if (!m->more[i].given)
      continue;
    if (model_endpoint_is_program(&m->endpoints[i]))
      return error_set(err, ASSAY_ERR_USAGE, "--field is for servers: a program takes its settings in its command");
    m->endpoints[i].fields = m->more[i].fields = json_dumps(m->more[i].given, JSON_SORT_KEYS);
    if (!m->more[i].fields)
      return error_nomem(err, "the fields of requests");
  }
  return ASSAY_OK;
}

static void fill_defaults(struct make *m) {
  struct engine_options *e = &m->engine;
  const struct method *method = e->settings.method;
  bool programs = true;
  for (int i = 0; i < m->n_endpoints; i++)
    programs = programs && model_endpoint_is_program(&m->endpoints[i]);
  e->settings.samples = e->settings.samples ? e->settings.samples : method->samples;
  e->settings.turns = e->settings.turns ? e->settings.turns : method->turns;
  m->client.parallel = m->parallel ? m->parallel : programs ? 1 : m->n_endpoints > 4 ? m->n_endpoints : 4;
  // A program may need the processors that a kernel is timed on: it does not run then, unless --parallel asks for it.
  e->ahead = programs ? m->client.parallel : 2 * m->client.parallel;
  e->prompts = m->prompts;
  e->store = m->store;
  e->judging = &m->judging.options;
  e->judge = make_judge;
  e->progress = make_show;
  e->judge_arg = e->progress_arg = m;
  e->stop = &m->interrupt.stop;
}

// Where a lane has one model to its end, each model needs a lane.
static enum assay_status check_lanes(const struct engine_options *e, struct assay_error *err) {
  const struct method_settings *s = &e->settings;
  int asked = s->method == &method_greedy ? 1 : s->samples;
  if (s->method == &method_swarm || s->method == &method_evolve || asked >= s->n_models)
    return ASSAY_OK;
  if (s->method == &method_greedy)
    return error_set(err, ASSAY_ERR_USAGE, "greedy asks one model once, not %d: use --method sample or swarm",
                     s->n_models);
  return error_set(err, ASSAY_ERR_USAGE,
                   "of %d models %d would be asked: give --attempts %d or more, or --method swarm", s->n_models, asked,
                   s->n_models);
}

static enum assay_status prepare(struct make *m, struct assay_error *err) {
  struct engine_options *e = &m->engine;
  enum assay_status status = method_by_name(m->method ? m->method : "sample", &e->settings.method, err);
  if (!status)
    status = feedback_parse(m->feedback ? m->feedback : "performance", &e->rungs, err);
  if (!status)
    status = pair_models(m, err);
  if (!status)
    status = write_fields(m, err);
  if (!status)
    status = make_find_keys(m, err);
  if (!status)
    status = make_find_prices(m, err);
  for (int i = 0; i < m->n_endpoints && !status; i++)
    status = model_endpoint_check(&m->endpoints[i], err);
  if (!status)
    status = choose_form(m, err);
  if (!status)
    status = list_tasks(m, err);
  if (!status)
    status = make_name_run(m, err);
  if (!status)
    fill_defaults(m);
  if (!status)
    status = check_lanes(e, err);
  if (!status && e->settings.method != &method_sample && e->settings.samples > METHOD_MOST_ROUND)
    status = error_set(err, ASSAY_ERR_USAGE, "at most %d trajectories of a task: --attempts %d is too many",
                       METHOD_MOST_ROUND, e->settings.samples);
  return status;
}

static int run(struct make *m, struct assay_error *err) {
  struct engine_summary summary = {0};
  m->client.endpoints = m->endpoints;
  m->client.n_endpoints = m->n_endpoints;
  m->client.environment = environ;
  enum assay_status status = make_check_machine(m, err);
  if (!status)
    status = make_folder(m, err);
  if (!status)
    status = make_keep_settings(m, err);
  if (!status)
    status = cli_interrupt_watch(&m->interrupt, err);
  make_recall_refused(m);
  if (!status)
    status = model_client_open(&m->client, &m->engine.client, err);
  if (status)
    return cli_fail(err);
  status = engine_run(&m->engine, &summary, err);
  make_live_end(m);
  int code = make_print(m, &summary);
  if (m->interrupt.stop && code != CLI_ENVIRONMENT)
    code = CLI_INTERRUPTED;
  if (status)
    code = cli_fail(err);
  engine_summary_release(&summary);
  make_keep_refused(m);
  model_client_close(m->engine.client);
  return code;
}

static enum assay_status replay(struct make *m, struct assay_error *err) {
  int64_t steps = 0;
  enum assay_status status = make_keep_settings(m, err);
  if (!status)
    status = engine_replay(&m->engine, &steps, err);
  if (!status)
    printf("run \"%s\": %lld steps came out as they are stored\n", m->engine.run, (long long)steps);
  return status;
}

int cli_make(int argc, char **argv) {
  static struct make m; // large
  struct assay_error err = {0};
  model_client_defaults(&m.client);
  m.client.authorities = getenv("SSL_CERT_FILE") ? getenv("SSL_CERT_FILE") : getenv("CURL_CA_BUNDLE");
  m.engine.settings.temperature = NAN;
  m.engine.max_tokens = 16384;
  m.engine.finals = true;
  m.interrupt.finishing = "what is under way";
  struct cli_judging *j = &m.judging;
  if (cli_judging_init(j, &err) != ASSAY_OK)
    return cli_fail(&err);
  snprintf(m.prompts, sizeof m.prompts, "%s", j->paths.prompts);
  snprintf(m.prices_path, sizeof m.prices_path, "%s", j->paths.prices);
  cli_argv_check(&make_argp, argc, argv);
  argp_parse(&make_argp, argc, argv, 0, NULL, &m);
  if (store_open(j->paths.store, &m.store, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_judging_finish(j, m.store);
  enum assay_status status = prepare(&m, &err);
  int code = CLI_PASS;
  if (!status && (m.dry_run || m.replay))
    status = m.dry_run ? make_dry_run(&m, &err) : replay(&m, &err);
  else if (!status)
    code = run(&m, &err);
  code = status ? cli_fail(&err) : code;
  make_forget_keys(&m);
  model_prices_release(&m.prices);
  cli_judging_close(j);
  store_close(m.store);
  arena_release(&m.arena);
  return code;
}
