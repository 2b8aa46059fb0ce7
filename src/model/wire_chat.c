// SPDX-License-Identifier: Apache-2.0
// OpenAI's Chat Completions, as openai-python e43b4224 (2026-08) has it, and what compatible servers make of it: vLLM,
// SGLang, llama.cpp, Ollama, LM Studio.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "model/wire.h"

static void put(json_t *body, unsigned refused, enum wire_field f, json_t *value) {
  if (refused & 1u << f)
    json_decref(value);
  else
    json_object_set_new(body, wire_field_name(f), value);
}

static json_t *chat_request(const struct model_request *r, unsigned refused, bool stream) {
  json_t *messages = json_array();
  struct model_request asked = *r;
  struct buf both = {0};
  if (r->system[0] && refused & 1u << WIRE_SYSTEM) {
    buf_printf(&both, "%s\n\n%s", r->system, r->user);
    asked.user = buf_str(&both);
  } else if (r->system[0]) {
    json_array_append_new(messages, json_pack("{s:s, s:s}", "role", "system", "content", r->system));
  }
  wire_put_messages(&asked, messages);
  bool failed = both.failed;
  buf_release(&both);
  if (failed) {
    json_decref(messages);
    return NULL;
  }
  json_t *body = json_pack("{s:s, s:o}", "model", r->model, "messages", messages);
  if (!body)
    return NULL;
  // Old servers know one name of the cap, new ones refuse it.
  if (r->max_tokens > 0) {
    put(body, refused, WIRE_MAX_TOKENS, json_integer(r->max_tokens));
    put(body, refused, WIRE_MAX_COMPLETION_TOKENS, json_integer(r->max_tokens));
  }
  if (!isnan(r->temperature))
    put(body, refused, WIRE_TEMPERATURE, json_real(r->temperature));
  if (r->seed)
    put(body, refused, WIRE_SEED, json_integer((json_int_t)(r->seed & INT32_MAX)));
  if (stream) {
    json_object_set_new(body, "stream", json_true());
    put(body, refused, WIRE_STREAM_OPTIONS, json_pack("{s:b}", "include_usage", 1));
  }
  return body;
}

static void take_usage(struct wire_reply *r, const json_t *usage) {
  if (json_object_size(usage) == 0) // none, or an empty one after those that count
    return;
  r->usage.input = wire_number(usage, "prompt_tokens");
  r->usage.output = wire_number(usage, "completion_tokens");
  r->usage.cached = wire_number(json_object_get(usage, "prompt_tokens_details"), "cached_tokens");
  if (r->usage.cached < 0) // DeepSeek
    r->usage.cached = wire_number(usage, "prompt_cache_hit_tokens");
  r->usage.reasoning = wire_number(json_object_get(usage, "completion_tokens_details"), "reasoning_tokens");
  // xAI and Gemini count thoughts in the total alone: they are paid for as output.
  int64_t total = wire_number(usage, "total_tokens");
  if (r->usage.input > 0 && r->usage.output >= 0 && total - r->usage.input > r->usage.output)
    r->usage.output = total - r->usage.input;
}

// OpenAI's names, and those of others: Gemini and Mistral; SGLang, OpenRouter and DeepSeek for an answer that broke
// off.
static const struct {
  const char *name;
  enum model_finish finish;
  bool broken;
} finishes[] = {{"length", MODEL_FINISH_LENGTH, false},
                {"max_tokens", MODEL_FINISH_LENGTH, false},
                {"model_length", MODEL_FINISH_LENGTH, false},
                {"max_output_tokens", MODEL_FINISH_LENGTH, false},
                {"model_context_window_exceeded", MODEL_FINISH_LENGTH, false},
                {"content_filter", MODEL_FINISH_REFUSED, false},
                {"safety", MODEL_FINISH_REFUSED, false},
                {"recitation", MODEL_FINISH_REFUSED, false},
                {"prohibited_content", MODEL_FINISH_REFUSED, false},
                {"refusal", MODEL_FINISH_REFUSED, false},
                {"abort", MODEL_FINISH_UNKNOWN, true},
                {"error", MODEL_FINISH_UNKNOWN, true},
                {"insufficient_system_resource", MODEL_FINISH_UNKNOWN, true}};

