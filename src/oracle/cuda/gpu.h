// SPDX-License-Identifier: Apache-2.0
// The oracle on a device: the same graph, the same truth, the same error scale as oracle/oracle.h, computed through
// compute/compute.h in the judge's own context.
//
// Inputs stay as the candidate sees them, in their own type (float32 in memory is half the size of double): kernels
// read them through `struct gpu_ref`. Everything computed is double or int64. Small integer values that shapes depend
// on are known on the host as well.
#ifndef ORACLE_CUDA_GPU_H
#define ORACLE_CUDA_GPU_H

#include "compute/compute.h"
#include "oracle/cuda/common_args.h"
#include "oracle/oracle.h"

// How an element lies in memory; STORAGE_* in common.cuh.
enum gpu_storage {
  GPU_F64,
  GPU_I64, // and uint64
  GPU_F32,
  GPU_F16,
  GPU_BF16,
  GPU_I32,
  GPU_U8,
  GPU_I8,
  GPU_BOOL, // one byte; any value but 0 is true
  GPU_U16,
  GPU_I16,
  GPU_U32,
  GPU_F8E4M3FN,
  GPU_F8E5M2,
};

// As struct array: dtype and shape without a struct tensor_type around them.
struct gpu_array {
  enum dtype dtype; // what the graph says it is
  struct shape shape;
  enum gpu_storage storage;
  device_ptr data;
  // Where not NULL: the same elements on the host (f64 or i64, as dtype says). Constants and values computed during
  // inference have it; operators read axes, sizes and so on from here.
  const uint64_t *host;
  bool owned; // by the evaluation
};

static inline struct tensor_type gpu_array_type(const struct gpu_array *a) {
  return (struct tensor_type){a->dtype, a->shape};
}

// The element type's storage as the candidate sees it. ASSAY_ERR_UNSUPPORTED names a type that has none.
enum assay_status gpu_storage_of(enum dtype dtype, enum gpu_storage *out, struct assay_error *err);
size_t gpu_storage_bytes(enum gpu_storage s); // of one element

// Writes an array of GPU_F64 or GPU_I64 as the bytes of a type with as many elements, as dtype_from_f64 and
// dtype_from_i64 do. others: elements none of which is the array's (NaN, all bits turned) in place of them.
// gpu_array_can_store: whether there is a way.
bool gpu_array_can_store(enum dtype t);
enum assay_status gpu_array_store(struct compute *c, const struct gpu_array *from, bool others,
                                  const struct tensor_type *type, device_ptr to, struct assay_error *err);

struct gpu_eval;

// For a kernel's argument: what ops/start.h has, of the node's starts and one part more.
void gpu_start_init(struct gpu_start *s, const struct gpu_eval *c, double factor);
void gpu_start_add(struct gpu_start *s, const struct gpu_array *of, const struct shape *shape, double factor);

// For a kernel's argument.
struct gpu_ref gpu_ref_of(const struct gpu_array *a);
struct gpu_arith gpu_arith_of(const struct arith *a);

// The texts of a family's program begin with these; after them its own, which cmake makes from FAMILY_args.h and
// FAMILY.cu:
//   extern const char code_softmax_args[], code_softmax[];
//   static const struct device_code program = {
//       "softmax", (const char *const[]){GPU_COMMON_TEXTS, code_softmax_args, code_softmax, NULL}, false};
extern const char code_formats[], code_common_args[], code_common[];
#define GPU_COMMON_TEXTS code_formats, code_common_args, code_common

// One evaluation of one node. Inputs in[i] are NULL where left out. Outputs have dtype, shape, GPU_F64 or GPU_I64
// storage and memory (not cleared); data is 0 for optional outputs left out.
struct gpu_eval {
  struct compute *compute;
  const struct node *node;
  int n_in, n_out;
  const struct gpu_array *const *in;
  struct gpu_array *out;
  struct arith arith; // exact or contract, key derived for this node
  // As op_eval.sigma: where not 0, a contraction may leave output 0 exact in a contract pass and write each element's
  // standard deviation (float) here; it then sets has_sigma.
  device_ptr sigma;
  bool has_sigma;
  struct op_memo *memo;           // as op_eval.memo
  const struct gpu_array *centre; // as op_eval.centre
  struct op_nested nested;        // as op_eval.nested; what is large is not known on the host
  const struct gpu_array *terms;  // the innermost sum's
  int n_starts;                   // as op_eval.starts
  struct {
    const struct gpu_array *of;
    double factor;
  } starts[OP_STARTS];
  int n_temporaries;
  device_ptr temporaries[16]; // gpu_temporary; freed after the node
};

