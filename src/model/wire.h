// SPDX-License-Identifier: Apache-2.0
// Private to src/model: what servers speak. One struct a protocol: how a request is written, how a reply is read,
// streamed or whole.
#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include <jansson.h>

#include "model/model.h"

// What comes of a reply's JSON. Text is bytes as they came.
struct wire_reply {
  struct buf text;
  struct buf called;    // arguments of a tool's call, which are the answer where there is no text
  size_t thought_bytes; // which are not kept
  enum model_finish finish;
  struct model_usage usage;
  bool ended;                  // the terminator was there: nothing is missing
  bool failed;                 // the server says so, inside the reply
  char kind[64], message[512]; // of the error
};

// Optional fields of a request that a server may refuse; X(ID, name). "system" is the message of that role: its text
// then begins the user's. Without "stream" the reply is asked for as a whole.
#define WIRE_FIELDS(X)                                                                                                 \
  X(TEMPERATURE, "temperature")                                                                                        \
  X(SEED, "seed")                                                                                                      \
  X(MAX_TOKENS, "max_tokens")                                                                                          \
  X(MAX_COMPLETION_TOKENS, "max_completion_tokens")                                                                    \
  X(STREAM_OPTIONS, "stream_options")                                                                                  \
  X(SYSTEM, "system")                                                                                                  \
  X(STORE, "store")                                                                                                    \
  X(STREAM, "stream")
enum wire_field {
#define WIRE_FIELD_ID(id, name) WIRE_##id,
  WIRE_FIELDS(WIRE_FIELD_ID)
#undef WIRE_FIELD_ID
      WIRE_FIELD_COUNT
};
const char *wire_field_name(enum wire_field f);
unsigned wire_fields_of(const char *names); // "temperature,seed" as bits; NULL: 0. Unknown names count for nothing

struct wire {
  const char *name, *path; // "chat", "/chat/completions"
  unsigned fields;         // bit i: requests have field i unless it was refused; all that stream have "stream"
  // The body without the fields of `refused`. NULL: no memory.
  json_t *(*request)(const struct model_request *r, unsigned refused, bool stream);
  void (*event)(struct wire_reply *r, const char *event, const json_t *j); // one of a stream
  void (*whole)(struct wire_reply *r, const json_t *j);
};
extern const struct wire wire_chat, wire_messages, wire_responses;

// By name, NULL: none.
const struct wire *wire_by_name(const char *name);
// Whether there is one of that name. ASSAY_ERR_USAGE: none, with those that there are.
enum assay_status wire_check(const char *name, struct assay_error *err);

// One event's data, or a whole body. Bad UTF-8 and lone surrogates are replaced, not refused. The end marker "[DONE]"
// is understood. False: it is not JSON.
bool wire_take_event(const struct wire *w, struct wire_reply *r, const char *event, const char *data, size_t n);
bool wire_take_whole(const struct wire *w, struct wire_reply *r, const char *data, size_t n);

// The error of a body that a server sent with a status of 400 or more: kind, message, and the field it is about ("").
// Whatever the body is, the message says something.
struct wire_error {
  char kind[64], message[512], param[64];
};
void wire_read_error(const char *body, size_t n, struct wire_error *out);
bool wire_error_is_money(const struct wire_error *e, const char *body); // no amount of waiting helps
bool wire_error_is_of_the_day(const struct wire_error *e,
                              const char *body);                 // a limit that is a day's: waiting takes long
bool wire_error_is_key(const struct wire_error *e);              // in words, whatever the status
bool wire_error_is_place(const char *kind, const char *message); // no such model or path, likewise
bool wire_error_is_too_long(const struct wire_error *e);         // the prompt, for the model
bool wire_error_is_cap(const struct wire_error *e);              // the cap on tokens is larger than the model allows
bool wire_error_is_too_large(const struct wire_error *e);        // the request, for a limit of tokens a minute
bool wire_error_is_crash(const struct wire_error *e);            // of the server, whatever the status
bool wire_error_is_system(const struct wire_error *e);           // the model's template has no such role
bool wire_error_is_refusal(const struct wire_error *e);          // of the prompt, by a filter
bool wire_error_is_field(const struct wire_error *e, enum wire_field f); // the server does not take it

// Whether an error that a server sent inside a reply is about the request itself: it would be the same again.
bool wire_is_own_fault(const struct wire_reply *r);

// Whether the member "error" of an answer is one: some have it in every answer, with nothing in it.
bool wire_is_error(const json_t *error);

// For the protocols.
void wire_fail(struct wire_reply *r, const json_t *error);
void wire_put_messages(const struct model_request *r, json_t *messages); // the user's, and what came of an answer
void wire_put_text(struct wire_reply *r, const json_t *string);          // or a list of {"type": "text", "text"}
int64_t wire_number(const json_t *j, const char *name);                  // -1: not there
void wire_put_call(struct wire_reply *r, const json_t *arguments);       // of a tool: JSON in a string, or an object
void wire_count_thought(struct wire_reply *r, const json_t *string);
const char *wire_text(const json_t *j, const char *name); // "" when it is not there

#endif
