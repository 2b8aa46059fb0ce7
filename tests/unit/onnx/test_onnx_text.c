// SPDX-License-Identifier: Apache-2.0
// ONNX's textual syntax: what is read, what is refused and where, and what is printed.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx/onnx.h"
#include "skip.h"

#define HEADER "<ir_version: 10, opset_import: [\"\" : 23]>\n"

static void parse(const char *text, struct model *m) {
  struct assay_error err = {0};
  enum assay_status status = onnx_parse_text(text, strlen(text), "t", m, &err);
  if (status)
    fail_msg("%s\n%s", err.message, text);
}

static const struct value *value_named(const struct graph *g, const char *name) {
  for (int i = 0; i < g->n_values; i++)
    if (strcmp(g->values[i].name, name) == 0)
      return &g->values[i];
  fail_msg("no value %s", name);
  return NULL;
}

static void test_everything_once(void **state) {
  (void)state;
  struct model m;
  parse(
      "# a comment before the header\n"
      "<ir_version: 10, opset_import: [\"\" : 23, \"ai.assay\" : 1], producer_name: \"a \\\"b\\\" \\\\ \\n\",\n"
      " producer_version: \"1\", domain: \"d\", model_version: 7, doc_string: \"two\nlines\",\n"
      " metadata_props: [\"k\" : \"v\", \"assay.x\" : \"uniform(0, 1)\"]>\n"
      "\"a graph\" (float[N, 3, ?, \"n + 1\"] x, float s, double[] any, int64[2] z = {1,-2}) => (float[N, 3, ?] y, u)\n"
      "<float[2] w = {1.0, -2e-1}, float[A] t, bool[3] b = {0, 1, 1}, float16[2] h = {15360, 65535},\n"
      " uint64 big = {18446744073709551615}, float[3] sp = {inf, -INF, nan}, int8[0] none = {}> {\n"
      "  [first] t, , \"odd name\" = Split<axis: int = 1, num_outputs = 3>(x)  # and after a node\n"
      "  u = Clip(t, , s)\n"
      "  y = LeakyRelu(u) <alpha = 0.1>\n"
      "}\n",
      &m);
  assert_int_equal(m.ir_version, 10);
  assert_int_equal(m.n_opsets, 2);
  assert_string_equal(m.producer_name, "a \"b\" \\ n"); // a backslash makes the next character literal
  assert_string_equal(m.doc_string, "two\nlines");
  assert_int_equal(m.model_version, 7);
  assert_string_equal(model_property(&m, "assay.x"), "uniform(0, 1)");
  const struct graph *g = &m.graph;
  assert_string_equal(g->name, "a graph");
  assert_int_equal(g->n_inputs, 3); // z has a value, so it is not an input
  const struct value *x = &g->values[g->inputs[0]];
  assert_int_equal(x->rank, 4);
  assert_string_equal(x->dims[0].symbol, "N");
  assert_int_equal(x->dims[1].value, 3);
  assert_true(x->dims[2].value == -1 && !x->dims[2].symbol);
  assert_string_equal(x->dims[3].symbol, "n + 1");
  assert_int_equal(x->at.line, 6);
  assert_int_equal(g->values[g->inputs[1]].rank, 0);
  assert_int_equal(g->values[g->inputs[2]].rank, -1);
  assert_int_equal(g->values[g->inputs[2]].dtype, DTYPE_DOUBLE);
  assert_int_equal(((const int64_t *)value_named(g, "z")->constant->data)[1], -2);
  assert_true(((const float *)value_named(g, "w")->constant->data)[1] == -0.2f);
  assert_int_equal(((const uint16_t *)value_named(g, "h")->constant->data)[1], 65535);
  assert_true(*(const uint64_t *)value_named(g, "big")->constant->data == UINT64_MAX);
  const float *special = value_named(g, "sp")->constant->data;
  assert_true(special[0] == INFINITY && special[1] == -INFINITY && isnan(special[2]));
  assert_int_equal(shape_count(&value_named(g, "none")->constant->type.shape), 0);
  assert_int_equal(value_named(g, "t")->dims[0].value, -1);
  assert_string_equal(value_named(g, "t")->dims[0].symbol, "A");
  const struct node *split = &g->nodes[0];
  assert_string_equal(split->name, "first");
  assert_int_equal(split->n_outputs, 3);
  assert_int_equal(split->outputs[1], -1);
  assert_string_equal(g->values[split->outputs[2]].name, "odd name");
  assert_int_equal(node_int(split, "axis", 0), 1);
  assert_int_equal(split->at.line, 9);
  assert_int_equal(split->at.column, 3);
  assert_int_equal(g->nodes[1].n_inputs, 3);
  assert_int_equal(g->nodes[1].inputs[1], -1);
  assert_true(node_float(&g->nodes[2], "alpha", 0) == (double)0.1f);
  assert_int_equal(m.flat.n_nodes, 3);
  assert_non_null(m.flat.nodes[0].op);
  assert_int_equal(m.flat.nodes[0].opset, 23);
  model_release(&m);
}