typedef enum assay_status gpu_eval_fn(struct gpu_eval *c, struct assay_error *err);

// Memory until the end of the node.
enum assay_status gpu_temporary(struct gpu_eval *c, size_t bytes, device_ptr *out, struct assay_error *err);

// The values of a small integer or float input on the host (double or int64 by dtype), from in[i]->host or downloaded;
// heap memory (base_free).
enum assay_status gpu_host_values(struct gpu_eval *c, int i, uint64_t **out, struct assay_error *err);

// What runs an operator's row on the device (gpu_table.h), or NULL.
gpu_eval_fn *gpu_find(const struct op_def *op);

// Whether the device runs all operators of a graph, and leaves none to the host (gpu_host_eval).
bool gpu_runs_all(const struct graph *g);

// One evaluation of a flat graph, as oracle_eval. `outputs` are owned by the caller (gpu_array_release).
struct gpu_request {
  struct compute *compute;
  const struct graph *graph;
  const struct gpu_array *inputs; // one for each graph input; borrowed
  struct arith arith;
  device_ptr sigma;
  int sigma_node;
  bool *has_sigma;
  struct gpu_cache *cache; // NULL, or what the passes of one answer share (gpu_cache.h)
  const double *products;  // as in oracle_request
};
enum assay_status gpu_oracle_eval(const struct gpu_request *r, struct gpu_array *outputs, struct assay_error *err);

// The truth and its error scale, as oracle_answer_make.
struct gpu_answer {
  int n_outputs;
  struct gpu_array *y; // GPU_F64 or GPU_I64
  device_ptr *sigma;   // float per element; 0 for integer outputs
  bool representable;
  bool fused; // truth and passes in one launch (fused.h)
};
enum assay_status gpu_answer_make(struct compute *c, const struct graph *g, const struct gpu_array *inputs,
                                  const struct arith *contract, int replicas, struct gpu_answer *out,
                                  struct assay_error *err);
// The same, with a launch for every node and pass whatever the graph is. Tests compare the other with it.
enum assay_status gpu_answer_make_unfused(struct compute *c, const struct graph *g, const struct gpu_array *inputs,
                                          const struct arith *contract, int replicas, struct gpu_answer *out,
                                          struct assay_error *err);
void gpu_answer_release(struct compute *c, struct gpu_answer *a);

// The error scales of answers to one question with inputs that were drawn alike, for further answers to it: how much
// each few neighbouring elements usually err (struct kept_scale). Empty ({0}) at first.
struct gpu_scales {
  int n_outputs, n_answers;
  int64_t *n; // elements of each output
  device_ptr *kept;
};
// ASSAY_ERR_UNSUPPORTED where an output has other elements than in the answers before.
enum assay_status gpu_scales_add(struct compute *c, struct gpu_scales *s, const struct gpu_answer *a,
                                 struct assay_error *err);
void gpu_scales_release(struct compute *c, struct gpu_scales *s);
// An answer's scale is `factor` times what was kept, or the rounding of the result where that is more.
struct gpu_loan {
  const struct gpu_scales *scales;
  double factor;
};
// The truth with a scale from earlier answers: no pass is run. A sixth of the time of an answer. ASSAY_ERR_UNSUPPORTED
// as above, and before an answer was added.
enum assay_status gpu_answer_borrow(struct compute *c, const struct graph *g, const struct gpu_array *inputs,
                                    const struct arith *contract, const struct gpu_loan *loan, struct gpu_answer *out,
                                    struct assay_error *err);
void gpu_array_release(struct compute *c, struct gpu_array *a);

#endif
