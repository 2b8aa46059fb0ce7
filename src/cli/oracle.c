// SPDX-License-Identifier: Apache-2.0
// assay oracle TASK: the trusted answer to given or drawn inputs, as files.
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "base/rng.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "onnx/onnx.h"
#include "oracle/oracle.h"
#include "report/npy.h"
#include "task/task.h"

enum { KEY_INPUTS = 9000, KEY_OUTPUTS, KEY_WORKLOAD, KEY_PROBE, KEY_SEED, KEY_PUBLISHED };

struct arguments {
  struct cli_judging judging;
  const char *task, *inputs, *outputs, *workload;
  enum probe probe;
  uint64_t seed;           // 0: fresh
  bool published, drawing; // drawing: an option for drawn inputs was given
};

static uint64_t seed_arg(struct argp_state *state, const char *text) {
  char *end;
  errno = 0;
  long long n = strtoll(text, &end, 10);
  if (errno || end == text || *end || n < 1)
    argp_error(state, "--seed takes a whole number from 1 to %lld, not '%s'", (long long)INT64_MAX, text);
  return (uint64_t)n;
}

static void no_probe(struct argp_state *state, const char *name) {
  const char *names[PROBE_COUNT + 1] = {NULL};
  for (int p = 0; p < PROBE_COUNT; p++)
    names[p] = probe_name((enum probe)p);
  cli_take_choice(state, "--probe takes", names, name);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  a->drawing = a->drawing || key == KEY_WORKLOAD || key == KEY_PROBE || key == KEY_SEED;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case KEY_INPUTS:
    a->inputs = arg;
    return 0;
  case KEY_OUTPUTS:
    a->outputs = arg;
    return 0;
  case KEY_WORKLOAD:
    a->workload = arg;
    return 0;
  case KEY_PROBE:
    if (!probe_by_name(arg, strlen(arg), &a->probe))
      no_probe(state, arg);
    return 0;
  case KEY_SEED:
    a->seed = seed_arg(state, arg);
    return 0;
  case KEY_PUBLISHED:
    a->published = true;
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "TASK", arg, &a->task);
    return 0;
  case ARGP_KEY_END:
    if (!a->task)
      argp_error(state, "name a task: assay oracle kernelbench/1/19 --outputs DIR");
    if (!a->outputs)
      argp_error(state, "say where to: --outputs DIR");
    if (a->inputs && a->drawing)
      argp_error(state,
                 "--inputs gives the inputs and their sizes: --workload, --probe and --seed are for drawn inputs");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"inputs", KEY_INPUTS, "DIR", 0,
     "folder of the inputs: input_0.npy or input_0.pb, input_1..., in the graph's order", 0},
    {"outputs", KEY_OUTPUTS, "DIR", 0,
     "folder for output_0.npy, ... and for the inputs if they are drawn; made if missing", 0},
    {"workload", KEY_WORKLOAD, "NAME|DIMS", 0, "sizes of drawn inputs (default small)", 0},
    {"probe", KEY_PROBE, "NAME", 0, "draw a probe's inputs instead of the declared ones", 0},
    {"seed", KEY_SEED, "N", 0, "draw the same inputs again (default: fresh ones)", 0},
    {"as-published", KEY_PUBLISHED, 0, 0, "the task as its suite published it", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_tasks_child,
    .args_doc = "TASK",
    .doc = "Computes the answer that candidates are compared with: the task's graph in double precision, without "
           "rounding between operators.\v"
           "Inputs are read from --inputs, as NumPy's .npy or ONNX's TensorProto files, or drawn as the task declares. "
           "Values in double precision are not rounded to the input's type. Floating-point outputs are written as "
           "float64, integers as int64, bool as bool.",
};

