// SPDX-License-Identifier: Apache-2.0
// Binary models: honest ones from a second implementation of the wire format (a few lines below), and hostile ones.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/onnx.h"
#include "onnx_samples.h"

// Wire bytes by hand.
struct wire {
  unsigned char bytes[4096];
  size_t n;
};

static void put_varint(struct wire *w, uint64_t v) {
  do {
    w->bytes[w->n++] = (unsigned char)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));
    v >>= 7;
  } while (v);
}
static void put_int(struct wire *w, int field, int64_t v) {
  put_varint(w, (uint64_t)field << 3);
  put_varint(w, (uint64_t)v);
}
static void put_bytes(struct wire *w, int field, const void *data, size_t n) {
  put_varint(w, (uint64_t)field << 3 | 2);
  put_varint(w, n);
  memcpy(w->bytes + w->n, data, n);
  w->n += n;
}
static void put_string(struct wire *w, int field, const char *s) {
  put_bytes(w, field, s, strlen(s));
}
static void put_message(struct wire *w, int field, const struct wire *m) {
  put_bytes(w, field, m->bytes, m->n);
}

enum { MODEL_IR = 1, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_TRAINING = 20 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_SPARSE = 15 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_OVERLOAD = 8 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_INT32 = 5, TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_EXTERNAL = 13 };

static struct wire value_info(const char *name, int elem_type, int64_t dim) {
  struct wire w = {0}, type = {0}, tensor = {0}, shape = {0}, dimension = {0};
  put_int(&dimension, 1, dim);
  put_message(&shape, 1, &dimension);
  put_int(&tensor, 1, elem_type);
  put_message(&tensor, 2, &shape);
  put_message(&type, 1, &tensor);
  put_string(&w, 1, name);
  put_message(&w, 2, &type);
  return w;
}

// x -> op -> y with an attribute and an initializer of one's choice; either may be NULL.
static struct wire graph_of(const char *op, const struct wire *attribute, const struct wire *initializer) {
  struct wire g = {0}, node = {0}, x = value_info("x", 1, 2), y = value_info("y", 1, 2);
  put_string(&node, NODE_INPUT, "x");
  put_string(&node, NODE_OUTPUT, "y");
  put_string(&node, NODE_TYPE, op);
  if (attribute)
    put_message(&node, NODE_ATTRIBUTE, attribute);
  put_message(&g, GRAPH_NODE, &node);
  put_string(&g, GRAPH_NAME, "g");
  if (initializer)
    put_message(&g, GRAPH_INITIALIZER, initializer);
  put_message(&g, GRAPH_INPUT, &x);
  put_message(&g, GRAPH_OUTPUT, &y);
  return g;
}

static struct wire model_of(const struct wire *graph) {
  struct wire m = {0}, opset = {0};
  put_string(&opset, 1, "");
  put_int(&opset, 2, 16);
  put_int(&m, MODEL_IR, 8);
  put_message(&m, MODEL_OPSET, &opset);
  put_message(&m, MODEL_GRAPH, graph);
  return m;
}

static struct wire float_attribute(const char *name, float v) {
  struct wire a = {0};
  put_string(&a, 1, name);
  put_varint(&a, 2 << 3 | 5);
  memcpy(a.bytes + a.n, &v, 4);
  a.n += 4;
  put_int(&a, 20, 1);
  return a;
}

static void expect(const struct wire *w, enum assay_status want, const char *message) {
  struct model m;
  struct assay_error err = {0};
  enum assay_status status = onnx_read_binary(w->bytes, w->n, "n", &m, &err);
  if (!status)
    model_release(&m);
  if (status != want || strcmp(err.message, message) != 0)
    fail_msg("said (%d) %s\nnot  (%d) %s", status, err.message, want, message);
}

