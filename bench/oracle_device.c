// Time and memory of the oracle on a device: bench_oracle_device [OPTIONS] [TASK...]
//
// For every task named (default kernelbench/1), inputs are drawn on the device and the answer is made, truth and error
// scale. One line each: what the task's own tensors take, the most device memory in use at once (inputs included, the
// candidate's outputs, which lie beside them when a kernel is judged, not), and seconds: for the inputs, for the truth
// alone, for the whole answer at first (memory is allocated) and again (memory is kept, as from the second check of a
// candidate on). Device code is compiled before, at the task's small workload.
//
//   --workload W   full where left out
//   --replicas N   contract passes, 8
//   --root DIR     of the suites, tasks
//   --cache DIR    for compiled device code; without one it is compiled again for every task
//   --host         the host backend, to try this program without a GPU
//   --json         one object a line
//   --check        the CPU's truth and one of its contract passes on the same inputs, where they fit this machine's
//                  memory: the largest difference of the truths in units of the error scale, and the RMS error of the
//                  CPU's pass over the RMS of the device's scale
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "oracle/cuda/gpu.h"
#include "task/device_draw.h"
#include "task/task.h"

struct options {
  const char *workload, *root, *cache;
  int replicas;
  bool host, json, check;
};

// One task's figures.
struct figures {
  double input_bytes, output_bytes, peak_bytes, draw_s, exact_s, first_s, again_s;
  bool checked;
  double worst, ratio; // of the truths in units of the scale; of an error to the scale
};

struct trial {
  const struct options *o;
  const struct task *t;
  const struct workload *w;
  struct compute *compute;
  struct gpu_array *in;
  struct gpu_answer answer;
  struct figures f;
};

static double seconds_since(int64_t start) {
  return (double)(clock_monotonic_ns() - start) / 1e9;
}

static enum assay_status open_device(const struct options *o, struct compute **out, struct assay_error *err) {
  struct compute_options c = {.cache_folder = o->cache, .compiler = "cc"};
  return o->host ? compute_open_host(&c, out, err) : compute_open_cuda(&c, out, err);
}

// ---- on the device

static enum assay_status draw_inputs(struct trial *r, struct assay_error *err) {
  const struct task *t = r->t;
  struct array *shapes = base_calloc((size_t)t->n_inputs + 1, sizeof *shapes);
  device_ptr *at = base_calloc((size_t)t->n_inputs + 1, sizeof *at);
  r->in = base_calloc((size_t)t->n_inputs + 1, sizeof *r->in);
  enum assay_status status = shapes && at && r->in ? ASSAY_OK : error_nomem(err, "a task's inputs");
  if (!status)
    status = task_input_shapes(t, r->w, shapes, err);
  for (int i = 0; i < t->n_inputs && !status; i++) {
    struct gpu_array *a = &r->in[i];
    *a = (struct gpu_array){.dtype = shapes[i].dtype, .shape = shapes[i].shape, .owned = true};
    status = gpu_storage_of(a->dtype, &a->storage, err);
    if (!status)
      status = compute_alloc(r->compute, (size_t)shape_count(&a->shape) * dtype_bytes(a->dtype), &a->data, err);
    at[i] = a->data;
  }
  int64_t start = clock_monotonic_ns();
  if (!status)
    status = task_make_inputs_on_device(t, r->w, PROBE_DECLARED, 1, r->compute, at, err);
  if (!status)
    status = compute_sync(r->compute, err);
  r->f.draw_s = seconds_since(start);
  base_free(shapes);
  base_free(at);
  return status;
}

static enum assay_status run_exact(struct trial *r, struct assay_error *err) {
  const struct graph *g = &r->t->model.flat;
  struct gpu_array *out = base_calloc((size_t)g->n_outputs + 1, sizeof *out);
  struct gpu_request q = {.compute = r->compute, .graph = g, .inputs = r->in, .arith = arith_exact()};
  int64_t start = clock_monotonic_ns();
  enum assay_status status = out ? gpu_oracle_eval(&q, out, err) : error_nomem(err, "a task's outputs");
  if (!status)
    status = compute_sync(r->compute, err);
  r->f.exact_s = seconds_since(start);
  for (int i = 0; out && i < g->n_outputs; i++)
    gpu_array_release(r->compute, &out[i]);
  base_free(out);
  return status;
}

static enum assay_status run_answer(struct trial *r, double *seconds, struct assay_error *err) {
  struct arith contract = r->t->contract.arith;
  contract.key = 2;
  gpu_answer_release(r->compute, &r->answer);
  int64_t start = clock_monotonic_ns();
  enum assay_status status =
      gpu_answer_make(r->compute, &r->t->model.flat, r->in, &contract, r->o->replicas, &r->answer, err);
  if (!status)
    status = compute_sync(r->compute, err);
  *seconds = seconds_since(start);
  return status;
}

