// SPDX-License-Identifier: Apache-2.0
// Binary ONNX, shared between its files. Internal to src/onnx.
#ifndef ONNX_BINARY_H
#define ONNX_BINARY_H

#include "onnx/build.h"
#include "onnx.pb-c.h"

// Raw data is little-endian, as is this machine: elements are copied as they are.
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the readers copy little-endian bytes");

// Walks the wire bytes of a message along its schema before protobuf-c sees them: every length and tag in its bounds,
// at most ONNX_MAX_DEPTH messages inside each other. protobuf-c recurses without a limit and gives no reason when it
// refuses a file. Errors name the path ("graph.node[3].attribute[0]"), beginning with `root`.
enum assay_status binary_scan(const ProtobufCMessageDescriptor *d, const uint8_t *bytes, size_t len, const char *root,
                              struct assay_error *err);

// The memory of one unpacking. It is limited to a multiple of the input's length, because the bytes may be hostile.
struct binary_memory {
  ProtobufCAllocator allocator;
  size_t left_bytes;
  bool over, failed;
};

// binary_scan, then protobuf-c. Free *out with protobuf_c_message_free_unpacked and &mem->allocator.
enum assay_status binary_unpack(const ProtobufCMessageDescriptor *d, const uint8_t *bytes, size_t len, const char *root,
                                struct binary_memory *mem, ProtobufCMessage **out, struct assay_error *err);

// The varint at the beginning of bytes: its length, or 0 when it does not end there.
size_t binary_varint(const uint8_t *bytes, size_t len, uint64_t *out);

// A field that the schema in use does not know, or NULL. With its length prefix, if it has one.
const ProtobufCMessageUnknownField *binary_unknown(const ProtobufCMessage *m, uint32_t tag, size_t from);

// binary_tensor.c
enum assay_status binary_tensor(struct arena *a, const Onnx__TensorProto *p, const struct source_location *at,
                                struct tensor *out, struct assay_error *err);
// Elements of less than 8 bits as files have them: how many bytes, and these.
size_t binary_packed_bytes(const struct tensor_type *t);
void binary_pack(const struct tensor *t, unsigned char *packed);

// binary_attr.c
enum assay_status binary_attr(struct arena *a, const Onnx__AttributeProto *p, const struct source_location *at,
                              struct attr *out, struct assay_error *err);
// Their names must differ. parent is the path of what they belong to.
enum assay_status binary_attrs(struct arena *a, Onnx__AttributeProto *const *p, size_t n, const char *parent,
                               struct attr **out, int *n_out, struct assay_error *err);

// "PARENT.suffix" in the arena, as a place.
enum assay_status binary_place(struct arena *a, struct source_location *out, struct assay_error *err, const char *fmt,
                               ...) ASSAY_PRINTF(4, 5);

#endif
