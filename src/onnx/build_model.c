// SPDX-License-Identifier: Apache-2.0
// Putting models together: versions, known names, the beginning and the end.
#include <string.h>

#include "onnx/build.h"
#include "ops/op.h"

const char *build_domain(const char *domain) {
  return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

enum assay_status build_check_opsets(struct opset_import *opsets, int n, const struct source_location *at,
                                     struct assay_error *err) {
  // A newer opset may give an old name a new meaning, so it is refused even when all its operators have rows.
  for (int i = 0; i < n; i++) {
    struct opset_import *o = &opsets[i];
    o->domain = build_domain(o->domain);
    int newest = strcmp(o->domain, "") == 0           ? OP_NEWEST_OPSET
                 : strcmp(o->domain, "ai.assay") == 0 ? OP_NEWEST_ASSAY_OPSET
                                                      : INT32_MAX;
    if (o->version < 1)
      return build_error(err, ASSAY_ERR_INVALID, at, "opset version %d of domain \"%.100s\" is below 1", o->version,
                         o->domain);
    if (o->version > newest)
      return build_error(err, ASSAY_ERR_UNSUPPORTED, at,
                         "opset version %d of domain \"%s\" is newer than %d, the newest one known here", o->version,
                         o->domain, newest);
    for (int k = 0; k < i; k++)
      if (strcmp(opsets[k].domain, o->domain) == 0)
        return build_error(err, ASSAY_ERR_INVALID, at, "domain \"%.100s\" is imported twice", o->domain);
  }
  return ASSAY_OK;
}

// Below 3 there were no opsets; beyond the newest, fields may exist that change what a model means.
enum assay_status build_check_ir(int64_t version, const struct source_location *at, struct assay_error *err) {
  if (version >= BUILD_OLDEST_IR && version <= BUILD_NEWEST_IR)
    return ASSAY_OK;
  if (version == 0)
    return build_error(err, ASSAY_ERR_INVALID, at, "the model does not say its ir_version");
  return build_error(err, ASSAY_ERR_UNSUPPORTED, at, "ir_version %lld is outside %d..%d, the versions known here",
                     (long long)version, BUILD_OLDEST_IR, BUILD_NEWEST_IR);
}

enum assay_status build_locale_start(struct build_locale *l, struct assay_error *err) {
  // glibc and musl hand out a static object for "C": this neither allocates nor fails there.
  l->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (l->c == (locale_t)0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the C locale is not available");
  l->before = uselocale(l->c);
  return ASSAY_OK;
}

void build_locale_end(struct build_locale *l) {
  uselocale(l->before);
  freelocale(l->c);
}

// The limit keeps a hostile file from using up the machine's memory; honest models are far below it.
void build_model_start(struct model *m) {
  memset(m, 0, sizeof *m);
  arena_init(&m->arena, ONNX_MAX_ARENA_BYTES);
}

// A partial model is released here: on failure the caller has nothing to release.
enum assay_status build_model_end(struct model *m, const char *name, enum assay_status status,
                                  struct assay_error *err) {
  if (!status) {
    m->source_name = arena_strdup(&m->arena, name);
    if (!m->source_name)
      status = error_nomem(err, "a model");
  }
  if (status) {
    model_release(m);
    return error_prefix(err, status, "%s: ", name);
  }
  return ASSAY_OK;
}
