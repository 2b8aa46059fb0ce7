// SPDX-License-Identifier: Apache-2.0
// Requests and replies of builders as bytes: numbers and byte strings one after the other, strings with a NUL after
// them.
#include <string.h>

#include "toolchain/builder/wire.h"

// ---- writing

static void put_number(struct buf *b, uint64_t v) {
  buf_append(b, &v, sizeof v);
}

static void put_bytes(struct buf *b, const void *bytes, size_t n) {
  put_number(b, n);
  if (n > 0)
    buf_append(b, bytes, n);
  buf_append(b, "", 1);
}

static void put_text(struct buf *b, const char *s) {
  put_bytes(b, s, strlen(s));
}

void builder_request_write(const struct builder_request *r, struct buf *out) {
  put_number(out, BUILDER_MAGIC);
  put_number(out, (uint64_t)r->language);
  put_number(out, (uint64_t)r->architecture);
  put_text(out, r->name);
  put_bytes(out, r->source, r->source_bytes);
  put_number(out, (uint64_t)r->n_options);
  for (int i = 0; i < r->n_options; i++)
    put_text(out, r->options[i]);
  put_number(out, (uint64_t)r->n_kernels);
  for (int i = 0; i < r->n_kernels; i++)
    put_text(out, r->kernels[i]);
}

void builder_reply_write(const struct builder_reply *r, struct buf *out) {
  size_t log = strlen(r->log);
  put_number(out, BUILDER_MAGIC);
  put_number(out, (uint64_t)r->outcome);
  put_bytes(out, r->log, log < BUILDER_MAX_TEXT ? log : BUILDER_MAX_TEXT);
  put_text(out, r->version);
  put_bytes(out, r->code, r->code_bytes);
  put_number(out, (uint64_t)r->n_kernels);
  for (int i = 0; i < r->n_kernels; i++) {
    const struct directive_kernel *k = &r->kernels[i];
    int n = k->n_parameters < 0 ? 0 : k->n_parameters;
    put_text(out, k->symbol);
    put_number(out, (uint64_t)(k->n_parameters + 1));
    for (int p = 0; p < n; p++)
      put_number(out, k->sizes[p]);
  }
}

// ---- reading

struct reader {
  const uint8_t *p, *end;
  struct arena *arena;
  const char *what; // that could not be read; NULL: all is well
  bool no_memory;
};

static uint64_t get_number(struct reader *r, uint64_t most, const char *what) {
  uint64_t v = 0;
  if (r->what)
    return 0;
  if ((size_t)(r->end - r->p) < sizeof v) {
    r->what = what;
    return 0;
  }
  memcpy(&v, r->p, sizeof v);
  r->p += sizeof v;
  if (v > most)
    r->what = what;
  return r->what ? 0 : v;
}

// Points into the bytes; a NUL follows.
static const uint8_t *get_bytes(struct reader *r, size_t most, const char *what, size_t *n) {
  static const uint8_t nothing[1] = {0};
  size_t length = (size_t)get_number(r, most, what);
  if (!r->what && (size_t)(r->end - r->p) <= length)
    r->what = what;
  if (!r->what && r->p[length] != 0)
    r->what = what;
  *n = r->what ? 0 : length;
  if (r->what)
    return nothing;
  const uint8_t *bytes = r->p;
  r->p += length + 1;
  return bytes;
}

static const char *get_text(struct reader *r, size_t most, const char *what) {
  size_t n;
  const char *s = (const char *)get_bytes(r, most, what, &n);
  if (!r->what && memchr(s, 0, n))
    r->what = what;
  return r->what ? "" : s;
}

static void *get_room(struct reader *r, size_t n, size_t size, const char *what) {
  // Each element takes some bytes here: a larger count is wrong, and nothing is allocated for it.
  if (!r->what && n > (size_t)(r->end - r->p))
    r->what = what;
  void *room = r->what ? NULL : arena_calloc(r->arena, n + 1, size);
  if (!r->what && !room) {
    r->what = what;
    r->no_memory = true;
  }
  return room;
}

