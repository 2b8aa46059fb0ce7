// SPDX-License-Identifier: Apache-2.0
// Status codes and the error record: how every function of Assay reports that something did not work.
//
// Three kinds of bad are never mixed. A bug in Assay is an assertion. A failure of the environment or of the
// user's input is one of the statuses below. A failure of the *candidate* is neither: it is data in a verdict
// (see verdict.h), and judging a broken kernel is a success.
#ifndef ASSAY_STATUS_H
#define ASSAY_STATUS_H

// X(name, value, text): 0 is success, everything else is negative.
#define ASSAY_STATUSES(X)                                                                                              \
  X(OK, 0, "ok")                                                                                                       \
  X(ERR_NOMEM, -1, "out of memory")                                                                                    \
  X(ERR_IO, -2, "input/output error")                                                                                  \
  X(ERR_USAGE, -3, "wrong usage")                                                                                      \
  X(ERR_SYNTAX, -4, "syntax error")                                                                                    \
  X(ERR_INVALID, -5, "invalid input")                                                                                  \
  X(ERR_UNSUPPORTED, -6, "not supported")                                                                              \
  X(ERR_LIMIT, -7, "a limit was exceeded")                                                                             \
  X(ERR_NOT_FOUND, -8, "not found")                                                                                    \
  X(ERR_ENVIRONMENT, -9, "the machine lacks something")                                                                \
  X(ERR_PROTOCOL, -10, "a child process broke the protocol")                                                           \
  X(ERR_BUSY, -11, "in use by another process")                                                                        \
  X(ERR_CORRUPT, -12, "a stored file is damaged")                                                                      \
  X(ERR_INTERRUPTED, -13, "interrupted")

enum assay_status {
#define ASSAY_STATUS_ENUM(name, value, text) ASSAY_##name = (value),
  ASSAY_STATUSES(ASSAY_STATUS_ENUM)
#undef ASSAY_STATUS_ENUM
};

enum { ASSAY_ERROR_MESSAGE_BYTES = 1024 };

// The record of one failure. Owned by the caller, usually on its stack; zero it first. The message is made where the
// failure happened, names what, where and what to do, and has no trailing newline; callers add context in front.
struct assay_error {
  enum assay_status status;
  char message[ASSAY_ERROR_MESSAGE_BYTES];
};

// The fixed English text of a status ("out of memory"); never NULL.
const char *assay_status_text(enum assay_status status);

#endif