// Takes the array as the graph's input i. Kinds of elements must agree, their sizes need not.
static enum assay_status take_input(const struct task *t, int i, const char *path, struct array *a,
                                    struct assay_error *err) {
  const struct value *v = &t->model.flat.values[t->model.flat.inputs[i]];
  bool fits = dtype_is_float(v->dtype)
                  ? dtype_is_float(a->dtype)
                  : !dtype_is_float(a->dtype) && (a->dtype == DTYPE_BOOL) == (v->dtype == DTYPE_BOOL);
  if (!fits)
    return error_set(err, ASSAY_ERR_INVALID, "%s: its elements are %s, input %d (%s) is %s", path, dtype_name(a->dtype),
                     i, v->name, dtype_name(v->dtype));
  a->dtype = v->dtype;
  return ASSAY_OK;
}

static enum assay_status read_tensor(const char *path, const char *bytes, size_t len, struct array *out,
                                     struct assay_error *err) {
  struct arena arena = {0};
  struct tensor tensor;
  enum assay_status status = onnx_read_tensor(bytes, len, path, &arena, &tensor, err);
  if (!status)
    status = array_from_tensor(&tensor, out, err);
  arena_release(&arena);
  return status;
}

static enum assay_status read_input(const struct arguments *a, const struct task *t, int i, struct array *out,
                                    struct assay_error *err) {
  char path[4096], *bytes = NULL;
  size_t len;
  snprintf(path, sizeof path, "%s/input_%d.npy", a->inputs, i);
  bool npy = access(path, F_OK) == 0;
  if (!npy)
    snprintf(path, sizeof path, "%s/input_%d.pb", a->inputs, i);
  if (!npy && access(path, F_OK) != 0)
    return error_set(err, ASSAY_ERR_NOT_FOUND,
                     "%s has neither input_%d.npy nor input_%d.pb: the task has %d inputs, and this is %s", a->inputs,
                     i, i, t->n_inputs, t->inputs[i].name);
  enum assay_status status = file_read(path, ONNX_MAX_FILE_BYTES, &bytes, &len, err);
  if (!status)
    status = npy ? npy_read(bytes, len, path, out, err) : read_tensor(path, bytes, len, out, err);
  if (!status)
    status = take_input(t, i, path, out, err);
  base_free(bytes);
  return status;
}

static enum assay_status write_array(const struct arguments *a, const char *kind, int i, const struct array *array,
                                     enum dtype as, struct assay_error *err) {
  char path[4096];
  struct buf bytes = {0};
  snprintf(path, sizeof path, "%s/%s_%d.npy", a->outputs, kind, i);
  enum assay_status status = npy_write(array, as, &bytes, err);
  if (!status)
    status = file_write(path, bytes.data, bytes.len, err);
  buf_release(&bytes);
  return status;
}

// Draws the inputs and writes them, each in its own type if NumPy has that type.
static enum assay_status draw_inputs(const struct arguments *a, const struct task *t, int threads, struct array *in,
                                     struct assay_error *err) {
  struct arena arena = {0};
  struct workload w;
  enum assay_status status = task_parse_workload(t, a->workload ? a->workload : "small", &arena, &w, err);
  if (!status)
    status = task_draw_inputs(t, &w, a->probe, a->seed, threads, in, err);
  for (int i = 0; i < t->n_inputs && !status; i++)
    status = write_array(a, "input", i, &in[i], npy_dtype(in[i].dtype), err);
  arena_release(&arena);
  return status;
}

static enum assay_status answer(const struct task *t, const struct array *in, int threads, struct array *out,
                                struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  struct arena arena = {0};
  struct graph_shapes shapes;
  // Shapes first: their errors name inputs and dimensions.
  enum assay_status status = oracle_infer(g, in, &arena, &shapes, err);
  arena_release(&arena);
  struct oracle_request r = {.graph = g, .inputs = in, .arith = arith_truth(&t->contract.arith), .threads = threads};
  return status ? status : oracle_eval(&r, out, err);
}

static enum dtype written_as(enum dtype t) {
  return dtype_is_float(t) ? DTYPE_DOUBLE : t == DTYPE_BOOL ? DTYPE_BOOL : DTYPE_INT64;
}