static void test_attribute_forms(void **state) {
  (void)state;
  struct model m;
  parse(HEADER "g (float[2] x) => (float[2] y) {\n"
               "  a = Constant<value = float[2] {1, 2}>()\n"
               "  b = Constant<value = int64 named = {-9223372036854775808}>()\n"
               "  c = Constant<value_floats: floats = [1, 2.5, inf]>()\n"
               "  d = Constant<value_ints: ints = []>()\n"
               "  e = Constant<value_float: float = 3>()\n"
               "  f = Constant<value_float = -inf>()\n"
               "  g = Constant<value: tensor = float {-0.0}>()\n"
               "  y = Identity(x) }",
        &m);
  const struct node *n = m.graph.nodes;
  assert_true(n[0].attrs[0].type == ATTR_TENSOR && ((const float *)n[0].attrs[0].tensor->data)[1] == 2);
  assert_string_equal(n[1].attrs[0].tensor->name, "named");
  assert_true(*(const int64_t *)n[1].attrs[0].tensor->data == INT64_MIN);
  assert_true(n[2].attrs[0].type == ATTR_FLOATS && n[2].attrs[0].count == 3 && n[2].attrs[0].floats[0] == 1);
  assert_true(n[3].attrs[0].type == ATTR_INTS && n[3].attrs[0].count == 0);
  assert_true(node_float(&n[4], "value_float", 0) == 3);
  assert_true(node_float(&n[5], "value_float", 0) == -INFINITY);
  assert_true(signbit(*(const float *)n[6].attrs[0].tensor->data));
  model_release(&m);
}

static void test_bare_graph(void **state) {
  (void)state;
  static const char text[] = "(float[2,3] x) => (float[2,3] y) { y = Relu(x) }";
  struct model m;
  struct assay_error err = {0};
  assert_int_equal(onnx_parse_graph(text, strlen(text), "example", &m, &err), ASSAY_OK);
  assert_int_equal(m.flat.n_nodes, 1);
  model_release(&m);
  assert_int_equal(onnx_parse_graph("(float x) => (float x) {} z", 27, "example", &m, &err), ASSAY_ERR_SYNTAX);
  assert_string_equal(err.message,
                      "example: line 1, column 27: expected the end of the text after the graph, found 'z'");
}

