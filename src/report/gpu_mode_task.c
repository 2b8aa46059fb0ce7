// SPDX-License-Identifier: Apache-2.0
// A task as a problem of GPU MODE: task.yml and what it names. A task that was made of a problem keeps it
// (gpu_mode.problem: task.yml as JSON; gpu_mode.files: texts by their sources), and it is written as it was.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/flashinfer.h"
#include "report/gpu_mode.h"
#include "report/report.h"

// --- YAML. JSON is YAML, but for numbers: YAML 1.1 takes 1e-05 for a text.

static void put_real(double x, struct buf *out) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", x);
  const char *e = strchr(text, 'e');
  if (strchr(text, '.') || !isfinite(x))
    buf_puts(out, isnan(x) ? ".nan" : x == INFINITY ? ".inf" : x == -INFINITY ? "-.inf" : text);
  else if (e)
    buf_printf(out, "%.*s.0%s", (int)(e - text), text, e);
  else
    buf_printf(out, "%s.0", text);
}

static void put_flow(const json_t *value, struct buf *out) {
  const char *key, *between = "";
  json_t *row;
  size_t i;
  if (json_is_object(value)) {
    buf_puts(out, "{");
    json_object_foreach((json_t *)(uintptr_t)value, key, row) {
      json_t *name = json_string(key);
      buf_puts(out, between);
      put_flow(name, out);
      buf_puts(out, ": ");
      put_flow(row, out);
      json_decref(name);
      between = ", ";
    }
    buf_puts(out, "}");
  } else if (json_is_array(value)) {
    buf_puts(out, "[");
    json_array_foreach(value, i, row) {
      buf_puts(out, between);
      put_flow(row, out);
      between = ", ";
    }
    buf_puts(out, "]");
  } else if (json_is_real(value)) {
    put_real(json_real_value(value), out);
  } else {
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    buf_puts(out, text ? text : "null");
    free(text);
  }
}

// A member a line, and the rows of lists a line each.
static void put_yaml(const json_t *problem, struct buf *out) {
  const char *key;
  json_t *value, *row;
  size_t i;
  json_object_foreach((json_t *)(uintptr_t)problem, key, value) {
    buf_printf(out, "%s:", key);
    if (!json_is_array(value) || json_array_size(value) == 0) {
      buf_puts(out, " ");
      put_flow(value, out);
    } else {
      json_array_foreach(value, i, row) {
        buf_puts(out, "\n  - ");
        put_flow(row, out);
      }
    }
    buf_puts(out, "\n");
  }
}

// --- files

static enum assay_status write_file(const char *folder, const char *name, const char *text, struct assay_error *err) {
  struct buf place = {0}, path = {0};
  const char *slash = strrchr(name, '/');
  buf_printf(&place, "%s/%.*s", folder, slash ? (int)(slash - name) : 0, name);
  buf_printf(&path, "%s/%s", folder, name);
  enum assay_status status =
      place.failed || path.failed ? error_nomem(err, "a problem") : file_make_folders(buf_str(&place), err);
  if (status == ASSAY_OK)
    status = file_write(buf_str(&path), text, strlen(text), err);
  buf_release(&place);
  buf_release(&path);
  return status;
}

// Whether a file of a problem may be written there: in its folder, or in the one above, where a set has what its
// problems share.
static bool is_near(const char *source) {
  const char *rest = strncmp(source, "../", 3) == 0 ? source + 3 : source;
  return *rest && *rest != '/' && !strstr(rest, "..");
}

static enum assay_status write_kept(const struct task *t, const json_t *problem, const char *folder,
                                    struct assay_error *err) {
  const char *kept = model_property(&t->model, "gpu_mode.files"), *source;
  json_t *files = kept ? json_loads(kept, JSON_REJECT_DUPLICATES, NULL) : NULL, *text;
  struct buf yaml = {0};
  put_yaml(problem, &yaml);
  enum assay_status status = buf_status(&yaml, err);
  if (!status && kept && !json_is_object(files))
    status = error_set(err, ASSAY_ERR_INVALID, "%s: gpu_mode.files is no object of JSON", t->path);
  if (!status)
    status = write_file(folder, "task.yml", buf_str(&yaml), err);
  json_object_foreach(files, source, text) {
    if (!status && (!json_is_string(text) || !is_near(source)))
      status = error_set(err, ASSAY_ERR_INVALID,
                         "%s: gpu_mode.files: %s: a text in the problem's folder or in the one "
                         "above it is wanted",
                         t->path, source);
    if (!status)
      status = write_file(folder, source, json_string_value(text), err);
  }
  json_decref(files);
  buf_release(&yaml);
  return status;
}

// --- a problem of our own making

// The arguments of a workload: its sizes, and a seed.
static json_t *case_of(const struct workload *w, int number) {
  json_t *row = json_object();
  for (int i = 0; i < w->n; i++)
    json_object_set_new(row, w->bindings[i].symbol, json_integer(w->bindings[i].value));
  json_object_set_new(row, "seed", json_integer(1009 + number));
  return row;
}

