// SPDX-License-Identifier: Apache-2.0
// answers: compares another program with the oracle, on the very inputs that the judge would draw.
//
//   answers draw TASK.onnxtxt WORKLOAD PROBE KEY FOLDER            writes FOLDER/INPUT for every input (dtype's bytes)
//   answers check TASK.onnxtxt WORKLOAD FOLDER [PASSES]            reads them, and FOLDER/OUTPUT (double)
//   answers others TASK.onnxtxt WORKLOAD PROBE KEY PASSES < LIST   the exact answers of other graphs, whose files LIST
//                                                                  names, on what the task draws, shown to its judge
//
// Of a task with a check, the lines are of the values that it judges.
//
// WORKLOAD is a name or "M=3, N=4"; --as-published in front of the verb takes that form. `check` and `others` print one
// line for each output: the largest difference from the exact answer over its largest element, and with PASSES what the
// judge thinks of the output rounded to the task's type: verdict, largest and rms error in units of the allowed scale
// (of integers, which are right or wrong, 0 or infinity); the output's shape comes last.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/compare.h"
#include "oracle/oracle.h"
#include "task/check.h"
#include "task/task.h"

struct subject {
  struct task task;
  struct arena arena;
  struct workload workload;
  struct array *shapes, *inputs;
};

static int failed(const struct assay_error *err) {
  fprintf(stderr, "answers: %s\n", err->message);
  return 2;
}

static FILE *open_in(const char *folder, const char *name, const char *mode, struct assay_error *err) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, mode);
  if (!f)
    error_set(err, ASSAY_ERR_IO, "%s: %s", path, strerror(errno));
  return f;
}

// All of a file, which has exactly this size.
static enum assay_status read_exactly(const char *folder, const char *name, void *to, size_t bytes,
                                      struct assay_error *err) {
  FILE *f = open_in(folder, name, "rb", err);
  if (!f)
    return err->status;
  size_t got = fread(to, 1, bytes, f);
  bool more = fgetc(f) != EOF;
  fclose(f);
  if (got != bytes || more)
    return error_set(err, ASSAY_ERR_INVALID, "%s/%s does not have %zu bytes", folder, name, bytes);
  return ASSAY_OK;
}

static enum assay_status subject_open(struct subject *s, const char *path, bool as_published, const char *workload,
                                      struct assay_error *err) {
  enum assay_status status = task_read(path, as_published, &s->task, err);
  if (!status)
    status = task_parse_workload(&s->task, workload, &s->arena, &s->workload, err);
  if (!status) {
    s->shapes = arena_calloc(&s->arena, (size_t)s->task.n_inputs + 1, sizeof *s->shapes);
    s->inputs = arena_calloc(&s->arena, (size_t)s->task.n_inputs + 1, sizeof *s->inputs);
    if (!s->shapes || !s->inputs)
      status = error_nomem(err, "the inputs");
  }
  return status ? status : task_input_shapes(&s->task, &s->workload, s->shapes, err);
}

static size_t input_bytes(const struct subject *s, int i) {
  return (size_t)shape_count(&s->shapes[i].shape) * dtype_bytes(s->shapes[i].dtype);
}

static enum assay_status draw(struct subject *s, const char *probe, const char *key, const char *folder,
                              struct assay_error *err) {
  enum probe p;
  if (!probe_by_name(probe, strlen(probe), &p))
    return error_set(err, ASSAY_ERR_INVALID, "'%s' is no probe", probe);
  void **buffers = arena_calloc(&s->arena, (size_t)s->task.n_inputs + 1, sizeof *buffers);
  enum assay_status status = buffers ? ASSAY_OK : error_nomem(err, "the inputs");
  for (int i = 0; i < s->task.n_inputs && !status; i++)
    if (!(buffers[i] = arena_calloc(&s->arena, input_bytes(s, i), 1)))
      status = error_nomem(err, "the inputs");
  if (!status)
    status = task_make_inputs(&s->task, &s->workload, p, strtoull(key, NULL, 0), 1, buffers, err);
  for (int i = 0; i < s->task.n_inputs && !status; i++) {
    FILE *f = open_in(folder, s->task.inputs[i].name, "wb", err);
    if (!f)
      return err->status;
    size_t written = fwrite(buffers[i], 1, input_bytes(s, i), f);
    if (fclose(f) || written != input_bytes(s, i))
      status = error_set(err, ASSAY_ERR_IO, "%s/%s: cannot be written", folder, s->task.inputs[i].name);
  }
  return status;
}