// Every message says where and what: line and column count from 1, columns count characters, not bytes.
static void test_errors(void **state) {
  (void)state;
#define G "g (float[2] x) => (float[2] y) "
  static const struct {
    const char *text;
    enum assay_status status;
    const char *message;
  } cases[] = {
      {"", ASSAY_ERR_SYNTAX,
       "line 1, column 1: expected a model, which begins with '<ir_version: 10, opset_import: [\"\" : 23]>', found the "
       "end of the text"},
      {"<ir_version 10>", ASSAY_ERR_SYNTAX, "line 1, column 13: expected ':' after the key, found '10'"},
      {"<ir_version: x>", ASSAY_ERR_SYNTAX, "line 1, column 14: expected ir_version, an integer, found 'x'"},
      {"<ir_version: 99>", ASSAY_ERR_UNSUPPORTED,
       "line 1, column 14: ir_version 99 is outside 3..14, the versions known here"},
      {"<ir_version: 10, ir_version: 10>", ASSAY_ERR_SYNTAX, "line 1, column 18: 'ir_version' is given twice"},
      {"<ir_version: 10, nonsense: 10>", ASSAY_ERR_SYNTAX,
       "line 1, column 18: expected ir_version, opset_import, producer_name, producer_version, domain, model_version, "
       "doc_string or metadata_props, found 'nonsense'"},
      {"<opset_import: [\"\" : 23]> g () => () {}", ASSAY_ERR_INVALID,
       "line 1, column 27: the model does not say its ir_version"},
      {"<ir_version: 10, opset_import: [\"\" : 1000]>", ASSAY_ERR_UNSUPPORTED,
       "line 1, column 32: opset version 1000 of domain \"\" is newer than 28, the newest one known here"},
      {"<ir_version: 10, opset_import: [\"\" : 23, \"ai.onnx\" : 22]>", ASSAY_ERR_INVALID,
       "line 1, column 32: domain \"\" is imported twice"},
      {"<ir_version: 10, metadata_props: [\"a\" : \"b\", \"a\" : \"c\"]>", ASSAY_ERR_INVALID,
       "line 1, column 46: metadata key \"a\" is given twice"},
      {"<ir_version: 10, metadata_props: [\"a\" : b]>", ASSAY_ERR_SYNTAX,
       "line 1, column 41: expected a value in quotes, found 'b'"},
      {"<ir_version: 10, doc_string: \"unfinished", ASSAY_ERR_SYNTAX,
       "line 1, column 30: this string has no closing quote (\")"},
      {HEADER "g (float[2 x) => (float y) {}", ASSAY_ERR_SYNTAX,
       "line 2, column 12: expected ',' or ']' after a dimension, found 'x'"},
      {HEADER "g (float[-1] x) => (float y) {}", ASSAY_ERR_INVALID,
       "line 2, column 10: a dimension cannot be negative; write ? when it is unknown"},
      {HEADER "g (float[1,1,1,1,1,1,1,1,1] x) => (x) {}", ASSAY_ERR_LIMIT,
       "line 2, column 26: more than 8 dimensions are not supported"},
      {HEADER "g (string[2] x) => (x) {}", ASSAY_ERR_UNSUPPORTED, "line 2, column 4: type 'string' is not supported"},
      {HEADER "g (complex64[2] x) => (x) {}", ASSAY_ERR_UNSUPPORTED,
       "line 2, column 4: type 'complex64' is not supported"},
      {HEADER G "<int4[2] w = {7, 8}> {}", ASSAY_ERR_INVALID, "line 2, column 49: '8' does not fit in int4 (-8..7)"},
      {HEADER G "<float6e2m3[1] w = {64}> {}", ASSAY_ERR_INVALID,
       "line 2, column 52: '64' does not fit in float6e2m3 (0..63)"},
      {HEADER "g (seq(float[2]) x) => (x) {}", ASSAY_ERR_UNSUPPORTED,
       "line 2, column 4: type 'seq' is not supported: values are tensors here"},
      {HEADER "g (float x, float x) => (x) {}", ASSAY_ERR_INVALID,
       "line 2, column 19: 'x' is defined a second time (first at line 2, column 10)"},
      {HEADER "g (float x) (y) {}", ASSAY_ERR_SYNTAX,
       "line 2, column 13: expected '=>' between inputs and outputs, found '('"},
      {HEADER "g (float x) = > (y) {}", ASSAY_ERR_SYNTAX,
       "line 2, column 13: expected '=>' between inputs and outputs, found '='"},
      {HEADER G "<float[2] w = {1}> {}", ASSAY_ERR_INVALID,
       "line 2, column 48: float[2] has 2 elements, but 1 are given"},
      {HEADER G "<float[2] w = {1, 2, 3}> {}", ASSAY_ERR_INVALID,
       "line 2, column 53: float[2] has 2 elements; this is one too many"},
      {HEADER G "<float[99999999999] w = {1}> {}", ASSAY_ERR_INVALID,
       "line 2, column 58: float[99999999999] has 99999999999 elements, but 1 are given"},
      {HEADER G "<float[4000000000,4000000000] w = {1}> {}", ASSAY_ERR_LIMIT,
       "line 2, column 33: shape [4000000000,4000000000] is negative or has more than 2^40 elements"},
      {HEADER G "<float[N] w = {1}> {}", ASSAY_ERR_INVALID,
       "line 2, column 33: a tensor's value needs numbers for dimensions, not 'N'"},
      {HEADER G "<w = {1}> {}", ASSAY_ERR_SYNTAX,
       "line 2, column 33: 'w' has a value but no type; write one before it"},
      {HEADER G "<float[1] w = [\"location\" : \"f\"]> {}", ASSAY_ERR_UNSUPPORTED,
       "line 2, column 46: tensors in external files are not supported; store them in the model"},
      {HEADER G "<int8 w = {128}> {}", ASSAY_ERR_INVALID, "line 2, column 43: '128' does not fit in int8 (-128..127)"},
      {HEADER G "<bool w = {2}> {}", ASSAY_ERR_INVALID, "line 2, column 43: '2' does not fit in bool (0..1)"},
      {HEADER G "<uint32 w = {-1}> {}", ASSAY_ERR_INVALID,
       "line 2, column 45: '-1' does not fit in uint32 (0..4294967295)"},
      {HEADER G "<uint64 w = {-1}> {}", ASSAY_ERR_SYNTAX,
       "line 2, column 45: '-1' does not fit in an unsigned integer of 64 bits"},
      {HEADER G "<int64 w = {9223372036854775808}> {}", ASSAY_ERR_SYNTAX,
       "line 2, column 44: '9223372036854775808' does not fit in a signed integer of 64 bits"},
      {HEADER G "<float w = {1e39}> {}", ASSAY_ERR_SYNTAX, "line 2, column 44: '1e39' does not fit in a float"},
      {HEADER G "<float16 w = {1.5}> {}", ASSAY_ERR_SYNTAX,
       "line 2, column 46: expected an element of type float16 as its bit pattern, an integer of 0..65535, found "
       "'1.5'"},
      {HEADER G "{ y = Relu(x }", ASSAY_ERR_SYNTAX,
       "line 2, column 45: expected ',' or ')' after the operator's inputs, found '}'"},
      {HEADER G "{ y Relu(x) }", ASSAY_ERR_SYNTAX,
       "line 2, column 36: expected '=' between a node's outputs and its operator, found 'Relu'"},
      {HEADER G "{ y = (x) }", ASSAY_ERR_SYNTAX, "line 2, column 38: expected an operator's name, found '('"},
      {HEADER G "{ y = Relu(z) }", ASSAY_ERR_INVALID,
       "line 2, column 43: 'z' is not defined up to here: it must be an input, an initializer or the output of an "
       "earlier node"},
      {HEADER G "{ y = Relu(x)\n  y = Relu(x) }", ASSAY_ERR_INVALID,
       "line 3, column 3: 'y' is defined a second time (first at line 2, column 34)"},
      {HEADER G "{ z = Relu(x) }", ASSAY_ERR_INVALID, "line 2, column 29: output 'y' is produced by no node"},
      {HEADER G "{ y = Relu(x)", ASSAY_ERR_SYNTAX,
       "line 2, column 45: expected a node, as in 'y = Relu(x)', or '}' at the end of the nodes, found the end of the "
       "text"},
      {HEADER G "{ y = Relu<a = 1, a = 2>(x) }", ASSAY_ERR_INVALID, "line 2, column 50: attribute 'a' is given twice"},
      {HEADER G "{ y = Relu<a = []>(x) }", ASSAY_ERR_SYNTAX,
       "line 2, column 48: an empty list needs its type; write it like 'a: ints = []'"},
      {HEADER G "{ y = Relu<a = [1, 2.0]>(x) }", ASSAY_ERR_SYNTAX,
       "line 2, column 51: expected a value of type int, found '2.0'"},
      {HEADER G "{ y = Relu<a: int = 1.5>(x) }", ASSAY_ERR_SYNTAX,
       "line 2, column 52: expected a value of type int, found '1.5'"},
      {HEADER G "{ y = Relu<a: floot = 1>(x) }", ASSAY_ERR_SYNTAX,
       "line 2, column 46: expected an attribute type (float, int, string, tensor, floats, ints or strings), found "
       "'floot'"},
      {HEADER G "{ y = If<then_branch = t () => (z) {}>(x) }", ASSAY_ERR_UNSUPPORTED,
       "line 2, column 55: 'then_branch' is a graph; graphs as attributes (If, Loop, Scan) are not supported"},
      {HEADER G "{ y = Relu<a = @b>(x) }", ASSAY_ERR_INVALID,
       "line 2, column 43: 'a' refers to the attribute 'b' of a function, but stands in no function"},
      {HEADER G "{ y = Relu<a = -x>(x) }", ASSAY_ERR_SYNTAX, "line 2, column 47: expected a number after '-'"},
      {HEADER G "{ y = Relu<a = 1e>(x) }", ASSAY_ERR_SYNTAX,
       "line 2, column 47: malformed number '1e>'; write it like -12, 0.5 or 1e-3"},
      {HEADER G "{ y = Relu:v2(x) }", ASSAY_ERR_UNSUPPORTED,
       "line 2, column 42: overloads of functions are not supported; give the function a name of its own"},
      {HEADER G "{ \"\xC3\xA4\" = Relu(x) ; }", ASSAY_ERR_SYNTAX, "line 2, column 48: unexpected ';'"},
      {HEADER G "{ \xC3\xA4 = Relu(x) }", ASSAY_ERR_SYNTAX,
       "line 2, column 34: unexpected byte 0xC3; names with other characters than letters, digits and _ go in quotes"},
      {HEADER G "{ y = Nonsense(x) }", ASSAY_ERR_UNSUPPORTED,
       "line 2, column 34: operator 'Nonsense' of domain \"\" is not known in opset version 23"},
      {"<ir_version: 10, opset_import: [\"\" : 13]>\n" G "{ y = Gelu(x) }", ASSAY_ERR_UNSUPPORTED,
       "line 2, column 34: operator 'Gelu' of domain \"\" is not known in opset version 13; it is known from a later "
       "version on"},
      {HEADER G "{ y = a.b.Relu(x) }", ASSAY_ERR_INVALID,
       "line 2, column 34: operator 'Relu': the model imports no opset of domain \"a.b\"; add it to its opset_import"},
      {HEADER G "{ y = Relu<nonsense = 1>(x) }", ASSAY_ERR_INVALID, NULL},
      {HEADER G "{ y = Relu(x, x) }", ASSAY_ERR_INVALID, NULL},
      {HEADER "g (float[2] x) => (float[3] x) {}", ASSAY_ERR_INVALID,
       "line 2, column 29: dimension 0 of 'x' is declared 3 here and 2 before"},
      {HEADER G "{ y = Relu(x) } nonsense", ASSAY_ERR_SYNTAX,
       "line 2, column 56: expected '(' before the inputs, found the end of the text"},
      {HEADER G "{ y = Relu(x) } 12", ASSAY_ERR_SYNTAX,
       "line 2, column 48: expected a function or the end of the text, found '12'"},
      {HEADER G "{ y = f(x) } f (a) => (b) { b = f(a) }", ASSAY_ERR_INVALID,
       "in function 'f': line 2, column 60: function 'f' calls itself"},
      {HEADER G "{ y = f(x) } f (a) => (b) { b = h(a) } h (a) => (b) { b = f(a) }", ASSAY_ERR_INVALID,
       "in function 'f': line 2, column 86: function 'f' calls itself through other functions"},
      {HEADER G "{ y = f(x, x) } <opset_import: [\"\" : 23]> f (a) => (b) { b = Relu(a) }", ASSAY_ERR_INVALID,
       "line 2, column 34: function 'f' has 1 inputs and 1 outputs, but is called with 2 and 1"},
      {HEADER G "{ y = f<k = 1>(x) } f (a) => (b) { b = Relu(a) }", ASSAY_ERR_INVALID,
       "line 2, column 40: function 'f' has no attribute 'k'"},
      {HEADER G "{ y = f(x) } f (a) => (b) { b = Relu(a) }", ASSAY_ERR_INVALID,
       "in function 'f': line 2, column 60: operator 'Relu': the function imports no opset of domain \"\"; add it to "
       "its opset_import"},
      {HEADER G "{ y = Relu(x) } f (a) => (a) {} f (a) => (a) {}", ASSAY_ERR_INVALID,
       "function 'f' of domain \"\" is defined twice"},
      {HEADER G "{ y = Relu(x) } <overload: \"v\"> f (a) => (a) {}", ASSAY_ERR_UNSUPPORTED,
       "line 2, column 49: overloads of functions are not supported; give the function a name of its own"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct model m;
    struct assay_error err = {0};
    enum assay_status status = onnx_parse_text(cases[i].text, strlen(cases[i].text), "n", &m, &err);
    char want[ASSAY_ERROR_MESSAGE_BYTES + 8];
    snprintf(want, sizeof want, "n: %s", cases[i].message ? cases[i].message : "");
    if (status != cases[i].status || (cases[i].message && strcmp(err.message, want) != 0))
      fail_msg("case %zu:\n%s\nsaid (%d) %s\nnot  (%d) %s", i, cases[i].text, status, err.message, cases[i].status,
               want);
    assert_int_equal(err.status, status);
  }
}

static void test_functions(void **state) {
  (void)state;
  struct model m;
  parse("<ir_version: 10, opset_import: [\"\" : 23, \"local\" : 1]>\n"
        "g (float[2] x, float hi) => (float[2] y, z, w) {\n"
        "  y, z = local.twice<slope = 0.5>(x)\n"
        "  v, w = local.twice(y, hi)\n"
        "}\n"
        "<domain: \"local\", opset_import: [\"\" : 15, \"local\" : 1]>\n"
        "twice <slope, other: float = 0.25> (a, limit) => (r, a) {\n"
        "  t = local.once<alpha = @slope>(a)\n"
        "  u = LeakyRelu<alpha = @other>(t)\n"
        "  r = Clip(u, , limit)\n"
        "}\n"
        "<domain: \"local\", opset_import: [\"\" : 16]>\n"
        "once <alpha> (float[N] a) => (float[N] t) <float[N] u> { u = LeakyRelu<alpha: float = @alpha>(a)\n"
        " t = Identity(u) }\n",
        &m);
  const struct graph *g = &m.flat;
  // Twice: once's LeakyRelu and Identity, LeakyRelu, Clip, and a copy, because an input is also an output.
  static const char *const ops[] = {"LeakyRelu", "Identity", "LeakyRelu", "Clip", "Identity"};
  assert_int_equal(g->n_nodes, 10);
  for (int i = 0; i < g->n_nodes; i++)
    assert_string_equal(g->nodes[i].op_type, ops[i % 5]);
  assert_true(node_float(&g->nodes[0], "alpha", 9) == 0.5);
  assert_null(node_attr(&g->nodes[5], "alpha")); // the second call gives no slope
  assert_true(node_float(&g->nodes[2], "alpha", 9) == 0.25 && node_float(&g->nodes[7], "alpha", 9) == 0.25);
  assert_int_equal(g->nodes[0].opset, 16);
  assert_int_equal(g->nodes[2].opset, 15);
  assert_true(g->nodes[3].inputs[2] == -1 && g->nodes[8].inputs[2] == g->inputs[1]);
  assert_string_equal(g->values[g->nodes[3].outputs[0]].name, "y");
  assert_string_equal(g->values[g->nodes[4].outputs[0]].name, "z");
  assert_int_equal(g->nodes[4].inputs[0], g->inputs[0]);
  assert_int_equal(g->nodes[0].at.line, 13); // places are those of the function's body
  for (int i = 0; i < g->n_values; i++)
    for (int k = 0; k < i; k++)
      assert_string_not_equal(g->values[i].name, g->values[k].name);
  assert_int_equal(m.graph.n_nodes, 2); // as written
  assert_int_equal(m.n_functions, 2);
  model_release(&m);
}

// f0 is empty, f1 calls f0 twice, f2 calls f1 twice, ...: 2^60 calls and not one node.
static void test_exponential_functions(void **state) {
  (void)state;
  struct buf b;
  struct model m;
  struct assay_error err = {0};
  buf_init(&b);
  buf_puts(&b, HEADER "g (float x) => (float x) { = f60() }\nf0 () => () {}\n");
  for (int i = 1; i <= 60; i++)
    buf_printf(&b, "f%d () => () { = f%d() = f%d() }\n", i, i - 1, i - 1);
  assert_int_equal(onnx_parse_text(b.data, b.len, "n", &m, &err), ASSAY_ERR_LIMIT);
  buf_clear(&b);
  buf_puts(&b, HEADER "g (float x) => (float x) { = f100() }\nf0 () => () {}\n");
  for (int i = 1; i <= 100; i++)
    buf_printf(&b, "f%d () => () { = f%d() }\n", i, i - 1);
  assert_int_equal(onnx_parse_text(b.data, b.len, "n", &m, &err), ASSAY_ERR_LIMIT);
  assert_non_null(strstr(err.message, "nested more than 64 deep"));
  buf_release(&b);
}

// The program's locale has no say in how numbers look. Skipped where no locale with a decimal comma is installed.
static void test_locale(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  bool found = false;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++)
    found = setlocale(LC_ALL, names[i]) != NULL;
  if (!found)
    SKIP_BECAUSE("no locale with a decimal comma is installed");
  struct model m;
  struct assay_error err = {0};
  struct buf b;
  buf_init(&b);
  parse(HEADER "g (float[2] x) => (float[2] y) { y = LeakyRelu<alpha = 0.5>(x) }", &m);
  assert_true(node_float(&m.graph.nodes[0], "alpha", 0) == 0.5);
  assert_int_equal(onnx_print_text(&m, &b, &err), ASSAY_OK);
  assert_non_null(strstr(buf_str(&b), "alpha = 0.5"));
  buf_release(&b);
  model_release(&m);
  setlocale(LC_ALL, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_everything_once), cmocka_unit_test(test_attribute_forms),
      cmocka_unit_test(test_bare_graph),      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_functions),       cmocka_unit_test(test_exponential_functions),
      cmocka_unit_test(test_locale),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
