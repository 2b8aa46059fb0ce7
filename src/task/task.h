// SPDX-License-Identifier: Apache-2.0
// Tasks: a graph with workloads, input distributions and a contract. One file is one task.
//
// metadata_props keys:
//   assay.task                  its name, "kernelbench/1/19"
//   assay.title                 one line
//   assay.origin                where it comes from
//   assay.workload.NAME         "M=1024, K=8192"; NAME is small, full, or ragged0, ragged1, ... (probe shapes)
//   assay.input.X               distribution of input X, e.g. "uniform(-1, 1)", "normal(0, 1) static"
//                               (grammar: distribution.h)
//   assay.contract              "fp32", "tf32", "fp16", "bf16" or "fp8"
//   assay.probes                probes that apply in addition to the default ones, or "-name" for those that do not.
//                               All but near_overflow and special are default; near_overflow(1e17) names the magnitude
//                               that a straightforward implementation survives; special is for tasks whose operators
//                               say unambiguously what becomes of NaN and infinities
//   assay.published.input.X     the published suite's distribution, where the default form repairs it
//   assay.published.constant.C  the published elements of the graph's constant C ("0.0", "1, 2"), where the default
//                               form has others
//   assay.repair                what the default form changes and why, one sentence
//   assay.lint.allow            findings that are inherent in the task, with the reason: "affine: why; zeros: why"
//   assay.shapes                which extents a judgement may choose: "M=1..4096, K=4..512/4, L=2*K" (shapes.h);
//                               without the key it finds out
//   assay.allclose              "rtol, atol" of the published suite
//   assay.check                 the file's function that judges outputs which are not unique (check.h)
//   assay.pytorch               what a PyTorch programmer returns from forward, where that is one call and the graph
//                               has many nodes: "F.smooth_l1_loss(predictions, targets)"
//   assay.contraction_part      the part of the graph's multiply-adds that any implementation must do, where the graph
//                               asks for more ("1/6": a product of two triangular matrices); the floor counts only
//                               these
//   assay.input_part            the part of the other inputs' bytes that must be read, where a graph only looks some up
//                               ("1/8": one row in eight)
//   assay.weight_part           the part of the static inputs' bytes that every timed call must read, where they can be
//                               prepared to less ("1/8192": only the sums of a matrix' columns count)
#ifndef TASK_TASK_H
#define TASK_TASK_H

#include "graph/graph.h"
#include "ops/op.h"
#include "task/distribution.h"

struct binding {
  const char *symbol;
  int64_t value;
};

struct workload {
  const char *name;
  int n;
  struct binding *bindings;
};

struct contract {
  const char *name;      // "fp32"
  struct arith arith;    // how a straightforward implementation computes; key 0
  double u_out, eta_out; // rounding of outputs: see compare.h
};

struct task_input {
  const char *name;
  struct distribution distribution; // of the form in force (default or as published)
};

struct given;

struct task {
  struct model model; // owns all strings below
  struct model steps; // the same computation with some operators written out (steps.h); without nodes: there are none
  // Where answers are not unique (check.h); without nodes: the outputs themselves are judged.
  struct model judged; // the graph, and after it what the check makes of its outputs
  struct model check;  // the check alone, of the task's inputs and outputs
  const char *name, *title, *path;
  bool as_published;  // the form in force
  bool repaired;      // the two forms differ
  const char *repair; // or NULL
  struct contract contract;
  const char *own_contract; // the name of the file's; contract.name unless another one is in its place
  double rtol, atol;
  double contraction_part; // part of the multiply-adds that is always needed; 1 unless the file has less
  double input_part;       // of the bytes of the inputs that are not static, likewise
  double weight_part;      // of the static inputs' bytes, likewise
  int n_inputs, n_outputs, n_workloads;
  struct task_input *inputs;  // in the order of the graph's inputs
  const bool *adds;           // of task_oracle_graph, output i is made from sums of several terms (op_find_sums)
  struct workload *workloads; // small first, full second, then ragged ones
  unsigned probes;            // bit i: enum probe i applies; PROBE_DECLARED always does
  bool opposes;               // PROBE_OPPOSED has something to scale
  double near_overflow;       // magnitude of PROBE_NEAR_OVERFLOW's inputs, 0 when it does not apply
  char hash[65];              // SHA-256 of the file
  struct given *given;        // weights from another file, NULL: drawn (given.h)
};

// The graph that the oracle evaluates, with the inputs of model.flat. Its outputs are what is judged: those of
// model.flat, or what the task's check makes of them. In half precision an operator that PyTorch carries out in several
// steps is those steps.
const struct graph *task_oracle_graph(const struct task *t);

