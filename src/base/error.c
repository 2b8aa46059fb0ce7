// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *assay_status_text(enum assay_status status) {
  switch (status) {
#define ASSAY_STATUS_CASE(name, value, text)                                                                           \
  case ASSAY_##name:                                                                                                   \
    return text;
    ASSAY_STATUSES(ASSAY_STATUS_CASE)
#undef ASSAY_STATUS_CASE
  }
  return "unknown status";
}

enum assay_status error_set(struct assay_error *err, enum assay_status status, const char *fmt, ...) {
  if (err) {
    va_list ap;
    va_start(ap, fmt);
    err->status = status;
    vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
  }
  return status;
}

enum assay_status error_prefix(struct assay_error *err, enum assay_status status, const char *fmt, ...) {
  if (!err)
    return status;
  char old[ASSAY_ERROR_MESSAGE_BYTES];
  memcpy(old, err->message, sizeof old);
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(err->message, sizeof err->message, fmt, ap);
  va_end(ap);
  if (n >= 0 && (size_t)n < sizeof err->message)
    snprintf(err->message + n, sizeof err->message - (size_t)n, "%s", old);
  return err->status ? err->status : status;
}

enum assay_status error_nomem(struct assay_error *err, const char *what) {
  return error_set(err, ASSAY_ERR_NOMEM, "out of memory while making %s", what);
}