static enum assay_status read_inputs(struct subject *s, const char *folder, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < s->task.n_inputs && !status; i++) {
    void *bytes = base_alloc(input_bytes(s, i));
    status = bytes ? read_exactly(folder, s->task.inputs[i].name, bytes, input_bytes(s, i), err)
                   : error_nomem(err, "an input");
    struct tensor view = {.type = array_type(&s->shapes[i]), .data = bytes};
    if (!status)
      status = array_from_tensor(&view, &s->inputs[i], err);
    base_free(bytes);
  }
  return status;
}

// An output as bytes of its type; heap.
static void *in_type(const struct array *y, const double *got, int64_t n) {
  void *bytes = base_alloc((size_t)n * dtype_bytes(y->dtype));
  int64_t *whole = base_alloc((size_t)n * sizeof *whole);
  for (int64_t i = 0; i < n && whole; i++)
    whole[i] = dtype_is_float(y->dtype) ? 0 : (int64_t)got[i];
  if (bytes && whole && dtype_is_float(y->dtype))
    dtype_from_f64(y->dtype, got, n, bytes);
  else if (bytes && whole)
    dtype_from_i64(y->dtype, whole, n, bytes);
  else {
    base_free(bytes);
    bytes = NULL;
  }
  base_free(whole);
  return bytes;
}

// The judge's opinion of an output in the task's type.
static enum assay_status judge(const struct subject *s, const struct oracle_answer *a, int o, const double *got,
                               struct assay_error *err) {
  int64_t n = shape_count(&a->y[o].shape);
  bool floating = dtype_is_float(a->y[o].dtype);
  struct compare_facts facts;
  void *bytes = in_type(&a->y[o], got, n);
  if (!bytes)
    return error_nomem(err, "an output");
  struct compare_input in = {.type = array_type(&a->y[o]),
                             .got = bytes,
                             .want = floating ? a->y[o].f64 : NULL,
                             .want_int = floating ? NULL : a->y[o].i64,
                             .sigma = floating ? a->sigma[o] : NULL,
                             .u_out = s->task.contract.u_out,
                             .eta_out = s->task.contract.eta_out,
                             .rtol = s->task.rtol,
                             .atol = s->task.atol,
                             .loose = 1e-2,
                             .threads = 2};
  enum assay_status status = compare_outputs(&in, &facts, err);
  base_free(bytes);
  if (!status)
    printf(" %s z %.2f of %.2f rms %.2f allclose %lld of %lld%s",
           compare_verdict(&facts, COMPARE_CONTRACT) == COMPARE_PASS ? "PASS" : "FAIL", facts.z_max, facts.z_limit,
           facts.z_rms, (long long)facts.n_allclose_bad, (long long)n, a->representable ? "" : " (not representable)");
  return status;
}

// One line: of an output, or of a value that the task's check makes of them.
static enum assay_status print_line(const struct subject *s, const struct oracle_answer *a, int o, const double *got,
                                    int passes, struct assay_error *err) {
  const struct graph *g = task_oracle_graph(&s->task);
  const struct array *y = &a->y[o];
  enum assay_status status = ASSAY_OK;
  double error = 0, size = 0;
  for (int64_t i = 0; i < shape_count(&y->shape); i++) {
    double want = dtype_is_float(y->dtype) ? y->f64[i] : (double)y->i64[i], e = fabs(got[i] - want);
    error = e <= error ? error : e; // a NaN stays
    size = fmax(size, fabs(want));
  }
  printf("%s error %.3g size %.3g", g->values[g->outputs[o]].name,
         error / (size > 0 && !task_has_check(&s->task) ? size : fmax(size, 1)), size);
  if (passes)
    status = judge(s, a, o, got, err);
  printf(" shape [");
  for (int i = 0; i < y->shape.rank; i++)
    printf("%s%lld", i ? ", " : "", (long long)y->shape.dims[i]);
  printf("]\n");
  return status;
}

