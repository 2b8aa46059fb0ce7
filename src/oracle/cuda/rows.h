// SPDX-License-Identifier: Apache-2.0
// What the families of reductions, norms and movement share on the host: rows and walks as kernels take them, and a
// node's small inputs as shape rules read them.
#ifndef ORACLE_CUDA_ROWS_H
#define ORACLE_CUDA_ROWS_H

#include "oracle/cuda/gpu.h"
#include "oracle/cuda/rows_args.h"

extern const char code_rows_args[], code_rows[];
#define GPU_ROWS_TEXTS GPU_COMMON_TEXTS, code_rows_args, code_rows

// As rows_init (ops/loops.h). strides in elements; NULL: dense.
struct gpu_rows gpu_rows_of(const struct shape *s, unsigned axes, const int64_t *strides);
// Rows that lie one after the other.
struct gpu_rows gpu_rows_dense(int64_t count, int64_t length);
// Neighbouring rows, not neighbouring positions, are neighbours in memory: threads then go by rows.
bool gpu_rows_side_by_side(const struct gpu_rows *r);

// A walk over dims (at most 16) with n sets of strides; neighbouring dimensions that stride alike in all are merged.
struct gpu_walk gpu_walk_of(int rank, const int64_t *dims, int n, const int64_t *const *steps);

// For a walk over a dense tensor whose rows run along `axes`: the strides that number the rows.
void gpu_row_numbers(const struct shape *s, unsigned axes, int64_t *strides);

// A node as shape inference sees it, for op_ints, op_has and op_axis. Inputs that `wanted` names (bit i) have their
// elements on the host.
enum { GPU_NODE_INPUTS = 8 };
struct gpu_node_view {
  struct op_infer infer;
  struct array in[GPU_NODE_INPUTS];
  const struct array *in_p[GPU_NODE_INPUTS];
  uint64_t *downloaded[GPU_NODE_INPUTS];
};
enum assay_status gpu_node_view_init(struct gpu_node_view *v, struct gpu_eval *c, unsigned wanted,
                                     struct assay_error *err);
void gpu_node_view_release(struct gpu_node_view *v);

// An array of n elements of 8 bytes on the device that lives as long as the node.
enum assay_status gpu_scratch(struct gpu_eval *c, int64_t n, device_ptr *out, struct assay_error *err);

// A place where a kernel notes the least position at which its data are wrong (ATOMIC_MIN_U64). gpu_bad_read waits for
// the kernel; -1: nothing is.
enum assay_status gpu_bad_make(struct gpu_eval *c, device_ptr *out, struct assay_error *err);
enum assay_status gpu_bad_read(struct gpu_eval *c, device_ptr bad, int64_t *position, struct assay_error *err);

// Element `at` of integer input i, for messages.
int64_t gpu_input_integer(struct gpu_eval *c, int i, int64_t at);

// A kernel's reference to plain doubles.
struct gpu_ref gpu_ref_f64(device_ptr p);

#endif
