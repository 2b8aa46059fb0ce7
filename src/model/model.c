// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <string.h>

const char *model_finish_name(enum model_finish f) {
  static const char *const names[] = {
#define NAME(id, name) [MODEL_FINISH_##id] = name,
      MODEL_FINISHES(NAME)
#undef NAME
  };
  return names[f];
}

enum model_finish model_finish_by_name(const char *name) {
  for (int f = 0; f < MODEL_FINISH_COUNT; f++)
    if (strcmp(model_finish_name((enum model_finish)f), name) == 0)
      return (enum model_finish)f;
  return MODEL_FINISH_UNKNOWN;
}

int64_t model_estimate_tokens(size_t bytes) {
  return (int64_t)((bytes + 2) / 3);
}

size_t model_estimate_bytes(int64_t tokens) {
  return (size_t)tokens * 3;
}

bool model_is_unserved(enum model_failure f) {
  return f == MODEL_UNSERVED || f == MODEL_ENDED;
}

void model_reply_release(struct model_reply *r) {
  buf_release(&r->text);
}