static double *doubles_of(const struct array *y) {
  const int64_t n = shape_count(&y->shape);
  double *to = base_alloc((size_t)n * sizeof *to + 1);
  for (int64_t i = 0; i < n && to; i++)
    to[i] = dtype_is_float(y->dtype) ? y->f64[i] : (double)y->i64[i];
  return to;
}

// The other program's outputs; in a single pass rounded to their types, as a candidate's are.
static enum assay_status read_outputs(const struct subject *s, const struct array *shapes, bool round,
                                      const char *folder, struct array *outputs, struct assay_error *err) {
  const struct graph *g = &s->task.model.flat;
  enum assay_status status = ASSAY_OK;
  for (int o = 0; o < g->n_outputs && !status; o++) {
    const struct array *y = &shapes[g->outputs[o]];
    const int64_t n = shape_count(&y->shape);
    double *got = base_alloc((size_t)n * sizeof *got + 1);
    status = got ? array_create(y->dtype, &y->shape, &outputs[o], err) : error_nomem(err, "an output");
    if (!status)
      status = read_exactly(folder, g->values[g->outputs[o]].name, got, (size_t)n * sizeof *got, err);
    for (int64_t i = 0; i < n && !status; i++)
      if (dtype_is_float(y->dtype))
        outputs[o].f64[i] = round ? (float)got[i] : got[i];
      else
        outputs[o].i64[i] = (int64_t)got[i];
    base_free(got);
  }
  return status;
}

static enum assay_status check_values(struct subject *s, const struct oracle_answer *a, int passes, const char *folder,
                                      struct assay_error *err) {
  struct graph_shapes shapes;
  struct array *outputs = arena_calloc(&s->arena, (size_t)s->task.n_outputs + 1, sizeof *outputs);
  struct array *values = arena_calloc(&s->arena, (size_t)a->n_outputs + 1, sizeof *values);
  enum assay_status status = outputs && values ? ASSAY_OK : error_nomem(err, "a check");
  if (!status)
    status = oracle_infer(&s->task.model.flat, s->inputs, &s->arena, &shapes, err);
  if (!status)
    status = read_outputs(s, shapes.values, passes > 0 && task_has_check(&s->task), folder, outputs, err);
  if (!status && task_has_check(&s->task))
    status = check_eval(&s->task, s->inputs, outputs, 2, values, err);
  for (int o = 0; o < a->n_outputs && !status; o++) {
    double *got = doubles_of(task_has_check(&s->task) ? &values[o] : &outputs[o]);
    status = got ? print_line(s, a, o, got, passes, err) : error_nomem(err, "an output");
    base_free(got);
  }
  for (int o = 0; o < s->task.n_outputs && outputs; o++)
    array_release(&outputs[o]);
  for (int o = 0; o < a->n_outputs && values; o++)
    array_release(&values[o]);
  return status;
}

static enum assay_status check(struct subject *s, const char *folder, int passes, struct assay_error *err) {
  struct oracle_answer a = {0};
  struct arith contract = s->task.contract.arith;
  contract.key = 1;
  enum assay_status status = read_inputs(s, folder, err);
  if (!status)
    status = oracle_answer_make(task_has_check(&s->task) ? task_oracle_graph(&s->task) : &s->task.model.flat, s->inputs,
                                &contract, passes, 2, &a, err);
  if (!status)
    status = check_values(s, &a, passes, folder, err);
  oracle_answer_release(&a);
  return status;
}

