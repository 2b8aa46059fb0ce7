// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/jobs.
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <jansson.h>

#include "serve/serve.h"

enum { REQUEST_MOST_DEPTH = 8 };

// What `settings` may say: X(KEY, KIND, LEAST, MOST, VALUES). VALUES of a CHOICE are separated by "|".
#define REQUEST_SETTINGS(X)                                                                                            \
  X("as_published", BOOL, 0, 0, "")                                                                                    \
  X("checks", INTEGER, 1, 30, "")                                                                                      \
  X("contract", CHOICE, 0, 0, "tf32")                                                                                  \
  X("mode", CHOICE, 0, 0, "plan|process")                                                                              \
  X("probes", BOOL, 0, 0, "")                                                                                          \
  X("rule", CHOICE, 0, 0, "contract|allclose")                                                                         \
  X("shapes", CHOICE, 0, 0, "general|judged")                                                                          \
  X("timing", BOOL, 0, 0, "")                                                                                          \
  X("toolchain", CHOICE, 0, 0, "nvrtc|nvcc")

struct request {
  json_t *json; // holds the strings of the candidates
  int n;
  struct serve_candidate candidates[QUEUE_MOST_JOBS];
  char *settings; // the same text for the same settings
};

// Parses and checks it. ASSAY_ERR_SYNTAX: no JSON; ASSAY_ERR_INVALID: something in it is wrong, and the message names
// it; ASSAY_ERR_LIMIT: too much of something; ASSAY_ERR_NOMEM. Release in any case.
enum assay_status request_parse(const char *text, size_t len, struct request *out, struct assay_error *err);
void request_release(struct request *r);

#endif
