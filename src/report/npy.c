// SPDX-License-Identifier: Apache-2.0
// A .npy file: six bytes "\x93NUMPY", two of version, the length of the header (2 bytes, from version 2.0 on 4), the
// header (a Python dictionary as text, padded with spaces and closed by a newline), and the elements.
#include "report/npy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "oracle/oracle.h"

#define MAGIC "\x93NUMPY"
enum { MAGIC_BYTES = 6, HEAD_BYTES = 10, ALIGNMENT = 64, MAX_HEADER_BYTES = 1 << 16, WRITE_ELEMENTS = 1 << 13 };

static const struct {
  const char *descr;
  enum dtype dtype;
} types[] = {
    {"<f2", DTYPE_FLOAT16}, {"<f4", DTYPE_FLOAT},  {"<f8", DTYPE_DOUBLE}, {"|b1", DTYPE_BOOL},
    {"|i1", DTYPE_INT8},    {"<i2", DTYPE_INT16},  {"<i4", DTYPE_INT32},  {"<i8", DTYPE_INT64},
    {"|u1", DTYPE_UINT8},   {"<u2", DTYPE_UINT16}, {"<u4", DTYPE_UINT32}, {"<u8", DTYPE_UINT64},
};
enum { N_TYPES = sizeof types / sizeof *types };

// The text of the header's dictionary.
struct scanner {
  const char *at, *end;
};

static void skip_space(struct scanner *s) {
  while (s->at < s->end && isspace((unsigned char)*s->at))
    s->at++;
}

static bool accept(struct scanner *s, char c) {
  skip_space(s);
  if (s->at == s->end || *s->at != c)
    return false;
  s->at++;
  return true;
}

// 'text' or "text", without escapes. False when there is none, or it is too long.
static bool quoted(struct scanner *s, char *text, size_t size) {
  char quote = accept(s, '\'') ? '\'' : accept(s, '"') ? '"' : '\0';
  const char *close = quote ? memchr(s->at, quote, (size_t)(s->end - s->at)) : NULL;
  if (!close || (size_t)(close - s->at) >= size)
    return false;
  memcpy(text, s->at, (size_t)(close - s->at));
  text[close - s->at] = '\0';
  s->at = close + 1;
  return true;
}

static bool word(struct scanner *s, const char *w) {
  skip_space(s);
  size_t n = strlen(w);
  if ((size_t)(s->end - s->at) < n || memcmp(s->at, w, n) != 0)
    return false;
  s->at += n;
  return true;
}

static bool extent(struct scanner *s, int64_t *out) {
  int64_t n = 0;
  skip_space(s);
  const char *first = s->at;
  for (; s->at < s->end && isdigit((unsigned char)*s->at); s->at++) {
    n = 10 * n + (*s->at - '0');
    if (n > SHAPE_MAX_ELEMENTS)
      return false;
  }
  *out = n;
  return s->at > first;
}

// "(3, 4)", "(3,)" or "()".
static enum assay_status read_shape(struct scanner *s, struct shape *out, struct assay_error *err) {
  bool more = accept(s, '(');
  if (!more)
    return error_set(err, ASSAY_ERR_SYNTAX, "the header's shape is not a tuple");
  out->rank = 0;
  while (more && !accept(s, ')')) {
    if (out->rank == SHAPE_MAX_RANK)
      return error_set(err, ASSAY_ERR_LIMIT, "more than %d dimensions", SHAPE_MAX_RANK);
    if (!extent(s, &out->dims[out->rank]))
      return error_set(err, ASSAY_ERR_SYNTAX, "the header's shape has an extent that is not a number");
    out->rank++;
    more = accept(s, ',');
    if (!more && !accept(s, ')'))
      return error_set(err, ASSAY_ERR_SYNTAX, "the header's shape does not end");
  }
  return shape_check(out, err);
}

struct header {
  char descr[16];
  bool has_shape, has_order, fortran;
  struct shape shape;
};

static enum assay_status read_entry(struct scanner *s, struct header *h, struct assay_error *err) {
  char key[24];
  if (!quoted(s, key, sizeof key) || !accept(s, ':'))
    return error_set(err, ASSAY_ERR_SYNTAX, "the header is not a dictionary with descr, fortran_order and shape");
  if (strcmp(key, "shape") == 0) {
    h->has_shape = true;
    return read_shape(s, &h->shape, err);
  }
  if (strcmp(key, "descr") == 0)
    return quoted(s, h->descr, sizeof h->descr)
               ? ASSAY_OK
               : error_set(err, ASSAY_ERR_UNSUPPORTED, "its elements are records; save plain numbers");
  if (strcmp(key, "fortran_order") == 0) {
    h->fortran = word(s, "True");
    h->has_order = h->fortran || word(s, "False");
    if (h->has_order)
      return ASSAY_OK;
  }
  return error_set(err, ASSAY_ERR_SYNTAX, "the header's entry '%s' is not known", key);
}

static enum assay_status read_header(const char *text, size_t len, struct header *h, struct assay_error *err) {
  struct scanner s = {text, text + len};
  enum assay_status status = ASSAY_OK;
  memset(h, 0, sizeof *h);
  bool more = accept(&s, '{');
  while (more && !status && !accept(&s, '}')) {
    status = read_entry(&s, h, err);
    more = accept(&s, ',');
    if (!status && !more && !accept(&s, '}'))
      status = error_set(err, ASSAY_ERR_SYNTAX, "the header's dictionary does not end");
  }
  if (!status && !(h->descr[0] && h->has_shape && h->has_order))
    status = error_set(err, ASSAY_ERR_SYNTAX, "the header lacks descr, fortran_order or shape");
  if (!status && h->fortran && h->shape.rank > 1)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED, "it is in Fortran order; save numpy.ascontiguousarray(...)");
  return status;
}

