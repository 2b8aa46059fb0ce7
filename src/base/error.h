// SPDX-License-Identifier: Apache-2.0
// Making and extending error records (the record itself is public: assay/status.h).
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "assay/status.h"

#define ASSAY_PRINTF(fmt_index, arg_index) __attribute__((format(printf, fmt_index, arg_index)))

// Fills *err (which may be NULL) with the status and the message, and returns the status, so that a failing function
// can say `return error_set(err, ASSAY_ERR_SYNTAX, "line %d: ...", line);`. Messages longer than the record are cut.
enum assay_status error_set(struct assay_error *err, enum assay_status status, const char *fmt, ...) ASSAY_PRINTF(3, 4);

// Puts context in front of the message that is there ("tasks/a.onnxtxt: " + message). Returns err's status; with a
// NULL err returns `status`.
enum assay_status error_prefix(struct assay_error *err, enum assay_status status, const char *fmt, ...)
    ASSAY_PRINTF(3, 4);

// The usual failure of an allocation; names what was being made.
enum assay_status error_nomem(struct assay_error *err, const char *what);

#endif