static void test_honest(void **state) {
  (void)state;
  struct wire a = float_attribute("alpha", 0.25f), g = graph_of("LeakyRelu", &a, NULL), w = model_of(&g);
  struct model m;
  struct assay_error err = {0};
  assert_int_equal(onnx_read_binary(w.bytes, w.n, "n", &m, &err), ASSAY_OK);
  assert_int_equal(m.flat.n_nodes, 1);
  assert_true(node_float(&m.flat.nodes[0], "alpha", 0) == 0.25);
  assert_int_equal(m.graph.values[m.graph.inputs[0]].dims[0].value, 2);
  assert_string_equal(m.graph.nodes[0].at.path, "graph.node[0]");
  assert_string_equal(m.graph.nodes[0].attrs[0].at.path, "graph.node[0].attribute[\"alpha\"]");
  model_release(&m);
}

static void test_messages(void **state) {
  (void)state;
  struct wire g, w, a = float_attribute("alpha", 1), b = float_attribute("nonsense", 1), sub = {0};
  g = graph_of("Nonsense", NULL, NULL), w = model_of(&g);
  expect(&w, ASSAY_ERR_UNSUPPORTED,
         "n: graph.node[0]: operator 'Nonsense' of domain \"\" is not known in opset version 16");
  g = graph_of("LeakyRelu", &b, NULL), w = model_of(&g);
  expect(&w, ASSAY_ERR_INVALID,
         "n: graph.node[0].attribute[\"nonsense\"]: LeakyRelu (since version 6) has no attribute nonsense");
  put_string(&sub, 1, "body");
  put_int(&sub, 20, 5);
  g = graph_of("Loop", &sub, NULL), w = model_of(&g);
  expect(&w, ASSAY_ERR_UNSUPPORTED,
         "n: graph.node[0].attribute[\"body\"]: graphs as attributes (If, Loop, Scan) are not supported");
  g = graph_of("Relu", NULL, NULL);
  put_message(&g, GRAPH_SPARSE, &(struct wire){0});
  w = model_of(&g);
  expect(&w, ASSAY_ERR_UNSUPPORTED, "n: graph: sparse initializers are not supported");
  g = graph_of("Relu", NULL, NULL), w = model_of(&g);
  put_message(&w, MODEL_TRAINING, &(struct wire){0});
  expect(&w, ASSAY_ERR_UNSUPPORTED, "n: the model: training_info is not supported");
  struct wire strings = value_info("s", 8, 1);
  g = graph_of("Relu", NULL, NULL);
  put_message(&g, GRAPH_INPUT, &strings);
  w = model_of(&g);
  expect(&w, ASSAY_ERR_UNSUPPORTED, "n: graph.input[1] (\"s\"): tensors of type string are not supported");
  struct wire negative = value_info("s", 1, -1);
  g = graph_of("Relu", NULL, NULL);
  put_message(&g, GRAPH_INPUT, &negative);
  w = model_of(&g);
  expect(&w, ASSAY_ERR_INVALID, "n: graph.input[1] (\"s\"): dimension 0 is -1; dimensions are not negative");
  struct wire node = {0};
  put_string(&node, NODE_INPUT, "x");
  put_string(&node, NODE_OUTPUT, "z");
  put_string(&node, NODE_TYPE, "Relu");
  put_string(&node, NODE_OVERLOAD, "v2");
  g = graph_of("LeakyRelu", &a, NULL);
  put_message(&g, GRAPH_NODE, &node);
  w = model_of(&g);
  expect(&w, ASSAY_ERR_UNSUPPORTED,
         "n: graph.node[1]: overloads of functions are not supported; give the function a name of its own");
}

// A tensor of dtype t with two dims-entries at most; nothing else.
static struct wire tensor_of(int t, int64_t dim) {
  struct wire w = {0};
  put_int(&w, TENSOR_DIMS, dim);
  put_int(&w, TENSOR_TYPE, t);
  put_string(&w, TENSOR_NAME, "w");
  return w;
}

static void expect_tensor(const struct wire *w, enum assay_status want, const char *message) {
  struct arena arena = {0};
  struct tensor t;
  struct assay_error err = {0};
  enum assay_status status = onnx_read_tensor(w->bytes, w->n, "t", &arena, &t, &err);
  arena_release(&arena);
  if (status != want || strcmp(err.message, message) != 0)
    fail_msg("said (%d) %s\nnot  (%d) %s", status, err.message, want, message);
}