static void release_device(struct trial *r) {
  gpu_answer_release(r->compute, &r->answer);
  for (int i = 0; r->in && i < r->t->n_inputs; i++)
    gpu_array_release(r->compute, &r->in[i]);
  base_free(r->in);
  r->in = NULL;
}

// ---- on the CPU

static enum assay_status download(struct trial *r, device_ptr p, size_t bytes, void **out, struct assay_error *err) {
  void *host = base_alloc(bytes + 1);
  enum assay_status status = host ? compute_download(r->compute, host, p, bytes, err) : error_nomem(err, "a tensor");
  if (status)
    base_free(host);
  else
    *out = host;
  return status;
}

static enum assay_status host_inputs(struct trial *r, struct array *in, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < r->t->n_inputs && !status; i++) {
    const struct gpu_array *a = &r->in[i];
    void *raw = NULL;
    status = download(r, a->data, (size_t)shape_count(&a->shape) * dtype_bytes(a->dtype), &raw, err);
    struct tensor view = {.dtype = a->dtype, .shape = a->shape, .data = raw};
    if (!status)
      status = array_from_tensor(&view, &in[i], err);
    base_free(raw);
  }
  return status;
}

static enum assay_status compare_output(struct trial *r, int o, const struct array *exact, const struct array *pass,
                                        struct assay_error *err) {
  int64_t n = shape_count(&exact->shape);
  double error = 0, scale = 0;
  void *y = NULL, *sigma = NULL;
  enum assay_status status = download(r, r->answer.y[o].data, (size_t)n * 8, &y, err);
  if (!status && r->answer.sigma[o])
    status = download(r, r->answer.sigma[o], (size_t)n * 4, &sigma, err);
  for (int64_t i = 0; i < n && !status; i++) {
    if (!sigma) {
      r->f.worst = ((int64_t *)y)[i] == exact->i64[i] ? r->f.worst : HUGE_VAL;
      continue;
    }
    double want = exact->f64[i], got = ((double *)y)[i], s = (double)((float *)sigma)[i];
    if (isfinite(want) && isfinite(pass->f64[i])) {
      error += (pass->f64[i] - want) * (pass->f64[i] - want);
      scale += s * s;
    }
    bool same = got == want || (isnan(got) && isnan(want));
    double off = same ? 0 : s > 0 ? fabs(got - want) / s : HUGE_VAL;
    r->f.worst = off <= r->f.worst ? r->f.worst : off; // a not-a-number is worst
  }
  if (!status && sigma)
    r->f.ratio = error == scale ? 1 : sqrt(error / scale);
  base_free(y);
  base_free(sigma);
  return status;
}

// Four times all tensors in double is what the CPU's oracle takes of these tasks at most.
static bool fits_host(const struct trial *r) {
  double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);
  return 8 * (r->f.input_bytes + r->f.output_bytes) < memory;
}

static enum assay_status check(struct trial *r, struct assay_error *err) {
  const struct graph *g = &r->t->model.flat;
  struct array *in = base_calloc((size_t)r->t->n_inputs + 1, sizeof *in);
  struct array *out[2] = {base_calloc((size_t)g->n_outputs + 1, sizeof *in),
                          base_calloc((size_t)g->n_outputs + 1, sizeof *in)};
  enum assay_status status = in && out[0] && out[1] ? host_inputs(r, in, err) : error_nomem(err, "a check");
  for (int k = 0; k < 2 && !status; k++) {
    struct oracle_request q = {
        .graph = g, .inputs = in, .arith = k ? r->t->contract.arith : arith_exact(), .threads = parallel_cpus()};
    q.arith.key = 3;
    status = oracle_eval(&q, out[k], err);
  }
  for (int o = 0; o < g->n_outputs && !status; o++)
    status = compare_output(r, o, &out[0][o], &out[1][o], err);
  r->f.checked = !status;
  for (int i = 0; in && i < r->t->n_inputs; i++)
    array_release(&in[i]);
  for (int k = 0; k < 2; k++) {
    for (int o = 0; out[k] && o < g->n_outputs; o++)
      array_release(&out[k][o]);
    base_free(out[k]);
  }
  base_free(in);
  return status;
}

// ---- one task

static enum assay_status warm_up(struct trial *r, struct assay_error *err) {
  struct trial small = *r;
  double ignored;
  if (!(small.w = task_workload(r->t, "small")))
    return ASSAY_OK;
  enum assay_status status = draw_inputs(&small, err);
  if (!status)
    status = run_exact(&small, err);
  if (!status)
    status = run_answer(&small, &ignored, err);
  release_device(&small);
  compute_trim(r->compute);
  return status;
}

