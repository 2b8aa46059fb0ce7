// SPDX-License-Identifier: Apache-2.0
// Weights from a file in the place of drawn ones.
#ifndef TASK_GIVEN_H
#define TASK_GIVEN_H

#include "task/task.h"

// From here on the task's static inputs are those of a safetensors file, at every workload at which they have the
// file's shapes; elsewhere, and under PROBE_INTEGERS and PROBE_OPPOSED, they are drawn. They must have them at `w`. A
// tensor belongs to the input that is called as it is, '_' for '.', or, where none is, to the one whose name ends so or
// of which this is the end ("h.0.ln_1.weight" is transformer_h_0_ln_1_weight), if there is one only. Values are
// converted to the input's type. Tensors that no input wants are ignored. ASSAY_ERR_NOT_FOUND, _IO, _SYNTAX, _LIMIT,
// _NOMEM; _INVALID: an input without a tensor, with several, or with one of another shape.
enum assay_status task_take_weights(struct task *t, const char *path, const struct workload *w,
                                    struct assay_error *err);
void given_release(struct given *g); // NULL is fine

// SHA-256 of the file; "" without one.
const char *task_weights_hash(const struct task *t);

// The same of a file that no task has taken.
enum assay_status given_hash(const char *path, char hex[65], struct assay_error *err);

// Whether input i is the file's where it has this shape.
bool task_is_given(const struct task *t, int i, const struct shape *shape, enum probe probe);

// `count` elements of such an input from `first` on, in the input's type. ASSAY_ERR_IO: the file cannot be read any
// more, or was cut short.
enum assay_status task_give(const struct task *t, int i, int64_t first, int64_t count, void *to,
                            struct assay_error *err);

#endif