static void test_tensors(void **state) {
  (void)state;
  struct wire w = tensor_of(1, 2);
  put_bytes(&w, TENSOR_RAW, "\0\0\x80\x3F\0\0\0", 7);
  expect_tensor(&w, ASSAY_ERR_INVALID, "t: the tensor: raw_data has 7 bytes, but float[2] needs 8");
  w = tensor_of(1, 2);
  expect_tensor(&w, ASSAY_ERR_INVALID, "t: the tensor: float_data has 0 elements, but float[2] needs 2");
  w = tensor_of(1, (int64_t)1 << 62);
  expect_tensor(&w, ASSAY_ERR_LIMIT,
                "t: the tensor: shape [4611686018427387904] is negative or has more than 2^40 elements");
  w = tensor_of(1, -2);
  expect_tensor(&w, ASSAY_ERR_LIMIT, "t: the tensor: shape [-2] is negative or has more than 2^40 elements");
  w = tensor_of(29, 2);
  expect_tensor(&w, ASSAY_ERR_UNSUPPORTED, "t: the tensor: data type number 29 is not supported");
  w = tensor_of(22, 3);
  put_bytes(&w, TENSOR_RAW, "\x21\x03\x04", 3);
  expect_tensor(&w, ASSAY_ERR_INVALID, "t: the tensor: raw_data has 3 numbers, but int4[3] needs 2");
  w = tensor_of(25, 5);
  put_int(&w, TENSOR_INT32, 255);
  put_int(&w, TENSOR_INT32, 256);
  expect_tensor(&w, ASSAY_ERR_INVALID, "t: the tensor: number 1 of int32_data is 256, which is not a byte");
  w = tensor_of(27, 1);
  put_int(&w, TENSOR_INT32, 64);
  expect_tensor(&w, ASSAY_ERR_INVALID, "t: the tensor: element 0 is 64, which does not fit in float6e2m3 (0..63)");
  w = tensor_of(8, 2);
  expect_tensor(&w, ASSAY_ERR_UNSUPPORTED, "t: the tensor: tensors of type string are not supported");
  w = tensor_of(1, 2);
  put_string(&w, TENSOR_EXTERNAL, "");
  expect_tensor(&w, ASSAY_ERR_UNSUPPORTED,
                "t: the tensor: tensors in external files are not supported; store them in the model");
  w = tensor_of(10, 1);
  put_int(&w, TENSOR_INT32, 65536);
  expect_tensor(&w, ASSAY_ERR_INVALID, "t: the tensor: element 0 is 65536, which does not fit in float16 (0..65535)");
  w = tensor_of(3, 1);
  put_int(&w, TENSOR_INT32, -129);
  expect_tensor(&w, ASSAY_ERR_INVALID, "t: the tensor: element 0 is -129, which does not fit in int8 (-128..127)");
  w = tensor_of(1, 1);
  put_int(&w, TENSOR_INT32, 1);
  expect_tensor(&w, ASSAY_ERR_INVALID,
                "t: the tensor: elements are given in several places; float tensors have float_data or raw_data");
}