static enum assay_status measure(struct trial *r, struct assay_error *err) {
  struct task_cost cost;
  struct compute_memory memory = {0};
  enum assay_status status = task_cost(r->t, r->w, &cost, err);
  if (!status)
    status = warm_up(r, err);
  if (status)
    return status;
  r->f.input_bytes = cost.input_bytes;
  r->f.output_bytes = cost.output_bytes;
  status = draw_inputs(r, err);
  if (!status)
    status = run_exact(r, err);
  if (!status)
    status = run_answer(r, &r->f.first_s, err);
  if (!status)
    status = run_answer(r, &r->f.again_s, err);
  compute_memory(r->compute, &memory);
  r->f.peak_bytes = (double)memory.peak;
  if (!status && r->o->check && fits_host(r))
    status = check(r, err);
  release_device(r);
  return status;
}

static void print(const struct trial *r) {
  const struct figures *f = &r->f;
  const char *line = r->o->json ? "{\"task\": \"%s\", \"workload\": \"%s\", \"input_bytes\": %.0f, \"output_bytes\": "
                                  "%.0f, \"peak_bytes\": %.0f, \"draw_s\": %.4f, \"exact_s\": %.4f, \"first_s\": "
                                  "%.4f, \"again_s\": %.4f"
                                : "%-24s %-8s in %12.0f out %12.0f peak %12.0f  draw %7.4f exact %7.4f first %7.4f "
                                  "again %7.4f";
  printf(line, r->t->name, r->w->name, f->input_bytes, f->output_bytes, f->peak_bytes, f->draw_s, f->exact_s,
         f->first_s, f->again_s);
  // Infinity is no number of JSON's.
  if (f->checked)
    printf(r->o->json ? ", \"worst_over_scale\": %.3g, \"error_over_scale\": %.3g" : "  worst %.2g ratio %.3f",
           fmin(f->worst, 1e300), fmin(f->ratio, 1e300));
  printf(r->o->json ? "}\n" : "\n");
  fflush(stdout);
}

// A device of its own for each task, so that its peak is the task's.
static enum assay_status run_task(const struct options *o, const char *path, struct assay_error *err) {
  struct task t;
  struct workload w;
  struct arena arena = {0};
  enum assay_status status = task_read(path, false, &t, err);
  if (status)
    return status;
  struct trial r = {.o = o, .t = &t, .w = &w};
  status = task_parse_workload(&t, o->workload, &arena, &w, err);
  if (!status)
    status = open_device(o, &r.compute, err);
  if (!status)
    status = measure(&r, err);
  if (!status)
    print(&r);
  else
    status = error_prefix(err, status, "%s: ", t.name);
  compute_close(r.compute);
  arena_release(&arena);
  task_release(&t);
  return status;
}

static int run_pattern(const struct options *o, const char *pattern) {
  struct assay_error err = {0};
  char **paths;
  int count, failures = 0;
  if (task_list(o->root, pattern, &paths, &count, &err)) {
    fprintf(stderr, "bench_oracle_device: %s\n", err.message);
    return 1;
  }
  for (int i = 0; i < count; i++)
    if (run_task(o, paths[i], &err)) {
      fprintf(stderr, "bench_oracle_device: %s\n", err.message);
      failures++;
    }
  task_list_release(paths, count);
  return failures;
}

static bool take_option(struct options *o, char **argv, int *i) {
  const struct {
    const char *name;
    const char **text;
    bool *flag;
  } table[] = {{"--workload", &o->workload, NULL}, {"--root", &o->root, NULL}, {"--cache", &o->cache, NULL},
               {"--host", NULL, &o->host},         {"--json", NULL, &o->json}, {"--check", NULL, &o->check}};
  for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    if (strcmp(argv[*i], table[k].name) == 0) {
      if (table[k].flag)
        *table[k].flag = true;
      else if (argv[*i + 1])
        *table[k].text = argv[++*i];
      return true;
    }
  if (strcmp(argv[*i], "--replicas") == 0 && argv[*i + 1]) {
    o->replicas = atoi(argv[++*i]);
    return true;
  }
  return false;
}

int main(int argc, char **argv) {
  struct options o = {.workload = "full", .root = "tasks", .replicas = 8};
  int failures = 0, named = 0;
  for (int i = 1; i < argc; i++) {
    if (take_option(&o, argv, &i))
      continue;
    if (argv[i][0] == '-') {
      fprintf(stderr, "usage: bench_oracle_device [--workload W] [--replicas N] [--root DIR] [--cache DIR] [--host] "
                      "[--json] [--check] [TASK...]\n");
      return 2;
    }
    named++;
  }
  for (int i = 1; i < argc; i++) {
    struct options ignored;
    if (!take_option(&ignored, argv, &i))
      failures += run_pattern(&o, argv[i]);
  }
  if (!named)
    failures = run_pattern(&o, "kernelbench/1");
  return failures ? 1 : 0;
}