static enum assay_status draw_inputs(struct subject *s, const char *probe, const char *key, struct assay_error *err) {
  enum probe p;
  if (!probe_by_name(probe, strlen(probe), &p))
    return error_set(err, ASSAY_ERR_INVALID, "'%s' is no probe", probe);
  return task_draw_inputs(&s->task, &s->workload, p, strtoull(key, NULL, 0), 2, s->inputs, err);
}

// Another graph with the same inputs and outputs, as a candidate that makes no error of its own.
static enum assay_status show_other(struct subject *s, const struct oracle_answer *a, const char *path, int passes,
                                    struct assay_error *err) {
  struct task other;
  struct array *y = arena_calloc(&s->arena, (size_t)s->task.n_outputs + 1, sizeof *y);
  enum assay_status status = y ? task_read(path, false, &other, err) : error_nomem(err, "another graph");
  if (status)
    return status;
  if (other.n_inputs != s->task.n_inputs || other.n_outputs != s->task.n_outputs)
    status = error_set(err, ASSAY_ERR_INVALID, "%s has other inputs or outputs", path);
  const struct oracle_request r = {
      .graph = &other.model.flat, .inputs = s->inputs, .arith = arith_exact(), .threads = 2};
  if (!status)
    status = oracle_eval(&r, y, err);
  for (int o = 0; o < s->task.n_outputs && !status; o++) {
    double *got = shape_count(&y[o].shape) == shape_count(&a->y[o].shape) ? doubles_of(&y[o]) : NULL;
    printf("%s ", path);
    status = got ? print_line(s, a, o, got, passes, err)
                 : error_set(err, ASSAY_ERR_INVALID, "%s: another shape, or no memory", path);
    base_free(got);
  }
  for (int o = 0; o < s->task.n_outputs; o++)
    array_release(&y[o]);
  task_release(&other);
  return status;
}

static enum assay_status others(struct subject *s, const char *probe, const char *key, int passes,
                                struct assay_error *err) {
  struct oracle_answer a = {0};
  struct arith contract = s->task.contract.arith;
  contract.key = 1;
  char path[4096];
  enum assay_status status = draw_inputs(s, probe, key, err);
  if (!status)
    status = oracle_answer_make(task_oracle_graph(&s->task), s->inputs, &contract, passes, 2, &a, err);
  while (!status && fgets(path, sizeof path, stdin)) {
    path[strcspn(path, "\n")] = '\0';
    status = show_other(s, &a, path, passes, err);
    fflush(stdout);
  }
  oracle_answer_release(&a);
  return status;
}

int main(int argc, char **argv) {
  struct assay_error err = {0};
  struct subject s = {0};
  bool as_published = argc > 1 && strcmp(argv[1], "--as-published") == 0;
  argv += as_published;
  argc -= as_published;
  bool drawing = argc == 7 && strcmp(argv[1], "draw") == 0, showing = argc == 7 && strcmp(argv[1], "others") == 0;
  if (!drawing && !showing && !((argc == 5 || argc == 6) && strcmp(argv[1], "check") == 0)) {
    fprintf(stderr, "usage: answers [--as-published] draw TASK.onnxtxt WORKLOAD PROBE KEY FOLDER\n"
                    "       answers [--as-published] check TASK.onnxtxt WORKLOAD FOLDER [PASSES]\n"
                    "       answers [--as-published] others TASK.onnxtxt WORKLOAD PROBE KEY PASSES < LIST\n");
    return 2;
  }
  enum assay_status status = subject_open(&s, argv[2], as_published, argv[3], &err);
  if (!status)
    status = drawing   ? draw(&s, argv[4], argv[5], argv[6], &err)
             : showing ? others(&s, argv[4], argv[5], atoi(argv[6]), &err)
                       : check(&s, argv[4], argc > 5 ? atoi(argv[5]) : 0, &err);
  for (int i = 0; i < s.task.n_inputs && s.inputs; i++)
    array_release(&s.inputs[i]);
  arena_release(&s.arena);
  task_release(&s.task);
  return status ? failed(&err) : 0;
}