// Reads and checks a task file. ASSAY_ERR_SYNTAX/_INVALID name the file and the key or line.
enum assay_status task_read(const char *path, bool as_published, struct task *out, struct assay_error *err);
void task_release(struct task *t);

// The same from memory; `path` is for messages only. Text or binary.
enum assay_status task_parse(const char *text, size_t len, const char *path, bool as_published, struct task *out,
                             struct assay_error *err);

// The file for a name ("kernelbench/1/19", "softmax" where one task alone is called so, or an existing path), under the
// directory of suites. Heap string.
// ASSAY_ERR_NOT_FOUND says what is there.
enum assay_status task_find(const char *root, const char *name, char **path, struct assay_error *err);

// The files of a suite or level ("kernelbench", "kernelbench/1"), in the order of their numbers; NULL: all.
// A pattern that names one task gives that one. paths[i] and paths are heap memory: task_list_release.
enum assay_status task_list(const char *root, const char *pattern, char ***paths, int *count, struct assay_error *err);
void task_list_release(char **paths, int count);

// How many of its operators are sums of products.
int task_products(const struct task *t);

const struct workload *task_workload(const struct task *t, const char *name); // NULL: none

// A workload written on the command line: a name, or "M=3, N=4" (every symbol of the task must be bound). Its name is
// one for the same sizes: the task's own for them, or the sizes in the order of the task's first workload.
enum assay_status task_parse_workload(const struct task *t, const char *text, struct arena *arena, struct workload *out,
                                      struct assay_error *err);

// That name, for the task of a file; any other text, and sizes that the task does not take, as they are: whoever judges
// says what is wrong with them. In the arena, or `text`.
const char *task_workload_name(const char *path, const char *text, struct arena *arena);

// The parameters of a distribution with a workload's symbols in place: NULL, or the symbol that it does not bind.
const char *task_distribution_numbers(const struct distribution *d, const struct workload *w, double *a, double *b);

// dtype and shape of the graph's inputs under a workload: n_inputs arrays without data.
enum assay_status task_input_shapes(const struct task *t, const struct workload *w, struct array *inputs,
                                    struct assay_error *err);

// Least work of a workload: what any implementation must read, write and compute.
struct task_cost {
  double input_bytes, output_bytes, weight_bytes; // weights: the static inputs, counted in input_bytes too
  double least_input_bytes;        // the part of input_bytes that must be read (assay.input_part, .weight_part)
  double flops, contraction_flops; // outside contractions, and in them (see struct op_cost): their sum is all
  double least_contraction_flops;  // the part of contraction_flops that is always needed (assay.contraction_part)
  int64_t largest_elements;        // of any input or output
};
enum assay_status task_cost(const struct task *t, const struct workload *w, struct task_cost *out,
                            struct assay_error *err);

// One set of inputs, as bytes of the task's dtypes: buffers[i] has room for input i. The same (key, probe, workload)
// makes the same bytes on every machine and for every number of threads.
enum assay_status task_make_inputs(const struct task *t, const struct workload *w, enum probe probe, uint64_t key,
                                   int threads, void *const *buffers, struct assay_error *err);
// The same as arrays for the oracle: arrays[n_inputs], empty before, are the caller's to release, also after a failure.
// At any time the bytes of one input are there besides.
enum assay_status task_draw_inputs(const struct task *t, const struct workload *w, enum probe probe, uint64_t key,
                                   int threads, struct array *arrays, struct assay_error *err);

// Of a batch, members [first, first + count), as they are among all: the first dimension of inputs with `apart` is the
// batch (oracle/apart.h), the others are drawn whole.
struct task_members {
  const bool *apart;
  int64_t first, count;
};
struct task_draw {
  const struct workload *workload;
  enum probe probe;
  uint64_t key;
  int threads;
  const struct task_members *members; // NULL: all
};
enum assay_status task_draw_members(const struct task *t, const struct task_draw *d, struct array *arrays,
                                    struct assay_error *err);

bool contract_by_name(const char *name, struct contract *out);

// Puts another contract in the place of the task's own; NULL and its own change nothing. A contract may stand in for
// one of the same type of tensors that asks for more: tf32 for fp32. ASSAY_ERR_USAGE for others.
enum assay_status task_take_contract(struct task *t, const char *name, struct assay_error *err);

// Names of contracts that may stand in for another one, for messages and options. NULL-terminated.
extern const char *const task_other_contracts[];

#endif