static enum assay_status read_type(const char *descr, enum dtype *out, struct assay_error *err) {
  for (int i = 0; i < N_TYPES; i++)
    if (strcmp(descr, types[i].descr) == 0) {
      *out = types[i].dtype;
      return ASSAY_OK;
    }
  return error_set(err, ASSAY_ERR_UNSUPPORTED,
                   "elements of type '%s' are not read; save little-endian float16/32/64, integers or bool", descr);
}

// Reads what follows the header's length.
static enum assay_status read_body(const char *bytes, size_t len, size_t header_bytes, struct array *out,
                                   struct assay_error *err) {
  struct header h;
  enum dtype dtype = DTYPE_UNDEFINED;
  if (header_bytes > len || header_bytes > MAX_HEADER_BYTES)
    return error_set(err, ASSAY_ERR_SYNTAX, "the header's length of %zu bytes cannot be right", header_bytes);
  enum assay_status status = read_header(bytes, header_bytes, &h, err);
  if (!status)
    status = read_type(h.descr, &dtype, err);
  if (status)
    return status;
  int64_t n = shape_count(&h.shape);
  if (len - header_bytes != (size_t)n * dtype_bytes(dtype))
    return error_set(err, ASSAY_ERR_SYNTAX, "%lld elements need %zu bytes, but %zu are there", (long long)n,
                     (size_t)n * dtype_bytes(dtype), len - header_bytes);
  status = array_create(dtype, &h.shape, out, err);
  if (status)
    return status;
  if (dtype_is_float(dtype))
    dtype_to_f64(dtype, bytes + header_bytes, n, out->f64);
  else
    dtype_to_i64(dtype, bytes + header_bytes, n, out->i64);
  return ASSAY_OK;
}

enum assay_status npy_read(const void *bytes, size_t len, const char *name, struct array *out,
                           struct assay_error *err) {
  const unsigned char *b = bytes;
  enum assay_status status;
  if (len < HEAD_BYTES + 2 || memcmp(b, MAGIC, MAGIC_BYTES) != 0)
    status = error_set(err, ASSAY_ERR_SYNTAX, "this is not a .npy file (numpy.save writes one)");
  else if (b[6] < 1 || b[6] > 3)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED, "version %d of .npy is not known", b[6]);
  else if (b[6] == 1)
    status = read_body((const char *)b + HEAD_BYTES, len - HEAD_BYTES, (size_t)b[8] | (size_t)b[9] << 8, out, err);
  else
    status = read_body((const char *)b + HEAD_BYTES + 2, len - HEAD_BYTES - 2,
                       (size_t)b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24, out, err);
  return status ? error_prefix(err, status, "%s: ", name) : ASSAY_OK;
}

enum dtype npy_dtype(enum dtype t) {
  for (int i = 0; i < N_TYPES; i++)
    if (types[i].dtype == t)
      return t;
  return DTYPE_FLOAT;
}

static void write_header(const struct array *a, const char *descr, struct buf *out) {
  struct buf text = {0};
  buf_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int i = 0; i < a->shape.rank; i++)
    buf_printf(&text, "%s%lld%s", i ? ", " : "", (long long)a->shape.dims[i], a->shape.rank == 1 ? "," : "");
  buf_puts(&text, "), }");
  size_t total = (HEAD_BYTES + text.len + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, n = total - HEAD_BYTES;
  const unsigned char head[4] = {1, 0, n & 255, n >> 8 & 255};
  buf_append(out, MAGIC, MAGIC_BYTES);
  buf_append(out, head, sizeof head);
  buf_append(out, buf_str(&text), text.len);
  for (size_t i = text.len; i + 1 < n; i++)
    buf_append(out, " ", 1);
  buf_append(out, "\n", 1);
  out->failed = out->failed || text.failed;
  buf_release(&text);
}

enum assay_status npy_write(const struct array *a, enum dtype as, struct buf *out, struct assay_error *err) {
  const char *descr = NULL;
  for (int i = 0; i < N_TYPES; i++)
    if (types[i].dtype == as)
      descr = types[i].descr;
  if (!descr || dtype_is_float(as) != dtype_is_float(a->dtype))
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "a .npy file cannot store %s as %s", dtype_name(a->dtype),
                     dtype_name(as));
  char *part = base_alloc(WRITE_ELEMENTS * sizeof(double));
  if (!part)
    return error_nomem(err, "a .npy file");
  write_header(a, descr, out);
  int64_t n = shape_count(&a->shape);
  for (int64_t i = 0; i < n && !out->failed; i += WRITE_ELEMENTS) {
    int64_t m = n - i < WRITE_ELEMENTS ? n - i : WRITE_ELEMENTS;
    if (dtype_is_float(as))
      dtype_from_f64(as, a->f64 + i, m, part);
    else
      dtype_from_i64(as, a->i64 + i, m, part);
    buf_append(out, part, (size_t)m * dtype_bytes(as));
  }
  base_free(part);
  return buf_status(out, err);
}