static void take_finish(struct wire_reply *r, const char *reason) {
  for (size_t i = 0; i < sizeof finishes / sizeof *finishes; i++) {
    if (strcasecmp(reason, finishes[i].name) != 0)
      continue;
    r->finish = finishes[i].finish;
    r->failed = r->failed || finishes[i].broken;
    if (finishes[i].broken && !r->message[0])
      snprintf(r->message, sizeof r->message, "it stopped because of \"%s\"", finishes[i].name);
    return;
  }
  if (reason[0] && r->finish != MODEL_FINISH_REFUSED)
    r->finish = MODEL_FINISH_STOP;
}

static void take_call(struct wire_reply *r, const json_t *function) {
  wire_put_call(r, json_object_get(function, "arguments")); // an object at some
}

// A message, or a part of one. Thoughts are members of their own, under either name, and no text.
static void take_part(struct wire_reply *r, const json_t *part) {
  const json_t *refusal = json_object_get(part, "refusal");
  const json_t *calls = json_object_get(part, "tool_calls"), *call;
  size_t i;
  wire_put_text(r, json_object_get(part, "content"));
  const json_t *thought = json_object_get(part, "reasoning_content");
  wire_count_thought(r, json_is_string(thought) ? thought : json_object_get(part, "reasoning"));
  json_array_foreach(calls, i, call) take_call(r, json_object_get(call, "function"));
  take_call(r, json_object_get(part, "function_call")); // its older name
  if (json_is_string(refusal) && json_string_length(refusal) > 0) {
    wire_put_text(r, refusal);
    r->finish = MODEL_FINISH_REFUSED;
  }
}

// Where more than one was asked for (--field n=2), the others' pieces stand between those of the first.
static const json_t *first_choice(const json_t *j) {
  const json_t *choice;
  size_t i;
  json_array_foreach(json_object_get(j, "choices"), i, choice) {
    if (json_integer_value(json_object_get(choice, "index")) == 0)
      return choice;
  }
  return NULL;
}

static void chat_event(struct wire_reply *r, const char *event, const json_t *j) {
  const json_t *error = json_object_get(j, "error");
  const json_t *choice = first_choice(j);
  if (wire_is_error(error) || strcmp(event, "error") == 0) {
    wire_fail(r, error ? error : j);
    return;
  }
  const json_t *delta = json_object_get(choice, "delta");
  const json_t *part = delta ? delta : json_object_get(choice, "message"); // some send all of it as one event
  take_part(r, part);
  if (!part)
    wire_put_text(r, json_object_get(choice, "text"));
  take_finish(r, wire_text(choice, "finish_reason"));
  take_usage(r, json_object_get(json_object_get(j, "x_groq"), "usage"));
  take_usage(r, json_object_get(j, "usage"));
}

static void chat_whole(struct wire_reply *r, const json_t *j) {
  const json_t *choice = first_choice(j);
  const json_t *message = json_object_get(choice, "message");
  take_part(r, message);
  if (!message)
    wire_put_text(r, json_object_get(choice, "text"));
  take_finish(r, wire_text(choice, "finish_reason"));
  take_usage(r, json_object_get(j, "usage"));
  r->ended = json_is_object(choice);
}

const struct wire wire_chat = {"chat",
                               "/chat/completions",
                               1u << WIRE_TEMPERATURE | 1u << WIRE_SEED | 1u << WIRE_MAX_TOKENS |
                                   1u << WIRE_MAX_COMPLETION_TOKENS | 1u << WIRE_STREAM_OPTIONS | 1u << WIRE_SYSTEM,
                               chat_request,
                               chat_event,
                               chat_whole};
