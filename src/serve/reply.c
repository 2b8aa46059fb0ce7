// SPDX-License-Identifier: Apache-2.0
// Answers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "serve/server.h"

static const char CSP[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
                          "'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
static const char NO_MEMORY[] = "{\"status\":500,\"title\":\"Internal Server Error\",\"type\":\"about:blank\"}";

static const char *title_of(unsigned code) {
  const char *title = MHD_get_reason_phrase_for(code);
  return code == 422 ? "Unprocessable Content" : title ? title : "Error";
}

// Adds what every answer has, sends it and releases it.
static enum MHD_Result send_off(struct call *c, unsigned code, struct MHD_Response *r) {
  if (!r)
    return MHD_NO;
  MHD_add_response_header(r, "Content-Security-Policy", CSP);
  MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
  MHD_add_response_header(r, "Cache-Control", "no-cache");
  enum MHD_Result result = MHD_queue_response(c->connection, code, r);
  MHD_destroy_response(r);
  c->code = code;
  return result;
}

// Whether one of the tags of If-None-Match is this one, or "*".
static bool has_tag(const char *list, const char *tag) {
  size_t n = strlen(tag);
  for (const char *p = list; p && *p;) {
    p += strspn(p, " \t,");
    p += strncmp(p, "W/", 2) == 0 ? 2 : 0;
    size_t k = strcspn(p, ",");
    while (k > 0 && (p[k - 1] == ' ' || p[k - 1] == '\t'))
      k--;
    if ((k == n && memcmp(p, tag, n) == 0) || (k == 1 && *p == '*'))
      return true;
    p += strcspn(p, ",");
  }
  return false;
}

enum MHD_Result reply_bytes(struct call *c, unsigned code, const char *type, const char *bytes, size_t n) {
  char hash[HASH_HEX_BYTES], tag[HASH_HEX_BYTES + 2];
  bool tagged = code == MHD_HTTP_OK && strcmp(c->method, "POST") != 0;
  hash_sha256_hex(bytes, n, hash);
  snprintf(tag, sizeof tag, "\"%.32s\"", hash);
  bool same = tagged && has_tag(MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, "If-None-Match"), tag);
  struct MHD_Response *r =
      MHD_create_response_from_buffer(same ? 0 : n, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
  if (r && !same)
    MHD_add_response_header(r, "Content-Type", type);
  if (r && tagged)
    MHD_add_response_header(r, "ETag", tag);
  return send_off(c, same ? MHD_HTTP_NOT_MODIFIED : code, r);
}

// Takes the JSON. Headers: pairs of a name and its value.
static enum MHD_Result reply_with(struct call *c, unsigned code, const char *type, json_t *taken,
                                  const char *const *headers) {
  char *text = taken ? json_dumps(taken, JSON_SORT_KEYS | JSON_INDENT(2)) : NULL;
  json_decref(taken);
  if (!text)
    code = MHD_HTTP_INTERNAL_SERVER_ERROR;
  size_t n = text ? strlen(text) : sizeof NO_MEMORY - 1;
  struct MHD_Response *r = MHD_create_response_from_buffer(n, text ? text : (void *)(uintptr_t)NO_MEMORY,
                                                           text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
  if (!r)
    free(text);
  if (r)
    MHD_add_response_header(r, "Content-Type", type);
  for (int i = 0; r && headers[i]; i += 2)
    MHD_add_response_header(r, headers[i], headers[i + 1]);
  return send_off(c, code, r);
}

enum MHD_Result reply_json(struct call *c, unsigned code, json_t *taken) {
  char *text = taken ? json_dumps(taken, JSON_SORT_KEYS | JSON_INDENT(1)) : NULL;
  json_decref(taken);
  if (!text)
    return reply_bytes(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "application/problem+json", NO_MEMORY, sizeof NO_MEMORY - 1);
  enum MHD_Result result = reply_bytes(c, code, "application/json", text, strlen(text));
  free(text);
  return result;
}

enum MHD_Result reply_created(struct call *c, unsigned code, const char *location, json_t *taken) {
  const char *headers[] = {"Location", location, NULL, NULL};
  if (!location)
    headers[0] = NULL;
  return reply_with(c, code, "application/json", taken, headers);
}

enum MHD_Result reply_problem(struct call *c, const struct problem *p) {
  char retry[16];
  const char *headers[6] = {NULL};
  int n = 0;
  snprintf(retry, sizeof retry, "%d", p->retry_s);
  if (p->retry_s > 0) {
    headers[n++] = "Retry-After";
    headers[n++] = retry;
  }
  if (p->header) {
    headers[n++] = p->header;
    headers[n++] = p->value;
  }
  json_t *j = json_pack("{s:s, s:s, s:i, s:s}", "type", "about:blank", "title", title_of(p->code), "status",
                        (int)p->code, "detail", p->detail);
  return reply_with(c, p->code, "application/problem+json", j, headers);
}

// The message may name files of this machine.
static void log_failure(struct call *c, const struct assay_error *err) {
  server_log(c->server, "error", json_pack("{s:s, s:s}", "route", route_name(c->route), "message", err->message));
}

enum MHD_Result reply_not_stored(struct call *c, const struct assay_error *err) {
  enum { RETRY_S = 60 };
  log_failure(c, err);
  return reply_problem(c, &(struct problem){.code = 503,
                                            .detail = "the server cannot store it (is its disk full? its log says "
                                                      "more): nothing was accepted; try again later",
                                            .retry_s = RETRY_S});
}

enum MHD_Result reply_failure(struct call *c, const struct assay_error *err) {
  unsigned code = 500;
  bool theirs = true;
  switch (err->status) {
  case ASSAY_ERR_USAGE:
  case ASSAY_ERR_INVALID:
  case ASSAY_ERR_UNSUPPORTED:
    code = 422;
    break;
  case ASSAY_ERR_SYNTAX:
    code = 400;
    break;
  case ASSAY_ERR_LIMIT:
    code = 413;
    break;
  case ASSAY_ERR_NOT_FOUND:
    code = 404;
    break;
  default:
    theirs = false;
  }
  if (!theirs)
    log_failure(c, err);
  return reply_problem(
      c, &(struct problem){.code = code, .detail = theirs ? err->message : "the server failed; its log says how"});
}

enum MHD_Result reply_stream(struct call *c, MHD_ContentReaderCallback reader, void *arg,
                             MHD_ContentReaderFreeCallback done) {
  enum { BLOCK = 4096 };
  // To HEAD libmicrohttpd would send the end of a chunked body, which a client takes for the next answer.
  const bool head = strcmp(c->method, "HEAD") == 0;
  struct MHD_Response *r = head ? MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT)
                                : MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, reader, arg, done);
  if (head || !r)
    done(arg);
  if (!r)
    return MHD_NO;
  MHD_add_response_header(r, "Content-Type", "text/event-stream");
  MHD_add_response_header(r, "X-Accel-Buffering", "no"); // nginx would keep events back
  return send_off(c, MHD_HTTP_OK, r);
}
