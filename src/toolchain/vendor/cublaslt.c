// SPDX-License-Identifier: Apache-2.0
// Products of matrices by cuBLASLt: its heuristic proposes algorithms, and the fastest of those is taken.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "toolchain/vendor/cublaslt_api.h"
#include "toolchain/vendor/vendor.h"

enum { MOST_ALGORITHMS = 16 };
static const uint64_t WORKSPACE_BYTES = (uint64_t)64 << 20;

struct vendor_library {
  struct cublaslt lt;
  const struct cuda_driver *cu;
  cublasLtHandle_t handle;
};

struct vendor_engine {
  struct vendor_library *library;
  struct vendor_product product;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, c, d;
  float alpha, beta;
  struct cublas_lt_heuristic chosen;
  struct vendor_workspace workspace;
};

static const struct vendor_entry entries[] = {
#define ENTRY(name, result, params) {#name, offsetof(struct cublaslt, name)},
    CUBLASLT_FUNCTIONS(ENTRY)
#undef ENTRY
};

static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};

static enum assay_status check(const struct vendor_library *l, enum cublas_status status, const char *what,
                               struct assay_error *err) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return ASSAY_OK;
  return error_set(err, status == CUBLAS_STATUS_NOT_SUPPORTED ? ASSAY_ERR_UNSUPPORTED : ASSAY_ERR_ENVIRONMENT,
                   "cuBLASLt cannot %s: %s", what, l->lt.cublasLtGetStatusString(status));
}

static enum assay_status load(const struct vendor_paths *p, const struct cuda_driver *cu, struct vendor_library **out,
                              struct assay_error *err) {
  const char *path;
  void *handle = vendor_load(p->cublaslt, names, &path);
  if (!handle)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "cuBLASLt cannot be loaded: %s; install the CUDA toolkit's libraries (libcublas), or `pip install "
                     "nvidia-cublas` and point ASSAY_CUBLASLT to its libcublasLt.so",
                     dlerror());
  struct vendor_library *l = base_calloc(1, sizeof *l);
  if (!l)
    return error_nomem(err, "cuBLASLt");
  l->cu = cu;
  enum assay_status status = vendor_fill(handle, entries, sizeof entries / sizeof *entries, &l->lt, path, err);
  if (!status)
    status = check(l, l->lt.cublasLtCreate(&l->handle), "start", err);
  if (status)
    base_free(l);
  else
    *out = l;
  return status;
}

// ---- describing the product

static enum assay_status set(struct vendor_engine *e, enum cublas_lt_desc_attribute attribute, const void *value,
                             size_t n, struct assay_error *err) {
  struct vendor_library *l = e->library;
  return check(l, l->lt.cublasLtMatmulDescSetAttribute(e->desc, attribute, value, n), "describe the product", err);
}

struct extents {
  int64_t rows, columns, batch;
};

static enum assay_status make_layout(struct vendor_library *l, enum cuda_data_type type, struct extents x,
                                     const struct vendor_matrix *m, cublasLtMatrixLayout_t *out,
                                     struct assay_error *err) {
  int32_t count = (int32_t)x.batch;
  int64_t stride = m->stride;
  uint64_t stored_rows = (uint64_t)(m->transposed ? x.columns : x.rows);
  uint64_t stored_columns = (uint64_t)(m->transposed ? x.rows : x.columns);
  enum assay_status status = check(l, l->lt.cublasLtMatrixLayoutCreate(out, type, stored_rows, stored_columns, m->ld),
                                   "describe a matrix", err);
  if (status || x.batch == 1)
    return status;
  status =
      check(l, l->lt.cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
            "describe a batch", err);
  if (status)
    return status;
  return check(
      l,
      l->lt.cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
      "describe a batch", err);
}

static enum assay_status describe(struct vendor_engine *e, const struct vendor_call *c, struct assay_error *err) {
  static const enum cuda_data_type types[] = {
      [VENDOR_FLOAT] = CUDA_R_32F, [VENDOR_HALF] = CUDA_R_16F, [VENDOR_BFLOAT] = CUDA_R_16BF};
  struct vendor_library *l = e->library;
  const struct vendor_product *p = &e->product;
  enum cuda_data_type type = types[c->type];
  // Sums are in float. Plain COMPUTE_32F rounds no input of type float.
  enum cublas_compute_type compute = c->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  int32_t a = p->a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, b = p->b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  enum assay_status status =
      check(l, l->lt.cublasLtMatmulDescCreate(&e->desc, compute, CUDA_R_32F), "describe the product", err);
  if (!status)
    status = set(e, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a, err);
  if (!status)
    status = set(e, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b, err);
  if (!status && p->bias >= 0)
    status = set(e, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, err);
  if (!status)
    status = make_layout(l, type, (struct extents){p->m, p->k, p->batch}, &p->a, &e->a, err);
  if (!status)
    status = make_layout(l, type, (struct extents){p->k, p->n, p->batch}, &p->b, &e->b, err);
  if (!status)
    status = make_layout(l, type, (struct extents){p->m, p->n, p->batch}, p->c.input >= 0 ? &p->c : &p->d, &e->c, err);
  if (!status)
    status = make_layout(l, type, (struct extents){p->m, p->n, p->batch}, &p->d, &e->d, err);
  return status;
}

// ---- running it

