// SPDX-License-Identifier: Apache-2.0
// Checking wire bytes, and unpacking those that passed. Wire format:
// developers.google.com/protocol-buffers/docs/encoding.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/binary.h"

enum { MAX_FIELDS = 32 }; // of one message in ONNX's schema

// Unpacked messages are larger than their bytes (a node of ten bytes is a struct of some 150), but not by more.
enum { MEMORY_FACTOR = 128, MEMORY_FLOOR = 1 << 20 };

struct level {
  const ProtobufCMessageDescriptor *d;
  size_t end;                            // offset after the message
  const ProtobufCFieldDescriptor *field; // where the walk is
  unsigned counts[MAX_FIELDS];           // occurrences of each field so far
};

struct scan {
  const uint8_t *bytes;
  size_t pos;
  int depth;
  struct level levels[ONNX_MAX_DEPTH];
  const char *root;
  struct assay_error *err;
};

// Fields of a descriptor are an array, so a pointer into it is an index.
static unsigned *field_count(struct level *l) {
  return &l->counts[l->field - l->d->fields];
}

// Where the walk is: "graph.node[3].attribute[0]".
static enum assay_status scan_error(struct scan *s, enum assay_status status, const char *fmt, ...) {
  char message[256], path[512];
  int n = snprintf(path, sizeof path, "%s", s->root);
  for (int i = 0; i < s->depth && n < (int)sizeof path; i++) {
    struct level *l = &s->levels[i];
    if (!l->field)
      break;
    n += snprintf(path + n, sizeof path - (size_t)n, "%s%s", n ? "." : "", l->field->name);
    if (l->field->label == PROTOBUF_C_LABEL_REPEATED && n < (int)sizeof path)
      n += snprintf(path + n, sizeof path - (size_t)n, "[%u]", *field_count(l));
  }
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return error_set(s->err, status, "%s: %s (at byte %zu)", n ? path : "the model", message, s->pos);
}

// Little-endian groups of seven bits, the top bit saying that more follow; ten bytes hold 64 bits.
size_t binary_varint(const uint8_t *bytes, size_t len, uint64_t *out) {
  uint64_t v = 0;
  for (size_t i = 0; i < len && i < 10; i++) {
    v |= (uint64_t)(bytes[i] & 0x7F) << (7 * i);
    if (!(bytes[i] & 0x80)) {
      *out = v;
      return i + 1;
    }
  }
  return 0;
}

static enum assay_status scan_varint(struct scan *s, uint64_t *out) {
  size_t n = binary_varint(s->bytes + s->pos, s->levels[s->depth - 1].end - s->pos, out);
  if (!n)
    return scan_error(s, ASSAY_ERR_SYNTAX, "the data ends inside a number, or it is not an ONNX file");
  s->pos += n;
  return ASSAY_OK;
}

enum wire { WIRE_VARINT, WIRE_8_BYTES, WIRE_LENGTH, WIRE_START_GROUP, WIRE_END_GROUP, WIRE_4_BYTES };

// What a field of this type must look like on the wire, unless it is packed.
static enum wire wire_of(ProtobufCType t) {
  switch (t) {
  case PROTOBUF_C_TYPE_SFIXED32:
  case PROTOBUF_C_TYPE_FIXED32:
  case PROTOBUF_C_TYPE_FLOAT:
    return WIRE_4_BYTES;
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_DOUBLE:
    return WIRE_8_BYTES;
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_BYTES:
  case PROTOBUF_C_TYPE_MESSAGE:
    return WIRE_LENGTH;
  default:
    return WIRE_VARINT;
  }
}

// A run of numbers without tags.
static enum assay_status scan_packed(struct scan *s, size_t end, enum wire wire) {
  size_t unit = wire == WIRE_8_BYTES ? 8 : 4;
  if (wire != WIRE_VARINT) {
    if ((end - s->pos) % unit != 0)
      return scan_error(s, ASSAY_ERR_SYNTAX, "a list of numbers has %zu bytes, which is not a multiple of %zu",
                        end - s->pos, unit);
    s->pos = end;
    return ASSAY_OK;
  }
  uint64_t ignored;
  for (size_t n; s->pos < end; s->pos += n) {
    n = binary_varint(s->bytes + s->pos, end - s->pos, &ignored);
    if (!n)
      return scan_error(s, ASSAY_ERR_SYNTAX, "a list of numbers ends inside a number");
  }
  return ASSAY_OK;
}

// Strings, bytes, packed numbers and messages. Only messages are entered, by the loop in binary_scan and not by
// recursion: this walk must not have the weakness that it guards against.
static enum assay_status scan_length(struct scan *s, const ProtobufCFieldDescriptor *f) {
  uint64_t len;
  TRY(scan_varint(s, &len));
  size_t room = s->levels[s->depth - 1].end - s->pos;
  if (len > room)
    return scan_error(s, ASSAY_ERR_SYNTAX,
                      "%llu bytes are announced, but only %zu follow; the file is cut off or "
                      "damaged",
                      (unsigned long long)len, room);
  if (len > INT32_MAX)
    return scan_error(s, ASSAY_ERR_LIMIT, "a field has more than 2 GiB");
  size_t end = s->pos + (size_t)len;
  if (!f || f->type == PROTOBUF_C_TYPE_BYTES) {
    s->pos = end;
    return ASSAY_OK;
  }
  if (f->type == PROTOBUF_C_TYPE_STRING) {
    if (len && memchr(s->bytes + s->pos, '\0', (size_t)len))
      return scan_error(s, ASSAY_ERR_INVALID, "a string contains a NUL byte");
    s->pos = end;
    return ASSAY_OK;
  }
  if (f->type != PROTOBUF_C_TYPE_MESSAGE)
    return scan_packed(s, end, wire_of(f->type));
  if (s->depth == ONNX_MAX_DEPTH)
    return scan_error(s, ASSAY_ERR_LIMIT, "messages are nested more than %d deep", ONNX_MAX_DEPTH);
  s->levels[s->depth++] = (struct level){.d = f->descriptor, .end = end};
  return ASSAY_OK;
}

