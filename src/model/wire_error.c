// SPDX-License-Identifier: Apache-2.0
// What servers say where a request failed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/printable.h"
#include "model/wire.h"

// {"message", "type" or "code"}, or a text; of an object that has no message, all of it.
static void read_error(const json_t *error, char *kind, size_t kind_size, char *message, size_t message_size) {
  const char *code = wire_text(error, "code"), *type = wire_text(error, "type");
  const char *said = json_is_string(error) ? json_string_value(error) : wire_text(error, "message");
  char *all = said[0] || json_object_size(error) == 0 ? NULL : json_dumps(error, JSON_COMPACT);
  snprintf(kind, kind_size, "%s", code[0] ? code : type);
  printable_line(said[0] ? said : all ? all : "the server says no more", message, message_size);
  free(all);
}

bool wire_is_error(const json_t *error) {
  static const char *const members[] = {"message", "code", "type"};
  bool says = json_is_string(error) ? json_string_length(error) > 0 : json_is_object(error);
  // One with members that all say nothing is what some gateways put into every answer.
  bool known = false, empty = true;
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    const json_t *value = json_object_get(error, members[i]);
    known = known || value;
    empty = empty && (!value || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0));
  }
  return says && !(json_is_object(error) && empty && (known || json_object_size(error) == 0));
}

void wire_fail(struct wire_reply *r, const json_t *error) {
  const json_t *code = json_object_get(error, "code");
  r->failed = true;
  read_error(error, r->kind, sizeof r->kind, r->message, sizeof r->message);
  if (json_is_integer(code)) // OpenRouter's and llama.cpp's: a status
    snprintf(r->kind, sizeof r->kind, "%lld", (long long)json_integer_value(code));
}

// FastAPI's list of what is wrong with a request: [{"loc": ["body", "seed"], "msg": "...", "type": "extra_forbidden"}].
static bool read_details(const json_t *detail, struct wire_error *out) {
  const json_t *first = json_array_get(detail, 0), *loc = json_object_get(first, "loc");
  const char *field = json_string_value(json_array_get(loc, json_array_size(loc) - (json_array_size(loc) > 0)));
  if (!wire_text(first, "msg")[0])
    return false;
  snprintf(out->kind, sizeof out->kind, "%s", wire_text(first, "type"));
  snprintf(out->param, sizeof out->param, "%s", field ? field : "");
  char said[400];
  snprintf(said, sizeof said, "%s%s%s", out->param, field ? ": " : "", wire_text(first, "msg"));
  printable_line(said, out->message, sizeof out->message);
  return true;
}

// What is no JSON: of a page its title, which stands in its head, else its beginning.
static void read_page(const char *body, size_t n, struct wire_error *out) {
  char head[4096], text[256];
  snprintf(head, sizeof head, "%.*s", (int)(n < sizeof head ? n : sizeof head - 1), body);
  const char *title = strcasestr(head, "<title>"), *end = title ? strcasestr(title, "</title>") : NULL;
  if (end && end - title > 7)
    snprintf(text, sizeof text, "%.*s", (int)(end - title - 7 < 200 ? end - title - 7 : 200), title + 7);
  else
    snprintf(text, sizeof text, "%.200s", head);
  printable_line(text[0] ? text : "no explanation", out->message, sizeof out->message);
}

void wire_read_error(const char *body, size_t n, struct wire_error *out) {
  json_t *j = json_loadb(body, n, JSON_ALLOW_NUL, NULL);
  const json_t *error = json_object_get(j, "error");
  memset(out, 0, sizeof *out);
  if (!error && json_is_array(j)) // some wrap it in a list
    error = json_object_get(json_array_get(j, 0), "error");
  if (!error)
    error = json_object_get(j, "detail") ? json_object_get(j, "detail") : j;
  const json_t *wrapped = json_object_get(json_object_get(error, "message"), "detail"); // Mistral's
  if ((json_is_array(error) && read_details(error, out)) || read_details(wrapped, out)) {
    json_decref(j);
    return;
  }
  if (json_is_object(error) || json_is_string(error)) {
    read_error(error, out->kind, sizeof out->kind, out->message, sizeof out->message);
    const char *param = wire_text(error, "param");
    snprintf(out->param, sizeof out->param, "%s", strcmp(param, "None") == 0 ? "" : param); // LiteLLM's, of none
  } else {
    read_page(body ? body : "", n, out);
  }
  json_decref(j);
}

// --- what it is about

static bool has_any(const char *text, const char *const *words) {
  for (; *words; words++)
    if (strcasestr(text, *words))
      return true;
  return false;
}