static const char *const *get_texts(struct reader *r, const char *what, int *n) {
  size_t count = (size_t)get_number(r, DIRECTIVE_MAX_LINES * 2, what);
  const char **list = get_room(r, count, sizeof *list, what);
  for (size_t i = 0; i < count && !r->what; i++)
    list[i] = get_text(r, BUILDER_MAX_TEXT, what);
  *n = r->what ? 0 : (int)count;
  return list;
}

static enum assay_status finish(struct reader *r, const char *of, struct assay_error *err) {
  if (r->no_memory)
    return error_nomem(err, of);
  if (!r->what && r->p != r->end)
    r->what = "end";
  if (r->what)
    return error_set(err, ASSAY_ERR_PROTOCOL, "%s is damaged at its %s", of, r->what);
  return ASSAY_OK;
}

enum assay_status builder_request_read(const uint8_t *bytes, size_t n, struct arena *arena, struct builder_request *out,
                                       struct assay_error *err) {
  struct reader r = {.p = bytes, .end = bytes + n, .arena = arena};
  struct builder_request q = {0};
  if (get_number(&r, UINT64_MAX, "beginning") != BUILDER_MAGIC)
    r.what = "beginning";
  q.language = (enum builder_language)get_number(&r, BUILDER_OPENCL, "language");
  q.architecture = (int)get_number(&r, 1000, "architecture");
  q.name = get_text(&r, BUILDER_MAX_NAME, "name");
  q.source = (const char *)get_bytes(&r, BUILDER_MAX_SOURCE, "source", &q.source_bytes);
  q.options = get_texts(&r, "options", &q.n_options);
  q.kernels = get_texts(&r, "kernels", &q.n_kernels);
  enum assay_status status = finish(&r, "the request to the builder", err);
  if (status == ASSAY_OK)
    *out = q;
  return status;
}

static void get_kernel(struct reader *r, struct directive_kernel *k) {
  k->symbol = get_text(r, BUILDER_MAX_NAME, "names");
  k->n_parameters = (int)get_number(r, PLAN_MAX_ARGUMENTS + 1, "parameters") - 1;
  size_t n = k->n_parameters > 0 ? (size_t)k->n_parameters : 0;
  uint32_t *sizes = get_room(r, n, sizeof *sizes, "parameters");
  for (size_t i = 0; i < n && !r->what; i++)
    sizes[i] = (uint32_t)get_number(r, UINT32_MAX, "parameters");
  k->sizes = sizes;
}

enum assay_status builder_reply_read(const uint8_t *bytes, size_t n, int n_kernels, struct arena *arena,
                                     struct builder_reply *out, struct assay_error *err) {
  struct reader r = {.p = bytes, .end = bytes + n, .arena = arena};
  struct builder_reply q = {0};
  if (get_number(&r, UINT64_MAX, "beginning") != BUILDER_MAGIC)
    r.what = "beginning";
  q.outcome = (enum builder_outcome)get_number(&r, BUILDER_OUTCOMES - 1, "outcome");
  q.log = get_text(&r, BUILDER_MAX_TEXT, "log");
  q.version = get_text(&r, 256, "version");
  q.code = get_bytes(&r, PLAN_MAX_MODULE_BYTES, "code", &q.code_bytes);
  q.n_kernels = (int)get_number(&r, DIRECTIVE_MAX_LINES, "names");
  if (!r.what && q.n_kernels != (q.outcome == BUILDER_COMPILED ? n_kernels : 0))
    r.what = "names";
  q.kernels = get_room(&r, (size_t)q.n_kernels, sizeof *q.kernels, "names");
  for (int i = 0; i < q.n_kernels && !r.what; i++)
    get_kernel(&r, &q.kernels[i]);
  enum assay_status status = finish(&r, "the builder's reply", err);
  if (status == ASSAY_OK)
    *out = q;
  return status;
}