// Groups (wire types 3 and 4) were deprecated before ONNX existed; protobuf-c refuses them too.
static enum assay_status scan_value(struct scan *s, enum wire wire) {
  uint64_t ignored;
  size_t fixed = wire == WIRE_8_BYTES ? 8 : 4;
  switch (wire) {
  case WIRE_VARINT:
    return scan_varint(s, &ignored);
  case WIRE_4_BYTES:
  case WIRE_8_BYTES:
    if (s->levels[s->depth - 1].end - s->pos < fixed)
      return scan_error(s, ASSAY_ERR_SYNTAX, "the data ends inside a number");
    s->pos += fixed;
    return ASSAY_OK;
  case WIRE_LENGTH:
    return scan_length(s, s->levels[s->depth - 1].field);
  default:
    return scan_error(s, ASSAY_ERR_SYNTAX, "wire type %d is not one of ONNX's; this is not an ONNX file", (int)wire);
  }
}

// One key and its value. Fields unknown to the schema are stepped over, as every protobuf reader does: they are how
// newer files stay readable. Those that would change a meaning are looked for by the readers (binary_unknown).
static enum assay_status scan_field(struct scan *s) {
  struct level *l = &s->levels[s->depth - 1];
  uint64_t key;
  l->field = NULL;
  TRY(scan_varint(s, &key));
  enum wire wire = (enum wire)(key & 7);
  if (key >> 3 == 0 || key >> 3 >= 1u << 29)
    return scan_error(s, ASSAY_ERR_SYNTAX, "field number %llu is impossible; this is not an ONNX file",
                      (unsigned long long)(key >> 3));
  const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(l->d, (unsigned)(key >> 3));
  l->field = f;
  if (!f)
    return scan_value(s, wire);
  bool repeated = f->label == PROTOBUF_C_LABEL_REPEATED;
  bool packed = repeated && wire == WIRE_LENGTH && wire_of(f->type) != WIRE_LENGTH;
  if (wire != wire_of(f->type) && !packed)
    return scan_error(s, ASSAY_ERR_SYNTAX, "the field has wire type %d where ONNX has %d; this is not an ONNX file",
                      (int)wire, (int)wire_of(f->type));
  // The format says that later ones are merged into the first; no writer does that, and merging is where parsers break.
  unsigned *count = field_count(l);
  if (!repeated && f->type == PROTOBUF_C_TYPE_MESSAGE && *count)
    return scan_error(s, ASSAY_ERR_INVALID, "the field occurs twice");
  enum assay_status status = scan_value(s, wire);
  // While a message is open, the count is its own index; binary_scan counts it when it ends.
  if (!status && (f->type != PROTOBUF_C_TYPE_MESSAGE))
    ++*count;
  return status;
}

enum assay_status binary_scan(const ProtobufCMessageDescriptor *d, const uint8_t *bytes, size_t len, const char *root,
                              struct assay_error *err) {
  struct scan s = {.bytes = bytes, .depth = 1, .root = root, .err = err};
  s.levels[0] = (struct level){.d = d, .end = len};
  while (s.depth) {
    if (s.pos < s.levels[s.depth - 1].end) {
      TRY(scan_field(&s));
      continue;
    }
    if (--s.depth) // the message that ended was one of its parent's
      ++*field_count(&s.levels[s.depth - 1]);
  }
  return ASSAY_OK;
}

// Counts what was ever asked for, not what is held: free() does not say sizes, and the difference is small.
static void *memory_alloc(void *arg, size_t n) {
  struct binary_memory *mem = arg;
  if (n > mem->left_bytes) {
    mem->over = true;
    return NULL;
  }
  mem->left_bytes -= n;
  void *p = base_alloc(n);
  mem->failed = mem->failed || !p;
  return p;
}

static void memory_free(void *arg, void *p) {
  (void)arg;
  base_free(p);
}

enum assay_status binary_unpack(const ProtobufCMessageDescriptor *d, const uint8_t *bytes, size_t len, const char *root,
                                struct binary_memory *mem, ProtobufCMessage **out, struct assay_error *err) {
  TRY(binary_scan(d, bytes, len, root, err));
  size_t limit = len > (ONNX_MAX_ARENA_BYTES - MEMORY_FLOOR) / MEMORY_FACTOR ? ONNX_MAX_ARENA_BYTES
                                                                             : MEMORY_FLOOR + len * MEMORY_FACTOR;
  *mem = (struct binary_memory){.allocator = {.alloc = memory_alloc, .free = memory_free, .allocator_data = mem},
                                .left_bytes = limit};
  *out = protobuf_c_message_unpack(d, &mem->allocator, len, bytes);
  if (*out)
    return ASSAY_OK;
  if (mem->over)
    return error_set(err, ASSAY_ERR_LIMIT, "unpacking %zu bytes would take more than %zu bytes", len, limit);
  if (mem->failed)
    return error_nomem(err, "a model from its file");
  return error_set(err, ASSAY_ERR_SYNTAX, "%s cannot be decoded; it is damaged or no ONNX file",
                   *root ? root : "the model");
}

const ProtobufCMessageUnknownField *binary_unknown(const ProtobufCMessage *m, uint32_t tag, size_t from) {
  for (size_t i = from; i < m->n_unknown_fields; i++)
    if (m->unknown_fields[i].tag == tag)
      return &m->unknown_fields[i];
  return NULL;
}