// Codes count wherever they stand: Anthropic's is in the error's details.
bool wire_error_is_money(const struct wire_error *e, const char *body) {
  static const char *const kinds[] = {"billing", "budget_exceeded", "exceeded_current_quota", "arrearage", NULL};
  static const char *const codes[] = {"insufficient_quota", "credit_balance",           "spend_limit",
                                      "credit balance",     "budget has been exceeded", "spending limit",
                                      "any credits",        "purchase more credits",    NULL};
  return has_any(e->kind, kinds) || has_any(e->kind, codes) || has_any(body, codes);
}

bool wire_error_is_of_the_day(const struct wire_error *e, const char *body) {
  static const char *const words[] = {"per day", "per-day", "PerDay", "per_day", "daily limit", "daily quota", NULL};
  return has_any(e->message, words) || has_any(body, words);
}

bool wire_error_is_key(const struct wire_error *e) {
  static const char *const words[] = {"api key not valid", "invalid api key", "incorrect api key", NULL};
  return has_any(e->message, words);
}

bool wire_error_is_place(const char *kind, const char *message) {
  static const char *const kinds[] = {"model_not_found", "model_not_available", "invalid_model", NULL};
  static const char *const words[] = {"model not exist",
                                      "no models loaded",
                                      "unexpected endpoint",
                                      "not a valid model",
                                      "invalid model",
                                      "model identifier is invalid",
                                      NULL};
  return has_any(kind, kinds) || has_any(message, words);
}

bool wire_error_is_too_long(const struct wire_error *e) {
  static const char *const kinds[] = {"context_length", "context_size", NULL};
  static const char *const words[] = {"context length",     "context size",      "context window",
                                      "prompt is too long", "input is too long", "maximum prompt length",
                                      "input token count",  "model token limit", NULL};
  return has_any(e->kind, kinds) || has_any(e->message, words);
}

// OpenAI's, of a request that is more than the whole minute's limit: that it says with 429 does not mean "later".
bool wire_error_is_too_large(const struct wire_error *e) {
  static const char *const words[] = {"request too large", NULL};
  return has_any(e->message, words);
}

bool wire_error_is_crash(const struct wire_error *e) {
  static const char *const words[] = {"model has crashed", NULL};
  return has_any(e->message, words);
}

bool wire_error_is_refusal(const struct wire_error *e) {
  static const char *const kinds[] = {"content_filter", "content_policy", "safety", "data_inspection_failed", NULL};
  static const char *const words[] = {"content management policy", "flagged", "requires moderation",
                                      "violates usage guidelines", NULL};
  return has_any(e->kind, kinds) || has_any(e->message, words);
}

bool wire_is_own_fault(const struct wire_reply *r) {
  static const char *const kinds[] = {
      "invalid_request", "invalid_prompt", "context_length", "context_size", "content_policy", "content_filter", NULL};
  return has_any(r->kind, kinds);
}

// Without a cap a reply is as long as it likes, whatever the budget says: it is only left out where the server does not
// know it.
bool wire_error_is_cap(const struct wire_error *e) {
  static const char *const caps[] = {"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens",
                                     NULL};
  static const char *const values[] = {"too large", "at most",    "maximum",  "less than",
                                       "exceed",    "must be <=", "range of", NULL};
  return (has_any(e->param, caps) || has_any(e->message, caps)) &&
         (has_any(e->message, values) || strcmp(e->kind, "integer_above_max_value") == 0);
}

// The templates of Gemma and of older models of Mistral, as vLLM and llama.cpp pass their words on.
bool wire_error_is_system(const struct wire_error *e) {
  static const char *const words[] = {"system role", "role system", "role 'system'", "\"system\" role", NULL};
  static const char *const roles[] = {"only user and assistant roles", "roles must alternate user/assistant",
                                      "developer instruction is not enabled", "does not support 'system'", NULL};
  return (has_any(e->message, words) && strcasestr(e->message, "support")) || has_any(e->message, roles);
}

bool wire_error_is_field(const struct wire_error *e, enum wire_field f) {
  const char *name = wire_field_name(f);
  static const char *const words[] = {"support",   "unknown", "unexpected", "unrecogni", "extra",      "permit",
                                      "not allow", "forbid",  "invalid",    "may only",  "deprecated", NULL};
  static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  char quoted[64];
  size_t n = strlen(name);
  if (f == WIRE_SYSTEM)
    return wire_error_is_system(e);
  if (f == WIRE_STREAM && strcasestr(e->message, "for streaming") && has_any(e->message, words))
    return true;
  snprintf(quoted, sizeof quoted, "'%s'", name);
  if (e->param[0])
    return strcmp(e->param, name) == 0;
  if (strstr(e->message, quoted) || strncmp(e->message, name, n) == 0)
    return true;
  for (const char *at = has_any(e->message, words) ? e->message : NULL; at && (at = strstr(at, name)); at += n)
    if ((at == e->message || !strchr(name_letters, at[-1])) && (!at[n] || !strchr(name_letters, at[n])))
      return true;
  return false;
}