static void test_tensor_values(void **state) {
  (void)state;
  struct arena arena = {0};
  struct tensor t;
  struct assay_error err = {0};
  struct wire w = tensor_of(3, 3);
  for (int i = -1; i <= 1; i++)
    put_int(&w, TENSOR_INT32, i);
  assert_int_equal(onnx_read_tensor(w.bytes, w.n, "t", &arena, &t, &err), ASSAY_OK);
  assert_memory_equal(t.data, "\xFF\x00\x01", 3);
  assert_string_equal(t.name, "w");
  w = tensor_of(10, 2); // float16 as bit patterns, packed
  put_bytes(&w, TENSOR_INT32, "\x80\x78\xFF\xFF\x03", 5);
  assert_int_equal(onnx_read_tensor(w.bytes, w.n, "t", &arena, &t, &err), ASSAY_OK);
  assert_memory_equal(t.data, "\x00\x3C\xFF\xFF", 4);
  w = tensor_of(22, 3); // int4: two a byte, the first one low; signs extended
  put_bytes(&w, TENSOR_RAW, "\x7F\x08", 2);
  assert_int_equal(onnx_read_tensor(w.bytes, w.n, "t", &arena, &t, &err), ASSAY_OK);
  assert_memory_equal(t.data, "\xFF\x07\xF8", 3);
  w = tensor_of(21, 2); // uint4, through numbers
  put_int(&w, TENSOR_INT32, 0xF8);
  assert_int_equal(onnx_read_tensor(w.bytes, w.n, "t", &arena, &t, &err), ASSAY_OK);
  assert_memory_equal(t.data, "\x08\x0F", 2);
  w = tensor_of(26, 5); // int2: four a byte
  put_bytes(&w, TENSOR_RAW, "\xE4\x02", 2);
  assert_int_equal(onnx_read_tensor(w.bytes, w.n, "t", &arena, &t, &err), ASSAY_OK);
  assert_memory_equal(t.data, "\x00\x01\xFE\xFF\xFE", 5);
  w = tensor_of(28, 5); // float6e3m2: a stream of bits; 1, 2, 3, 63, 32
  put_bytes(&w, TENSOR_RAW, "\x81\x30\xFC\x20", 4);
  assert_int_equal(onnx_read_tensor(w.bytes, w.n, "t", &arena, &t, &err), ASSAY_OK);
  assert_memory_equal(t.data, "\x01\x02\x03\x3F\x20", 5);
  w = tensor_of(28, 2); // and an element a number
  put_int(&w, TENSOR_INT32, 63);
  put_int(&w, TENSOR_INT32, 1);
  assert_int_equal(onnx_read_tensor(w.bytes, w.n, "t", &arena, &t, &err), ASSAY_OK);
  assert_memory_equal(t.data, "\x3F\x01", 2);
  w = tensor_of(9, 3); // raw bool: anything but 0 is 1
  put_bytes(&w, TENSOR_RAW, "\x00\x02\xFF", 3);
  assert_int_equal(onnx_read_tensor(w.bytes, w.n, "t", &arena, &t, &err), ASSAY_OK);
  assert_memory_equal(t.data, "\x00\x01\x01", 3);
  arena_release(&arena);
}

static void test_wire_errors(void **state) {
  (void)state;
  struct wire w = {0};
  expect(&w, ASSAY_ERR_INVALID, "n: the model: the model does not say its ir_version");
  w = (struct wire){.bytes = {0x0B}, .n = 1};
  expect(&w, ASSAY_ERR_SYNTAX,
         "n: ir_version: the field has wire type 3 where ONNX has 0; this is not an ONNX file (at byte 1)");
  w = (struct wire){.bytes = {0x3A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F}, .n = 6};
  expect(&w, ASSAY_ERR_SYNTAX,
         "n: graph: 4294967295 bytes are announced, but only 0 follow; the file is cut off or damaged (at byte 6)");
  w = (struct wire){.bytes = {0x08, 0x80}, .n = 2};
  expect(&w, ASSAY_ERR_SYNTAX, "n: ir_version: the data ends inside a number, or it is not an ONNX file (at byte 1)");
  w = (struct wire){.bytes = {0x3A, 0, 0x3A, 0}, .n = 4};
  expect(&w, ASSAY_ERR_INVALID, "n: graph: the field occurs twice (at byte 3)");
  // The second attribute of the third node breaks off.
  struct wire g = {0}, node = {0}, fine = float_attribute("a", 1), broken = {.bytes = {0x0A, 5, 'x'}, .n = 3};
  put_message(&node, NODE_ATTRIBUTE, &fine);
  put_message(&node, NODE_ATTRIBUTE, &broken);
  put_message(&g, GRAPH_NODE, &(struct wire){0});
  put_message(&g, GRAPH_NODE, &(struct wire){0});
  put_message(&g, GRAPH_NODE, &node);
  w = (struct wire){0};
  put_message(&w, MODEL_GRAPH, &g);
  expect(&w, ASSAY_ERR_SYNTAX,
         "n: graph.node[2].attribute[1].name: 5 bytes are announced, but only 1 follow; the file is cut off or damaged "
         "(at byte 25)");
}

