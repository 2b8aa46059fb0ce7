// SPDX-License-Identifier: Apache-2.0
#include "assay/verdict.h"

const char *assay_reason_code(enum assay_reason reason) {
  switch (reason) {
#define REASON_CASE(name, code, text)                                                                                  \
  case ASSAY_REASON_##name:                                                                                            \
    return code;
    ASSAY_REASONS(REASON_CASE)
#undef REASON_CASE
  }
  return "unknown";
}

const char *assay_reason_text(enum assay_reason reason) {
  switch (reason) {
#define REASON_CASE(name, code, text)                                                                                  \
  case ASSAY_REASON_##name:                                                                                            \
    return text;
    ASSAY_REASONS(REASON_CASE)
#undef REASON_CASE
  }
  return "a reason that this version of Assay does not know";
}

bool assay_reason_is_of_build(enum assay_reason reason) {
  return reason == ASSAY_REASON_BUILD_FAILED || reason == ASSAY_REASON_BUILD_TIMEOUT ||
         reason == ASSAY_REASON_BUILD_LIMIT;
}
