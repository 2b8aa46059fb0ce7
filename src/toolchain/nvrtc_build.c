// SPDX-License-Identifier: Apache-2.0
// CUDA C++ with directive lines: NVRTC compiles to a cubin, whose own tables say what the kernels' parameters are.
#include <string.h>

#include "toolchain/directed.h"

static const char *const *flags(const struct program_options *o, struct arena *a) {
  const char **list = arena_calloc(a, 3, sizeof *list);
  if (list && o->hasty)
    list[1] = "--Ofast-compile=max";
  if (list)
    list[0] = arena_printf(a, "--gpu-architecture=%s", o->target);
  return list && list[0] ? list : NULL;
}

static enum assay_status learn_parameters(struct directed_program *p, int index, const struct cubin_info *cubin,
                                          const char **refusal, struct assay_error *err) {
  struct directive_kernel *k = &p->kernels[index];
  const struct cubin_kernel *found = cubin_find(cubin, k->symbol);
  if (!found) {
    *refusal = arena_printf(&p->arena,
                            "%s: the compiled code has no kernel %s (%s), which a directive launches: it must be a "
                            "__global__ function",
                            p->name, p->set.kernels[index], k->symbol);
    return *refusal ? ASSAY_OK : error_nomem(err, "a build");
  }
  int n = found->n_parameters;
  uint32_t *sizes = arena_calloc(&p->arena, (size_t)(n > 0 ? n : 0) + 1, sizeof *sizes);
  if (!sizes)
    return error_nomem(err, "a build");
  for (int i = 0; i < n; i++)
    sizes[i] = found->parameters[i].size;
  k->n_parameters = n;
  k->sizes = sizes;
  return ASSAY_OK;
}

static enum assay_status complete(struct directed_program *p, const struct builder_reply *reply, const char *source,
                                  size_t n, const char **refusal, struct assay_error *err) {
  struct cubin_info cubin;
  struct assay_error why = {0};
  (void)source;
  (void)n;
  p->kernels = reply->kernels;
  p->code = reply->code;
  p->code_bytes = reply->code_bytes;
  enum assay_status status = cubin_read(p->code, p->code_bytes, &p->arena, &cubin, &why);
  if (status == ASSAY_ERR_NOMEM)
    return error_nomem(err, "a build");
  if (status != ASSAY_OK) {
    *refusal = arena_printf(&p->arena, "%s: the compiled code is damaged: %s", p->name, why.message);
    return *refusal ? ASSAY_OK : error_nomem(err, "a build");
  }
  for (int i = 0; i < p->set.n_kernels && status == ASSAY_OK && !*refusal; i++)
    status = learn_parameters(p, i, &cubin, refusal, err);
  return status;
}

const struct directed_way nvrtc_way = {.toolchain = &toolchain_nvrtc,
                                       .language = BUILDER_CUDA,
                                       .command = "nvrtc",
                                       .code = PLAN_CUBIN,
                                       .flags = flags,
                                       .complete = complete};