// The bomb that overflows protobuf-c's stack: a graph in an attribute of a node of a graph in an attribute of ...
static void test_deep_nesting(void **state) {
  (void)state;
  enum { DEPTH = 60000, ROOM = 16 * DEPTH };
  unsigned char *bytes = base_alloc(ROOM);
  size_t at = ROOM; // built from the inside out, backwards
  assert_non_null(bytes);
  for (int i = 0; i < DEPTH; i++) {
    static const unsigned char tags[] = {0x0A, 0x2A, 0x32}; // GraphProto.node, NodeProto.attribute, AttributeProto.g
    size_t len = ROOM - at;
    unsigned char prefix[10];
    size_t n = 0;
    for (size_t v = len; v || !n; v >>= 7)
      prefix[n++] = (unsigned char)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));
    at -= n;
    memcpy(bytes + at, prefix, n);
    bytes[--at] = i + 1 == DEPTH ? 0x3A : tags[(DEPTH - 2 - i) % 3];
  }
  struct model m;
  struct assay_error err = {0};
  assert_int_equal(onnx_read_binary(bytes + at, ROOM - at, "bomb", &m, &err), ASSAY_ERR_LIMIT);
  assert_non_null(strstr(err.message, "messages are nested more than 64 deep"));
  assert_non_null(strstr(err.message, "graph.node[0].attribute[0].g.node[0]"));
  base_free(bytes);
}

// Two bytes make a message of a hundred: unpacking stops at a multiple of the file.
static void test_memory_is_bounded(void **state) {
  (void)state;
  enum { N = 1 << 22 };
  struct wire head = {0};
  unsigned char *bytes = base_alloc(N + 16);
  assert_non_null(bytes);
  put_varint(&head, MODEL_GRAPH << 3 | 2);
  put_varint(&head, N);
  memcpy(bytes, head.bytes, head.n);
  for (size_t i = 0; i < N; i += 2)
    memcpy(bytes + head.n + i, "\x0A\x00", 2); // an empty node
  struct model m;
  struct assay_error err = {0};
  assert_int_not_equal(onnx_read_binary(bytes, head.n + N, "many", &m, &err), ASSAY_OK);
  base_free(bytes);
}

static void test_truncated_everywhere(void **state) {
  (void)state;
  struct model m;
  struct buf b;
  struct assay_error err = {0};
  buf_init(&b);
  assert_int_equal(onnx_parse_text(onnx_samples[1], strlen(onnx_samples[1]), "s", &m, &err), ASSAY_OK);
  assert_int_equal(onnx_write_binary(&m, &b, &err), ASSAY_OK);
  model_release(&m);
  for (size_t n = 0; n < b.len; n++) {
    char *copy = base_strndup(b.data, n); // of its own, so that a sanitizer sees a read after the end
    assert_non_null(copy);
    if (onnx_read_binary(copy, n, "cut", &m, &err) == ASSAY_OK) {
      assert_true(n > b.len / 2); // between two of the model's own fields; at least the graph is there
      model_release(&m);
    }
    base_free(copy);
  }
  // And every byte wrong once.
  for (size_t n = 0; n < b.len; n++) {
    unsigned char *copy = (unsigned char *)base_strndup(b.data, b.len);
    assert_non_null(copy);
    copy[n] ^= (unsigned char)(1 + n % 255);
    if (onnx_read_binary(copy, b.len, "bad", &m, &err) == ASSAY_OK)
      model_release(&m);
    base_free(copy);
  }
  buf_release(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_honest),
      cmocka_unit_test(test_messages),
      cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_tensor_values),
      cmocka_unit_test(test_wire_errors),
      cmocka_unit_test(test_deep_nesting),
      cmocka_unit_test(test_memory_is_bounded),
      cmocka_unit_test(test_truncated_everywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