static json_t *array_row(const char *kind, int i, const char *name, const struct array *a, enum dtype as) {
  char file[32], line[256];
  json_t *dims = json_array();
  snprintf(file, sizeof file, "%s_%d.npy", kind, i);
  for (int k = 0; k < a->shape.rank; k++)
    json_array_append_new(dims, json_integer(a->shape.dims[k]));
  return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", printable_line(name, line, sizeof line), "file", file, "dtype",
                   dtype_name(a->dtype), "stored", dtype_name(as), "shape", dims);
}

static void print_arrays(const struct arguments *a, const struct task *t, const struct array *in,
                         const struct array *out) {
  const struct graph *g = &t->model.flat;
  char shape[SHAPE_TEXT_BYTES], line[256];
  json_t *rows[2] = {json_array(), json_array()};
  for (int i = 0; !a->inputs && i < t->n_inputs; i++)
    json_array_append_new(rows[0], array_row("input", i, t->inputs[i].name, &in[i], npy_dtype(in[i].dtype)));
  for (int i = 0; i < t->n_outputs; i++)
    json_array_append_new(rows[1],
                          array_row("output", i, g->values[g->outputs[i]].name, &out[i], written_as(out[i].dtype)));
  json_t *j =
      json_pack("{s:s, s:s, s:o, s:o}", "task", t->name, "folder", a->outputs, "inputs", rows[0], "outputs", rows[1]);
  json_object_set_new(j, "seed", a->inputs ? json_null() : json_integer((json_int_t)a->seed));
  if (a->judging.json) {
    cli_json_print(cli_json_of("oracle", json_incref(j)));
  } else {
    if (!a->inputs)
      printf("inputs drawn with --seed %llu: %s/input_0.npy ... input_%d.npy\n", (unsigned long long)a->seed,
             a->outputs, t->n_inputs - 1);
    for (int i = 0; i < t->n_outputs; i++)
      printf("%s/output_%d.npy  %s  %s%s\n", a->outputs, i,
             printable_line(g->values[g->outputs[i]].name, line, sizeof line), dtype_name(written_as(out[i].dtype)),
             shape_text(&out[i].shape, shape));
  }
  json_decref(j);
}

static enum assay_status run(struct arguments *a, const struct task *t, struct assay_error *err) {
  struct array *in = base_calloc((size_t)t->n_inputs + 1, sizeof *in);
  struct array *out = base_calloc((size_t)t->n_outputs + 1, sizeof *out);
  int threads = parallel_cpus();
  enum assay_status status = in && out ? file_make_folders(a->outputs, err) : error_nomem(err, "an answer");
  if (!status && !a->inputs && !a->seed) {
    status = rng_entropy(&a->seed, err);
    a->seed = (a->seed >> 1) | 1; // what --seed takes
  }
  for (int i = 0; a->inputs && i < t->n_inputs && !status; i++)
    status = read_input(a, t, i, &in[i], err);
  if (!status && !a->inputs)
    status = draw_inputs(a, t, threads, in, err);
  if (!status)
    status = answer(t, in, threads, out, err);
  for (int i = 0; i < t->n_outputs && !status; i++)
    status = write_array(a, "output", i, &out[i], written_as(out[i].dtype), err);
  if (!status)
    print_arrays(a, t, in, out);
  for (int i = 0; in && i < t->n_inputs; i++)
    array_release(&in[i]);
  for (int i = 0; out && i < t->n_outputs; i++)
    array_release(&out[i]);
  base_free(in);
  base_free(out);
  return status;
}

int cli_oracle(int argc, char **argv) {
  struct arguments a = {.probe = PROBE_DECLARED};
  struct assay_error err = {0};
  char *path = NULL;
  struct task t;
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  enum assay_status status = task_find(a.judging.paths.tasks, a.task, &path, &err);
  if (!status)
    status = task_read(path, a.published, &t, &err);
  if (!status) {
    status = run(&a, &t, &err);
    task_release(&t);
  }
  base_free(path);
  return status ? cli_fail(&err) : CLI_PASS;
}
