// SPDX-License-Identifier: Apache-2.0
#include "judge/device_judged.h"

#include <string.h>

#include "base/alloc.h"
#include "judge/device_judged_args.h"
#include "judge/draws.h"
#include "task/check.h"

extern const char code_device_judged_args[], code_device_judged[];
static const char *const texts[] = {GPU_COMMON_TEXTS, code_device_judged_args, code_device_judged, NULL};
const struct device_code device_judged_code = {.name = "judged", .texts = texts, .exact = true};

enum { THREADS = 1 << 17 };

bool device_judged_can(const struct task *t, const struct layout *l) {
  bool can = true;
  if (!task_has_check(t))
    return true;
  for (int i = 0; i < l->n_judged && can; i++)
    can = gpu_array_can_store(l->judged[i].dtype);
  return can && gpu_runs_all(task_oracle_graph(t)) && gpu_runs_all(&t->check.flat);
}

// As count_poison of judged.c, of all outputs.
static enum assay_status count_unwritten(struct compute *c, struct device_judged *j, uint32_t poison,
                                         struct assay_error *err) {
  struct judged_count_args a = {.poison = poison};
  enum assay_status status = compute_alloc(c, sizeof j->unwritten, &a.count, err);
  if (!status)
    status = compute_set32(c, a.count, 0, sizeof j->unwritten / sizeof(uint32_t), err);
  for (int i = 0; i < j->layout->n_out && !status; i++) {
    const struct tensor_type *type = &j->layout->out[i];
    if (dtype_bytes(type->dtype) < sizeof poison) // small elements meet the pattern by chance
      continue;
    a.words = j->out[i];
    a.n = (int64_t)(tensor_type_bytes(type) / sizeof poison);
    a.threads = a.n < THREADS ? a.n : THREADS;
    status = compute_launch(c, &device_judged_code, "judged_count", a.threads, &a, sizeof a, err);
  }
  if (!status)
    status = compute_download(c, &j->unwritten, a.count, sizeof j->unwritten, err);
  compute_free(c, a.count);
  return status;
}

// The check's graph takes the inputs and then the outputs.
static enum assay_status evaluate(struct compute *c, const struct task *t, const struct gpu_array *inputs,
                                  struct device_judged *j, struct assay_error *err) {
  const struct layout *l = j->layout;
  struct gpu_array *all = base_calloc((size_t)(l->n_in + l->n_out) + 1, sizeof *all);
  struct gpu_array *values = base_calloc((size_t)l->n_judged + 1, sizeof *values);
  enum assay_status status = all && values ? ASSAY_OK : error_nomem(err, "a check");
  for (int i = 0; i < l->n_in + l->n_out && !status; i++) {
    if (i < l->n_in) {
      all[i] = inputs[i];
      continue;
    }
    const struct tensor_type *type = &l->out[i - l->n_in];
    all[i] = (struct gpu_array){.dtype = type->dtype, .shape = type->shape, .data = j->out[i - l->n_in]};
    status = gpu_storage_of(type->dtype, &all[i].storage, err);
  }
  if (!status) {
    const struct gpu_request r = {.compute = c, .graph = &t->check.flat, .inputs = all, .arith = arith_exact()};
    struct assay_error refusal = {0};
    status = gpu_oracle_eval(&r, values, &refusal);
    if (!status) {
      j->values = values;
      values = NULL;
    } else if (status == ASSAY_ERR_INVALID || status == ASSAY_ERR_UNSUPPORTED) {
      status = ASSAY_OK;
    } else if (err) {
      *err = refusal;
    }
  }
  base_free(values);
  base_free(all);
  return status;
}

enum assay_status device_judged_make(const struct device_check_request *r, const struct gpu_array *inputs,
                                     struct device_judged *j, struct assay_error *err) {
  *j = (struct device_judged){.layout = r->question->layout, .out = r->out, .checked = task_has_check(r->task)};
  if (!j->checked)
    return ASSAY_OK;
  enum assay_status status = count_unwritten(r->compute, j, r->poison, err);
  return status ? status : evaluate(r->compute, r->task, inputs, j, err);
}

void device_judged_release(struct compute *c, struct device_judged *j) {
  for (int i = 0; j->values && i < j->layout->n_judged; i++)
    gpu_array_release(c, &j->values[i]);
  base_free(j->values);
  memset(j, 0, sizeof *j);
}

enum assay_status device_judged_value(struct compute *c, const struct device_judged *j, int i,
                                      const struct gpu_array *y, device_ptr *at, device_ptr *own,
                                      struct assay_error *err) {
  *own = 0;
  *at = j->checked ? 0 : j->out[i];
  if (!j->checked)
    return ASSAY_OK;
  const struct tensor_type type = gpu_array_type(y);
  const struct gpu_array *from = j->values ? &j->values[i] : NULL;
  const bool fits = from && from->dtype == y->dtype && shape_equal(&from->shape, &y->shape);
  enum assay_status status = compute_alloc(c, tensor_type_bytes(&type) + 1, own, err);
  if (!status)
    status = gpu_array_store(c, fits ? from : y, !fits, &type, *own, err);
  *at = *own;
  return status;
}

static enum assay_status hash_output(struct compute *c, const struct tensor_type *type, device_ptr out, uint64_t *rows,
                                     struct assay_error *err) {
  struct judged_hash_args a = {.data = out,
                               .rows = type->shape.dims[0],
                               .row_bytes = type->shape.dims[1] * (int64_t)dtype_bytes(type->dtype),
                               .block_bytes = DRAWS_BLOCK_BYTES,
                               .unit = (int32_t)dtype_bytes(type->dtype)};
  a.blocks = draws_blocks(a.row_bytes);
  const size_t bytes = (size_t)(a.rows * a.blocks) * sizeof(uint64_t);
  uint64_t *blocks = base_alloc(bytes + 1);
  enum assay_status status = blocks ? compute_alloc(c, bytes + 1, &a.hashes, err) : error_nomem(err, "a call's rows");
  if (!status)
    status = compute_launch(c, &device_judged_code, "judged_hash", a.rows * a.blocks, &a, sizeof a, err);
  if (!status)
    status = compute_download(c, blocks, a.hashes, bytes, err);
  for (int64_t row = 0; row < a.rows && !status; row++)
    rows[row] = draws_join(a.row_bytes, blocks + row * a.blocks);
  compute_free(c, a.hashes);
  base_free(blocks);
  return status;
}

enum assay_status device_judged_hash(struct compute *c, const struct layout *l, const device_ptr *out, uint64_t *rows,
                                     struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int o = 0; o < l->n_out && !status; o++) {
    if (!draws_is_noted(&l->out[o]))
      continue;
    status = hash_output(c, &l->out[o], out[o], rows, err);
    rows += l->out[o].shape.dims[0];
  }
  return status;
}
