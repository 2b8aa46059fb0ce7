// SPDX-License-Identifier: Apache-2.0
// Time and memory of the oracle on a task: bench_oracle TASK_FILE WORKLOAD [REPLICAS]
//
// Prints one JSON line: seconds for drawing the inputs, for the truth alone and for the truth with its error scale,
// the process's peak memory, and the bytes of the task's own tensors.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "oracle/oracle.h"
#include "task/task.h"

static int fail(const struct assay_error *err) {
  fprintf(stderr, "bench_oracle: %s\n", err->message);
  return 1;
}

static double seconds_since(int64_t start) {
  return (double)(clock_monotonic_ns() - start) / 1e9;
}

// The task's inputs as the oracle takes them.
static enum assay_status make_inputs(const struct task *t, const struct workload *w, struct array *inputs,
                                     struct assay_error *err) {
  void **bytes = base_calloc((size_t)t->n_inputs + 1, sizeof *bytes);
  enum assay_status status = bytes ? task_input_shapes(t, w, inputs, err) : ASSAY_ERR_NOMEM;
  for (int i = 0; i < t->n_inputs && !status; i++)
    bytes[i] = base_alloc((size_t)shape_count(&inputs[i].shape) * dtype_bytes(inputs[i].dtype));
  if (!status)
    status = task_make_inputs(t, w, PROBE_DECLARED, 1, parallel_cpus(), bytes, err);
  for (int i = 0; i < t->n_inputs && !status; i++) {
    struct tensor view = {.type = array_type(&inputs[i]), .data = bytes[i]};
    status = array_from_tensor(&view, &inputs[i], err);
    base_free(bytes[i]);
  }
  base_free(bytes);
  return status;
}

int main(int argc, char **argv) {
  struct assay_error err = {0};
  struct task t;
  struct workload w;
  struct arena arena = {0};
  struct task_cost cost;
  struct rusage usage;
  if (argc < 3) {
    fprintf(stderr, "usage: bench_oracle TASK_FILE WORKLOAD [REPLICAS]\n");
    return 2;
  }
  int replicas = argc > 3 ? atoi(argv[3]) : 8;
  if (task_read(argv[1], false, &t, &err) || task_parse_workload(&t, argv[2], &arena, &w, &err) ||
      task_cost(&t, &w, &cost, &err))
    return fail(&err);
  struct array *inputs = base_calloc((size_t)t.n_inputs + 1, sizeof *inputs);
  struct array *outputs = base_calloc((size_t)task_oracle_graph(&t)->n_outputs + 1, sizeof *outputs);
  int64_t start = clock_monotonic_ns();
  if (make_inputs(&t, &w, inputs, &err))
    return fail(&err);
  double drawing = seconds_since(start), exact, scaled = 0;
  struct oracle_request r = {
      .graph = task_oracle_graph(&t), .inputs = inputs, .arith = arith_exact(), .threads = parallel_cpus()};
  start = clock_monotonic_ns();
  if (oracle_eval(&r, outputs, &err))
    return fail(&err);
  exact = seconds_since(start);
  for (int i = 0; i < task_oracle_graph(&t)->n_outputs; i++)
    array_release(&outputs[i]);
  getrusage(RUSAGE_SELF, &usage);
  double exact_peak = (double)usage.ru_maxrss * 1024;
  if (replicas > 0) {
    struct oracle_answer a;
    struct arith contract = t.contract.arith;
    contract.key = 1;
    start = clock_monotonic_ns();
    if (oracle_answer_make(task_oracle_graph(&t), inputs, &contract, replicas, parallel_cpus(), &a, &err))
      return fail(&err);
    scaled = seconds_since(start);
    oracle_answer_release(&a);
  }
  getrusage(RUSAGE_SELF, &usage);
  double tensors = cost.input_bytes + cost.output_bytes;
  printf("{\"task\": \"%s\", \"workload\": \"%s\", \"gflop\": %.3g, \"draw_s\": %.3f, \"exact_s\": %.3f, "
         "\"replicas\": %d, \"with_scale_s\": %.3f, \"tensor_mib\": %.1f, \"exact_peak_mib\": %.1f, "
         "\"exact_peak_over_tensors\": %.2f, \"peak_mib\": %.1f, \"peak_over_tensors\": %.2f}\n",
         t.name, argv[2], (cost.flops + cost.contraction_flops) / 1e9, drawing, exact, replicas, scaled,
         tensors / (1 << 20), exact_peak / (1 << 20), exact_peak / tensors, (double)usage.ru_maxrss / 1024,
         (double)usage.ru_maxrss * 1024 / tensors);
  for (int i = 0; i < t.n_inputs; i++)
    array_release(&inputs[i]);
  base_free(inputs);
  base_free(outputs);
  arena_release(&arena);
  task_release(&t);
  return 0;
}