static enum assay_status run(struct vendor_engine *e, const struct vendor_tensors *t, struct assay_error *err) {
  struct vendor_library *l = e->library;
  const struct vendor_product *p = &e->product;
  const void *a = (const void *)(uintptr_t)t->inputs[p->a.input], *b = (const void *)(uintptr_t)t->inputs[p->b.input];
  void *d = (void *)(uintptr_t)t->output;
  const void *c = p->c.input >= 0 ? (const void *)(uintptr_t)t->inputs[p->c.input] : d;
  size_t bytes = e->chosen.workspace_bytes;
  void *workspace = bytes ? (void *)(uintptr_t)e->workspace.address : NULL;
  enum assay_status status = ASSAY_OK;
  if (p->bias >= 0)
    status = set(e, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &t->inputs[p->bias], sizeof t->inputs[p->bias], err);
  if (!status)
    status = check(l,
                   l->lt.cublasLtMatmul(l->handle, e->desc, &e->alpha, a, e->a, b, e->b, &e->beta, c, e->c, d, e->d,
                                        &e->chosen.algo, workspace, bytes, NULL),
                   "compute the product", err);
  return status;
}

// ---- choosing an algorithm

static enum assay_status propose(struct vendor_engine *e, struct cublas_lt_heuristic *results, int *n,
                                 struct assay_error *err) {
  struct vendor_library *l = e->library;
  cublasLtMatmulPreference_t preference = NULL;
  *n = 0;
  enum assay_status status = check(l, l->lt.cublasLtMatmulPreferenceCreate(&preference), "say what is preferred", err);
  if (!status)
    status = check(l,
                   l->lt.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                              &WORKSPACE_BYTES, sizeof WORKSPACE_BYTES),
                   "say what is preferred", err);
  if (!status)
    status = check(l,
                   l->lt.cublasLtMatmulAlgoGetHeuristic(l->handle, e->desc, e->a, e->b, e->c, e->d, preference,
                                                        MOST_ALGORITHMS, results, n),
                   "propose an algorithm", err);
  if (preference)
    (void)l->lt.cublasLtMatmulPreferenceDestroy(preference);
  return status;
}

static enum assay_status choose(struct vendor_engine *e, const struct vendor_tensors *t, struct assay_error *err) {
  struct cublas_lt_heuristic results[MOST_ALGORITHMS] = {0};
  struct vendor_library *l = e->library;
  const struct vendor_product *p = &e->product;
  struct assay_error why = {0};
  int n = 0, best = -1;
  double best_us = 0, us;
  enum assay_status status = propose(e, results, &n, err);
  if (status)
    return status;
  for (int i = 0; i < n && i < MOST_ALGORITHMS; i++) {
    e->chosen = results[i];
    // One that was proposed and fails is left out.
    if (results[i].state != CUBLAS_STATUS_SUCCESS || results[i].workspace_bytes > WORKSPACE_BYTES ||
        vendor_time(l->cu, &vendor_cublaslt, e, t, &us, &why) != ASSAY_OK)
      continue;
    if (best < 0 || us < best_us) {
      best = i;
      best_us = us;
    }
  }
  if (best < 0)
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "cuBLASLt has no algorithm for this product (m %lld, n %lld, k %lld)%s%s", (long long)p->m,
                     (long long)p->n, (long long)p->k, why.message[0] ? ": " : "", why.message);
  e->chosen = results[best];
  fprintf(stderr,
          "cuBLASLt %zu: m %lld, n %lld, k %lld, batch %lld: number %d of %d, %.1f us, %zu bytes of workspace\n",
          l->lt.cublasLtGetVersion(), (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->batch, best + 1,
          n, best_us, e->chosen.workspace_bytes);
  return ASSAY_OK;
}

static void release(struct vendor_engine *e) {
  if (!e)
    return;
  struct cublaslt *lt = &e->library->lt;
  const cublasLtMatrixLayout_t layouts[] = {e->a, e->b, e->c, e->d};
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    if (layouts[i])
      (void)lt->cublasLtMatrixLayoutDestroy(layouts[i]);
  if (e->desc)
    (void)lt->cublasLtMatmulDescDestroy(e->desc);
  vendor_workspace_give_back(e->library->cu, &e->workspace);
  base_free(e);
}

static enum assay_status prepare(struct vendor_library *l, const struct vendor_call *c, const struct vendor_tensors *t,
                                 struct vendor_engine **out, struct assay_error *err) {
  struct vendor_engine *e = base_calloc(1, sizeof *e);
  if (!e)
    return error_nomem(err, "a product");
  e->library = l;
  e->product = c->product;
  e->alpha = (float)c->product.alpha;
  e->beta = (float)c->product.beta;
  enum assay_status status = describe(e, c, err);
  if (!status && e->product.bias >= 0) // the heuristic wants to see one
    status = set(e, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &t->inputs[e->product.bias], sizeof t->inputs[0], err);
  if (!status)
    status = vendor_workspace_take(l->cu, WORKSPACE_BYTES, &e->workspace, err);
  if (!status)
    status = choose(e, t, err);
  if (status)
    release(e);
  else
    *out = e;
  return status;
}

const struct vendor_ops vendor_cublaslt = {.title = "cuBLASLt",
                                           .names = names,
                                           .version = "cublasLtGetVersion",
                                           .load = load,
                                           .prepare = prepare,
                                           .run = run,
                                           .release = release};
