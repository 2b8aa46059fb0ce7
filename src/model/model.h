// SPDX-License-Identifier: Apache-2.0
// Language models: what is asked and what comes back, whatever the endpoint speaks. This layer knows nothing of tasks,
// kernels and verdicts.
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

// Why a reply ended: X(ID, name as stored).
#define MODEL_FINISHES(X)                                                                                              \
  X(UNKNOWN, "unknown") /* a program's output says nothing of it */                                                    \
  X(STOP, "stop")                                                                                                      \
  X(LENGTH, "length") /* the cap on tokens, or the model's context */                                                  \
  X(REFUSED, "refused")                                                                                                \
  X(UNSERVED, "unserved")           /* the endpoint's failure, not the model's: to be asked again */                   \
  X(SERVER_FAILED, "server_failed") /* the endpoint failed as often as it is asked: given up */                        \
  X(UNDER_WAY, "under_way")         /* it was sent, and nobody knows what came of it */

enum model_finish {
#define MODEL_FINISH_ID(id, name) MODEL_FINISH_##id,
  MODEL_FINISHES(MODEL_FINISH_ID)
#undef MODEL_FINISH_ID
      MODEL_FINISH_COUNT
};
const char *model_finish_name(enum model_finish f);
enum model_finish model_finish_by_name(const char *name); // unknown where there is none

// Tokens as the server counts them; -1: it did not say. input includes cached and written; output includes reasoning.
struct model_usage {
  int64_t input, cached, written, output, reasoning;
};
#define MODEL_USAGE_UNKNOWN                                                                                            \
  { -1, -1, -1, -1, -1 }

// About how many tokens a text has: a third of its bytes, which holds for code in today's vocabularies.
int64_t model_estimate_tokens(size_t bytes);
// The longest text of so many.
size_t model_estimate_bytes(int64_t tokens);

// All strings are copied on submission.
struct model_request {
  int64_t tag;               // the caller's, handed back with the reply
  int endpoint;              // index of the client's endpoints
  const char *model;         // its name there; "" where the endpoint is a program
  const char *system, *user; // "" for no system message
  // What came of the answer before it was cut off, and what is said after it; NULL: nothing did. Not of a program.
  const char *partial, *more;
  const char *environment[4]; // "NAME=value" for a program, in addition to its own; NULL-terminated
  double temperature;         // NaN: the server's default
  int64_t max_tokens;         // of the reply; 0: the endpoint's default
  size_t most_bytes;          // of a program's output, which is cut off there; 0: as long as a reply may be
  int64_t usual_max_tokens; // where max_tokens is more than the model allows, half of it, down to this; 0: all or none
  uint64_t seed;            // 0: none
  // How many requests may be sent in addition to those that were submitted, by all together: each retry takes one, and
  // there is none where none is left. NULL: any number. Borrowed until the reply is there.
  atomic_llong *spare_calls;
  // Called from the client's thread before the request is sent again, so that the books have it: how many calls it is
  // then, and how many of those before may have been worked on though nothing came of them. Where it fails, so does the
  // request. NULL: nobody wants to know.
  enum assay_status (*again)(void *arg, const struct model_request *r, int calls, int unknown, struct assay_error *err);
  void *again_arg;
};

// What went wrong with a request, by what the caller does about it.
enum model_failure {
  MODEL_ANSWERED,
  MODEL_FAILED,   // this request gets no whole reply: the prompt or the reply is too long, the program failed
  MODEL_UNSERVED, // the endpoint failed, after retries: it is busy, broke off or fell silent. Later it may answer
  MODEL_ENDED,    // no request can be answered: wrong key, no such model, no money, nothing listens there
};

struct model_reply {
  int64_t tag;
  struct buf text; // the reply's bytes; what came of it where it failed. Not a string: it may hold NULs
  enum model_finish finish;
  struct model_usage usage;
  enum model_failure failure;
  struct assay_error error; // unless answered
  int calls;                // requests sent, retries included
  int unknown_calls;        // of these, that reached the server and brought nothing: they may be billed
  bool waited;              // in vain: the server was busy for as long as is waited for, or fell silent
  int64_t wall_ns;          // from the first to the end of the last
  int64_t cpu_ns;           // of a program; 0: a server's is not known
};
// Whether the endpoint is to blame: the request is to be made again.
bool model_is_unserved(enum model_failure f);
void model_reply_release(struct model_reply *r);

#endif
