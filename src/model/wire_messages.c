// SPDX-License-Identifier: Apache-2.0
// Anthropic's Messages, as anthropic-sdk-python 009b0353 (2026-08) has it.
#include <math.h>
#include <string.h>

#include "model/wire.h"

enum { USUAL_MAX_TOKENS = 16384 }; // the field is required

static json_t *messages_request(const struct model_request *r, unsigned refused, bool stream) {
  json_t *messages = json_array();
  wire_put_messages(r, messages);
  json_t *body = json_pack("{s:s, s:I, s:o}", "model", r->model, "max_tokens",
                           (json_int_t)(r->max_tokens > 0 ? r->max_tokens : USUAL_MAX_TOKENS), "messages", messages);
  if (!body)
    return NULL;
  // The stable part is marked, so that it is paid for once.
  if (r->system[0])
    json_object_set_new(
        body, "system",
        json_pack("[{s:s, s:s, s:{s:s}}]", "type", "text", "text", r->system, "cache_control", "type", "ephemeral"));
  if (!isnan(r->temperature) && !(refused & 1u << WIRE_TEMPERATURE))
    json_object_set_new(body, "temperature", json_real(r->temperature > 1 ? 1 : r->temperature));
  if (stream)
    json_object_set_new(body, "stream", json_true());
  return body;
}

// Input is what is new, what was read from the cache and what was written to it. Counts are cumulative.
static void take_usage(struct wire_reply *r, const json_t *usage) {
  int64_t input = wire_number(usage, "input_tokens"), output = wire_number(usage, "output_tokens");
  int64_t cached = wire_number(usage, "cache_read_input_tokens"),
          written = wire_number(usage, "cache_creation_input_tokens");
  if (input >= 0) { // the counts at the end may leave the cache's out
    r->usage.cached = cached >= 0 ? cached : r->usage.cached;
    r->usage.written = written >= 0 ? written : r->usage.written;
    r->usage.input =
        input + (r->usage.cached > 0 ? r->usage.cached : 0) + (r->usage.written > 0 ? r->usage.written : 0);
  }
  if (output >= 0)
    r->usage.output = output;
}

static void take_finish(struct wire_reply *r, const char *reason) {
  // A turn that was paused goes on as one that was cut off does: by the text that there is.
  if (strcmp(reason, "max_tokens") == 0 || strcmp(reason, "model_context_window_exceeded") == 0 ||
      strcmp(reason, "pause_turn") == 0)
    r->finish = MODEL_FINISH_LENGTH;
  else if (strcmp(reason, "refusal") == 0)
    r->finish = MODEL_FINISH_REFUSED;
  else if (reason[0])
    r->finish = MODEL_FINISH_STOP;
}

static void messages_event(struct wire_reply *r, const char *event, const json_t *j) {
  const char *type = wire_text(j, "type");
  const json_t *delta = json_object_get(j, "delta");
  if (strcmp(type, "error") == 0 || strcmp(event, "error") == 0)
    wire_fail(r, json_object_get(j, "error"));
  else if (strcmp(type, "message_start") == 0) {
    take_usage(r, json_object_get(json_object_get(j, "message"), "usage"));
    r->usage.output = -1; // how many there are is known at the end
  } else if (strcmp(type, "content_block_delta") == 0 && strcmp(wire_text(delta, "type"), "text_delta") == 0)
    wire_put_text(r, json_object_get(delta, "text"));
  else if (strcmp(type, "content_block_delta") == 0 && json_is_string(json_object_get(delta, "partial_json")))
    wire_put_call(r, json_object_get(delta, "partial_json")); // a tool's, of which nobody spoke
  else if (strcmp(type, "content_block_delta") == 0)
    wire_count_thought(r, json_object_get(delta, "thinking"));
  else if (strcmp(type, "message_delta") == 0) {
    take_finish(r, wire_text(delta, "stop_reason"));
    take_usage(r, json_object_get(j, "usage"));
  } else if (strcmp(type, "message_stop") == 0)
    r->ended = true;
}

static void messages_whole(struct wire_reply *r, const json_t *j) {
  const json_t *content = json_object_get(j, "content"), *block;
  size_t i;
  json_array_foreach(content, i, block) {
    if (strcmp(wire_text(block, "type"), "text") == 0)
      wire_put_text(r, json_object_get(block, "text"));
    wire_put_call(r, json_object_get(block, "input")); // of a tool
  }
  take_finish(r, wire_text(j, "stop_reason"));
  take_usage(r, json_object_get(j, "usage"));
  r->ended = json_is_array(content);
}

const struct wire wire_messages = {"messages",       "/messages",    1u << WIRE_TEMPERATURE,
                                   messages_request, messages_event, messages_whole};