// generate_input, which finds the draws by the sizes that it gets, and the two other functions of a reference.
static enum assay_status put_functions(const struct task *t, bool same, struct buf *out, struct assay_error *err) {
  const int full = t->n_workloads > 1 ? 1 : 0;
  const struct workload *sizes = &t->workloads[full];
  struct buf table = {0}, names = {0}, inputs = {0};
  char name[32];
  const char *run = strstr(buf_str(out), "def run("); // whose arguments ref_kernel unpacks under the same names
  if (run)
    buf_append(&inputs, run + strlen("def run("), strcspn(run + strlen("def run("), ")"));
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < t->n_workloads && !status; i++) {
    if (!same && i != full)
      continue;
    snprintf(name, sizeof name, "draw_%d", i);
    status = report_pytorch_draws(t, &t->workloads[i], name, out, err);
    buf_puts(&table, "        (");
    for (int k = 0; k < t->workloads[i].n; k++)
      buf_printf(&table, "%lld, ", (long long)t->workloads[i].bindings[k].value);
    buf_printf(&table, "): %s,\n", name);
  }
  for (int k = 0; k < sizes->n; k++)
    buf_printf(&names, "%s, ", sizes->bindings[k].symbol);
  buf_printf(out,
             "\n\ndef ref_kernel(data):\n    %s, = data\n    return run(%s)\n\n\n"
             "def generate_input(%sseed):\n    torch.manual_seed(seed)\n    draws = {\n%s    }\n"
             "    return tuple(x.to(\"cuda\") for x in draws[(%s)]())\n\n\n"
             "check_implementation = make_match_reference(ref_kernel, rtol=%.9g, atol=%.9g)\n",
             buf_str(&inputs), buf_str(&inputs), buf_str(&names), buf_str(&table), buf_str(&names), t->rtol, t->atol);
  if (!status)
    status = buf_status(&table, err);
  if (!status)
    status = buf_status(&names, err);
  if (!status)
    status = buf_status(&inputs, err);
  buf_release(&table);
  buf_release(&names);
  buf_release(&inputs);
  return status ? status : buf_status(out, err);
}

static const char task_types[] = "from typing import TypeVar\n\ninput_t = TypeVar(\"input_t\")\noutput_t = "
                                 "TypeVar(\"output_t\")\n";

static json_t *made_problem(const struct task *t, bool same) {
  const int full = t->n_workloads > 1 ? 1 : 0;
  json_t *tests = json_array(), *benchmarks = json_array(), *files = json_array();
  static const char *const names[][2] = {{"submission.py", "@SUBMISSION@"},
                                         {"task.py", "task.py"},
                                         {"utils.py", "../utils.py"},
                                         {"reference.py", "reference.py"},
                                         {"eval.py", "../eval.py"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    json_array_append_new(files, json_pack("{s:s, s:s}", "name", names[i][0], "source", names[i][1]));
  for (int i = 0; i < t->n_workloads; i++)
    if (i != full && same)
      json_array_append_new(tests, case_of(&t->workloads[i], i));
  if (json_array_size(tests) == 0)
    json_array_append_new(tests, case_of(&t->workloads[full], 100));
  json_array_append_new(benchmarks, case_of(&t->workloads[full], full));
  return json_pack("{s:o, s:s, s:s, s:{s:s}, s:o, s:o, s:s}", "files", files, "lang", "py", "description", t->title,
                   "config", "main", "eval.py", "tests", tests, "benchmarks", benchmarks, "ranking_by", "geom");
}

static enum assay_status write_made(const struct task *t, const char *folder, struct assay_error *err) {
  struct buf yaml = {0}, text = {0};
  bool same;
  enum assay_status status = report_pytorch_everywhere(t, &text, &same, err);
  json_t *problem = status ? NULL : made_problem(t, same);
  struct buf reference = {0};
  buf_printf(&reference, "from utils import make_match_reference\n%s", buf_str(&text));
  if (!status && !problem)
    status = error_nomem(err, "a problem");
  if (!status)
    status = put_functions(t, same, &reference, err);
  put_yaml(problem, &yaml);
  if (!status)
    status = buf_status(&yaml, err);
  if (!status)
    status = write_file(folder, "task.yml", buf_str(&yaml), err);
  if (!status)
    status = write_file(folder, "task.py", task_types, err);
  if (!status)
    status = write_file(folder, "reference.py", buf_str(&reference), err);
  json_decref(problem);
  buf_release(&yaml);
  buf_release(&text);
  buf_release(&reference);
  return status;
}

enum assay_status gpu_mode_write_task(const struct task *t, const char *folder, struct assay_error *err) {
  const char *kept = model_property(&t->model, "gpu_mode.problem"), *slash = strrchr(t->name, '/');
  json_t *problem = kept ? json_loads(kept, JSON_REJECT_DUPLICATES, NULL) : NULL;
  struct buf place = {0};
  buf_printf(&place, "%s/", folder);
  flashinfer_file_name(kept && slash ? slash + 1 : t->name, &place);
  enum assay_status status = buf_status(&place, err);
  if (!status && kept && !json_is_object(problem))
    status = error_set(err, ASSAY_ERR_INVALID, "%s: gpu_mode.problem is no object of JSON", t->path);
  else if (!status)
    status = kept ? write_kept(t, problem, buf_str(&place), err) : write_made(t, buf_str(&place), err);
  json_decref(problem);
  buf_release(&place);
  return status;
}
