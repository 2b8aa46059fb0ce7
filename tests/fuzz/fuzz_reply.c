// SPDX-License-Identifier: Apache-2.0
// modules: model
// A model's reply: any bytes give code or a reason why there is none, and the code came from the reply.
#include <stddef.h>
#include <stdint.h>

#include "model/extract.h"

static const char *const c_tags[] = {"c", "cpp", NULL}, *const c_entries[] = {"assay_kernel", NULL};
static const char *const py_tags[] = {"python", NULL}, *const py_entries[] = {"ModelNew", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct model_language c = {c_tags, c_entries, true}, python = {py_tags, py_entries, false};
  static const struct model_language *const others[2][2] = {{&python, NULL}, {&c, NULL}};
  struct assay_error err = {0};
  for (int which = 0; which < 2; which++)
    for (int finish = 0; finish <= MODEL_FINISH_REFUSED; finish++) {
      struct model_extract x;
      struct buf prose = {0};
      char hash[65];
      if (model_extract((const char *)data, size, (enum model_finish)finish, which ? &python : &c, others[which], &x,
                        &err) != ASSAY_OK)
        return 0;
      if ((x.what == MODEL_CODE) != (x.code.len > 0) || x.code.len > size)
        __builtin_trap();
      if (model_code_hash(buf_str(&x.code), x.code.len, which, hash, &err) == ASSAY_OK && hash[64])
        __builtin_trap();
      if (model_prose((const char *)data, size, &prose, &err) == ASSAY_OK && prose.len > MODEL_MOST_PROSE_BYTES)
        __builtin_trap();
      buf_release(&prose);
      model_extract_release(&x);
    }
  return 0;
}
