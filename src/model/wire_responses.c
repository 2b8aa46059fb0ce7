// SPDX-License-Identifier: Apache-2.0
// OpenAI's Responses.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/wire.h"

static json_t *responses_request(const struct model_request *r, unsigned refused, bool stream) {
  json_t *body = json_pack("{s:s, s:s}", "model", r->model, "input", r->user);
  if (!body)
    return NULL;
  if (r->partial) {
    json_t *messages = json_array();
    wire_put_messages(r, messages);
    json_object_set_new(body, "input", messages);
  }
  if (r->system[0])
    json_object_set_new(body, "instructions", json_string(r->system));
  if (r->max_tokens > 0)
    json_object_set_new(body, "max_output_tokens", json_integer(r->max_tokens));
  if (!isnan(r->temperature) && !(refused & 1u << WIRE_TEMPERATURE))
    json_object_set_new(body, "temperature", json_real(r->temperature));
  if (!(refused & 1u << WIRE_STORE)) // replies are kept here, not there
    json_object_set_new(body, "store", json_false());
  if (stream)
    json_object_set_new(body, "stream", json_true());
  return body;
}

static void take_usage(struct wire_reply *r, const json_t *usage) {
  if (!json_is_object(usage))
    return;
  r->usage.input = wire_number(usage, "input_tokens");
  r->usage.output = wire_number(usage, "output_tokens");
  r->usage.cached = wire_number(json_object_get(usage, "input_tokens_details"), "cached_tokens");
  r->usage.reasoning = wire_number(json_object_get(usage, "output_tokens_details"), "reasoning_tokens");
}

// The end of a response: its status, why it is incomplete, its usage.
static void take_end(struct wire_reply *r, const json_t *response) {
  const char *status = wire_text(response, "status");
  const char *reason = wire_text(json_object_get(response, "incomplete_details"), "reason");
  take_usage(r, json_object_get(response, "usage"));
  if (strcmp(status, "failed") == 0) {
    wire_fail(r, json_object_get(response, "error"));
    return;
  }
  if (strcmp(status, "cancelled") == 0) {
    r->failed = true;
    snprintf(r->message, sizeof r->message, "the response was cancelled");
    return;
  }
  // "queued", "in_progress": of a response that is made in the background, there is nothing yet.
  r->ended = !status[0] || strcmp(status, "completed") == 0 || strcmp(status, "incomplete") == 0;
  if (strcmp(reason, "max_output_tokens") == 0)
    r->finish = MODEL_FINISH_LENGTH;
  else if (strcmp(reason, "content_filter") == 0)
    r->finish = MODEL_FINISH_REFUSED;
  else if (r->finish != MODEL_FINISH_REFUSED)
    r->finish = MODEL_FINISH_STOP;
}

static void put_output(struct wire_reply *r, const json_t *j) {
  const json_t *item, *part;
  bool calls = r->called.len == 0; // a tool's, of which nobody spoke
  size_t i, k;
  json_array_foreach(json_object_get(j, "output"), i, item) {
    if (calls) {
      wire_put_call(r, json_object_get(item, "arguments"));
      wire_put_call(r, json_object_get(item, "input"));
    }
    if (strcmp(wire_text(item, "type"), "message") != 0)
      continue;
    json_array_foreach(json_object_get(item, "content"), k, part) {
      if (strcmp(wire_text(part, "type"), "output_text") == 0)
        wire_put_text(r, json_object_get(part, "text"));
      else if (strcmp(wire_text(part, "type"), "refusal") == 0) {
        wire_put_text(r, json_object_get(part, "refusal"));
        r->finish = MODEL_FINISH_REFUSED;
      }
    }
  }
}

static void responses_event(struct wire_reply *r, const char *event, const json_t *j) {
  const char *type = wire_text(j, "type");
  type = type[0] ? type : event;
  if (strcmp(type, "response.output_text.delta") == 0)
    wire_put_text(r, json_object_get(j, "delta"));
  else if (strcmp(type, "response.function_call_arguments.delta") == 0 ||
           strcmp(type, "response.custom_tool_call_input.delta") == 0)
    wire_put_call(r, json_object_get(j, "delta"));
  else if (strncmp(type, "response.reasoning", strlen("response.reasoning")) == 0)
    wire_count_thought(r, json_object_get(j, "delta"));
  else if (strcmp(type, "response.refusal.delta") == 0) {
    wire_put_text(r, json_object_get(j, "delta"));
    r->finish = MODEL_FINISH_REFUSED;
  } else if (strcmp(type, "response.completed") == 0 || strcmp(type, "response.incomplete") == 0 ||
             strcmp(type, "response.failed") == 0) {
    if (r->text.len == 0) // some servers send no pieces
      put_output(r, json_object_get(j, "response"));
    take_end(r, json_object_get(j, "response"));
  } else if (strcmp(type, "error") == 0)
    wire_fail(r, json_object_get(j, "error") ? json_object_get(j, "error") : j);
}

static void responses_whole(struct wire_reply *r, const json_t *j) {
  put_output(r, j);
  if (json_is_array(json_object_get(j, "output")))
    take_end(r, j);
}

const struct wire wire_responses = {"responses",       "/responses",    1u << WIRE_TEMPERATURE | 1u << WIRE_STORE,
                                    responses_request, responses_event, responses_whole};
