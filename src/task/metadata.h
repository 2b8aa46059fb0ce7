// SPDX-License-Identifier: Apache-2.0
// Private to src/task: the parts of reading a task file.
#ifndef TASK_METADATA_H
#define TASK_METADATA_H

#include "task/task.h"

// Reads "M=3, N=4". Each name once, each value from 1 to SHAPE_MAX_ELEMENTS. ASSAY_ERR_SYNTAX, _INVALID, _NOMEM.
enum assay_status metadata_bindings(const char *text, struct arena *arena, struct workload *out,
                                    struct assay_error *err);

// Checks that the workload binds exactly the symbols of the task's inputs, and that the shapes are within limits.
enum assay_status metadata_check_workload(const struct task *t, const struct workload *w, struct assay_error *err);

// Checks that symbols in distributions are bound, and to values that make sense.
enum assay_status metadata_check_symbols(const struct task *t, const struct workload *w, struct assay_error *err);

// The probes of a task that names none, as bits; and those that its inputs can have at all.
unsigned task_default_probes(const struct task *t);
unsigned task_possible_probes(const struct task *t);

// Sets t->opposes; the workloads are read. ASSAY_ERR_NOMEM.
enum assay_status task_find_opposed(struct task *t, struct assay_error *err);

// Whether outputs are sums of products, and nothing rounds but these.
bool task_is_products_alone(const struct graph *g);

// Whether probes replace the distribution of input i; without `weights`, of those that are no weights.
bool task_is_free(const struct task *t, int i, bool weights);

// Reads "special, near_overflow(1e4), -integers" into t->probes and t->near_overflow.
enum assay_status metadata_probes(const char *text, struct task *t, struct assay_error *err);

// Reads "1e-4, 1e-4".
enum assay_status metadata_tolerances(const char *text, double *rtol, double *atol, struct assay_error *err);

// Reads "0.5" or "1, 2": replacements for the elements of a constant of the graph, as many and of its type. `out` is
// arena memory.
enum assay_status metadata_constant(const char *text, const struct tensor *constant, struct arena *arena,
                                    struct tensor *out, struct assay_error *err);

// Small first, full second, ragged0 .. raggedN in the order of their numbers, then others by name.
void metadata_sort_workloads(struct workload *workloads, int n);

// The value of a symbol, or -1.
int64_t workload_value(const struct workload *w, const char *symbol);

#endif
