// SPDX-License-Identifier: Apache-2.0
// Reading and writing ONNX models: the textual syntax of onnx.parser ("ONNX Textual Syntax", docs/Syntax.md of the ONNX
// project) and binary ModelProto files, into and out of graph.h's model. The only files that know about protobuf are
// onnx/binary*.c.
#ifndef ONNX_ONNX_H
#define ONNX_ONNX_H

#include <stddef.h>

#include "base/buf.h"
#include "graph/graph.h"

// Limits for models. Beyond a limit: ASSAY_ERR_LIMIT.
enum {
  ONNX_MAX_NODES = 1 << 20,
  ONNX_MAX_VALUES = 1 << 21,
  ONNX_MAX_DEPTH = 64, // nesting of messages, graphs and functions
  ONNX_MAX_NAME_BYTES = 4096,
};
#define ONNX_MAX_FILE_BYTES ((size_t)4 << 30)
#define ONNX_MAX_ARENA_BYTES ((size_t)8 << 30)

// Each reader fills *m (zero-initialised by the reader) with the model as written and its flat form, verified. On
// failure *m is released and the message names `name` and the place: line and column in text, the path inside the model
// in binary
// ("graph.node[3]: ..."). ASSAY_ERR_SYNTAX, _INVALID, _UNSUPPORTED (unknown operator, dtype or IR version; a subgraph
// attribute), _LIMIT, _NOMEM.
enum assay_status onnx_parse_text(const char *text, size_t len, const char *name, struct model *m,
                                  struct assay_error *err);
enum assay_status onnx_read_binary(const void *bytes, size_t len, const char *name, struct model *m,
                                   struct assay_error *err);

// A graph alone, without the model header, as in the operator table's examples:
// "(float[2,3] x) => (float[2,3] y) { ... }". Uses the newest opsets.
enum assay_status onnx_parse_graph(const char *text, size_t len, const char *name, struct model *m,
                                   struct assay_error *err);

// The model as written, in text or binary. Text of anything that was read parses again to an equal model.
enum assay_status onnx_print_text(const struct model *m, struct buf *out, struct assay_error *err);
enum assay_status onnx_write_binary(const struct model *m, struct buf *out, struct assay_error *err);

// A TensorProto file (the .pb files of ONNX's backend tests). The tensor lives in the arena.
enum assay_status onnx_read_tensor(const void *bytes, size_t len, const char *name, struct arena *arena,
                                   struct tensor *out, struct assay_error *err);

// Expands model-local functions and resolves operators: m->graph into m->flat. The readers call it.
enum assay_status graph_inline(struct model *m, struct assay_error *err);

#endif
