// SPDX-License-Identifier: Apache-2.0
// Plans: written as JSON and read back, printed for people, and a long list of broken plans, each of which must be
// refused with a helpful error message.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "plan/base64.h"
#include "plan_sample.h"

static void test_base64(void **state) {
  (void)state;
  static const struct {
    const char *bytes, *text;
  } examples[] = {// RFC 4648, section 10
                  {"", ""},
                  {"f", "Zg=="},
                  {"fo", "Zm8="},
                  {"foo", "Zm9v"},
                  {"foob", "Zm9vYg=="},
                  {"fooba", "Zm9vYmE="},
                  {"foobar", "Zm9vYmFy"}};
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    struct buf b = {0};
    uint8_t out[16];
    size_t n = strlen(examples[i].bytes), length = strlen(examples[i].text);
    base64_encode(&b, (const uint8_t *)examples[i].bytes, n);
    assert_string_equal(buf_str(&b), examples[i].text);
    assert_int_equal(base64_decoded_size(examples[i].text, length), n);
    assert_true(base64_decode(examples[i].text, length, out));
    assert_memory_equal(out, examples[i].bytes, n);
    buf_release(&b);
  }
  static const char *const wrong[] = {
      "Zg=", "Zg", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9*", "Zm 9", "Zm9-", "=m9v", "Z=9v", "Zm9v\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    uint8_t out[16];
    assert_false(base64_decode(wrong[i], strlen(wrong[i]), out));
  }
  // All bytes, across the encoder's lines.
  struct buf b = {0};
  uint8_t all[3000], back[3000];
  for (size_t i = 0; i < sizeof all; i++)
    all[i] = (uint8_t)(i * 7 + i / 256);
  for (size_t n = 2990; n <= sizeof all; n++) {
    buf_clear(&b);
    base64_encode(&b, all, n);
    assert_int_equal(base64_decoded_size(b.data, b.len), n);
    assert_true(base64_decode(b.data, b.len, back));
    assert_memory_equal(all, back, n);
  }
  buf_release(&b);
}

// The sample's text; released with free().
static char *sample_json(void) {
  struct plan p;
  struct buf b = {0};
  struct assay_error err = {0};
  sample_plan(&p);
  if (plan_print_json(&p, &b, &err))
    fail_msg("%s", err.message);
  char *text = strdup(b.data);
  buf_release(&b);
  plan_release(&p);
  return text;
}

static const struct tensor_type sample_tensor = {DTYPE_FLOAT, {2, {4, 8}}};
static const struct plan_expectation sample_expectation = {1, 1, &sample_tensor, &sample_tensor};

static enum assay_status parse_and_check(const char *text, const char *target, struct assay_error *err) {
  struct plan p;
  struct plan_limits limits;
  plan_limits_of_target(target, &limits);
  limits.memory_bytes = 1 << 30;
  enum assay_status status = plan_parse(text, strlen(text), &p, err);
  if (status)
    return status;
  status = plan_check(&p, &limits, &sample_expectation, err);
  plan_release(&p);
  return status;
}

static void test_round_trip(void **state) {
  (void)state;
  char *text = sample_json();
  struct assay_error err = {0};
  struct plan p;
  struct buf again = {0};
  if (parse_and_check(text, "sm_90", &err) || plan_parse(text, strlen(text), &p, &err) ||
      plan_print_json(&p, &again, &err))
    fail_msg("%s", err.message);
  assert_string_equal(text, again.data);
  // What was read is what was written, not merely the same text.
  assert_int_equal(p.n_prepare, 1);
  assert_int_equal(p.n_steps, 6);
  assert_int_equal(p.buffers[SAMPLE_PARTIAL].alignment, 512);
  assert_true(p.buffers[SAMPLE_PARTIAL].zeroed && !p.buffers[SAMPLE_TABLE].zeroed);
  assert_int_equal(p.steps[3].arguments[0].pointers[1].at, 8);
  assert_int_equal(p.steps[3].arguments[0].bytes[16], 32);
  assert_true(p.steps[3].programmatic);
  assert_false(p.steps[2].programmatic);
  assert_int_equal(p.steps[4].carveout, 50);
  assert_int_equal(p.steps[2].carveout, -1);
  assert_int_equal(p.steps[4].arguments[0].map->strides[0], 64);
  assert_int_equal(p.steps[4].arguments[0].map->swizzle, 2);
  assert_string_equal(p.steps[3].label, "turn around");
  assert_null(p.steps[2].label);
  plan_release(&p);
  buf_release(&again);
  free(text);
}

// Packed, a plan is the same plan; a part of it, or one whose places lie elsewhere, is none.
static void test_packed(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct plan p, q;
  struct buf text = {0}, packed = {0}, again = {0};
  sample_plan(&p);
  if (plan_print_json(&p, &text, &err) || plan_pack(&p, &packed, &err) ||
      plan_unpack(packed.data, packed.len, &q, &err) || plan_print_json(&q, &again, &err))
    fail_msg("%s", err.message);
  assert_string_equal(text.data, again.data);
  assert_memory_equal(p.modules[0].bytes, q.modules[0].bytes, p.modules[0].size);
  assert_null(memmem(packed.data, packed.len, "base64", strlen("base64")));
  plan_release(&q);
  for (size_t n = 0; n < packed.len; n += 1 + n / 97) {
    memset(&err, 0, sizeof err);
    assert_int_not_equal(plan_unpack(packed.data, n, &q, &err), ASSAY_OK);
    assert_true(err.message[0] != '\0');
  }
  assert_int_not_equal(plan_unpack(packed.data, packed.len - 1, &q, &err), ASSAY_OK); // a place beyond the end
  assert_non_null(strstr(err.message, "packed"));
  static const char *const spoilt[] = {"\"packed\": [0, -", "\"packed\": [-1, ", "\"packed\": {0, ",
                                       "\"packet\": [0, "};
  char *place = memmem(packed.data, packed.len, "\"packed\": [0, ", strlen("\"packed\": [0, "));
  assert_non_null(place);
  for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
    char kept[32];
    memcpy(kept, place, sizeof kept);
    memcpy(place, spoilt[i], strlen(spoilt[i]));
    assert_int_not_equal(plan_unpack(packed.data, packed.len, &q, &err), ASSAY_OK);
    memcpy(place, kept, sizeof kept);
  }
  // A text that stands alone has nothing after it.
  uint64_t n;
  memcpy(&n, packed.data, sizeof n);
  assert_int_equal(plan_parse(packed.data + sizeof n, (size_t)n, &q, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "packed"));
  plan_release(&p);
  buf_release(&text);
  buf_release(&packed);
  buf_release(&again);
}

static void test_files(void **state) {
  (void)state;
  char path[] = "/tmp/test_plan.XXXXXX";
  struct assay_error err = {0};
  struct plan p, q;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  sample_plan(&p);
  assert_int_equal(plan_write(path, &p, &err), ASSAY_OK);
  assert_int_equal(plan_read(path, &q, &err), ASSAY_OK);
  assert_memory_equal(p.modules[0].bytes, q.modules[0].bytes, p.modules[0].size);
  plan_release(&q);
  plan_release(&p);
  unlink(path);
  assert_int_equal(plan_read(path, &q, &err), ASSAY_ERR_NOT_FOUND);
  assert_non_null(strstr(err.message, path));
}

// Texts of device code: quotes, line ends, and bytes that are not UTF-8 come back as they were.
static void test_sources(void **state) {
  (void)state;
  static const char *const sources[] = {"kernel void k() { printf(\"\\n\\t\x01\x7f\xc3\xa9\"); }\r\n", "latin \xe9",
                                        ""};
  for (size_t i = 0; i < 2; i++) {
    struct plan_module m = {.name = "k.cl", .code = PLAN_OPENCL_C, .options = "-DN=1 \"x\""};
    struct plan p = {.device = &plan_device_opencl, .n_modules = 1, .modules = &m}, q;
    struct assay_error err = {0};
    struct buf b = {0};
    m.bytes = (const uint8_t *)sources[i];
    m.size = strlen(sources[i]);
    if (plan_print_json(&p, &b, &err) || plan_parse(b.data, b.len, &q, &err))
      fail_msg("%s", err.message);
    assert_non_null(strstr(b.data, i == 0 ? "\"text\"" : "\"base64\""));
    assert_int_equal(q.modules[0].size, m.size);
    assert_string_equal((const char *)q.modules[0].bytes, sources[i]);
    assert_string_equal(q.modules[0].options, m.options);
    plan_release(&q);
    buf_release(&b);
  }
}

static void test_for_people(void **state) {
  (void)state;
  static const char *const lines[] = {
      "  0  small.cu: cubin, 7912 bytes\n",
      "      scale: sm_90a, ",
      " registers, 256 bytes of shared memory, 1 parameter\n",
      "  0  input    x (0): float[4, 8], 128 bytes, aligned to 256\n",
      "  0  set_symbol(coef of module 0, table, 16 bytes)  [prepares]\n",
      "  1  fill(partial, 0xff, 4096 bytes)\n",
      "  2  scale<<<1, 128>>>(x, partial+512, 32)\n",
      "  3  turn around<<<1, 64, 1024>>>({partial+512, y, 2000000000000000}) programmatic\n",
      "  4  tile<<<2, 32>>>(map(partial, 64 x 16, box 8 x 16), partial) cluster 2 cooperative carveout 50%\n",
      "  5  copy(y+64, partial+512, 64 bytes)\n",
  };
  struct plan p;
  struct buf b = {0};
  struct assay_error err = {0};
  sample_plan(&p);
  p.buffers[SAMPLE_X].name = "x\x1b[2J";
  assert_int_equal(plan_print(&p, &b, &err), ASSAY_OK);
  assert_null(strchr(b.data, '\x1b'));
  buf_clear(&b);
  p.buffers[SAMPLE_X].name = "x\u200d\ufe0f"; // a joiner, and a variant of nothing
  assert_int_equal(plan_print(&p, &b, &err), ASSAY_OK);
  assert_non_null(strstr(b.data, "x??"));
  buf_clear(&b);
  p.buffers[SAMPLE_X].name = "x";
  assert_int_equal(plan_print(&p, &b, &err), ASSAY_OK);
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (!strstr(b.data, lines[i]))
      fail_msg("no line \"%s\" in\n%s", lines[i], b.data);
  buf_release(&b);
  plan_release(&p);
}

// The text with `with` in place of the first `what` after `after`.
static char *spoil(const char *text, const char *after, const char *what, const char *with) {
  const char *at = strstr(text, after);
  at = at ? strstr(at, what) : NULL;
  if (!at)
    fail_msg("the sample has no '%s' after '%s'", what, after);
  char *out = malloc(strlen(text) + strlen(with) + 1);
  memcpy(out, text, (size_t)(at - text));
  strcpy(out + (at - text), with);
  strcat(out, at + strlen(what));
  return out;
}

struct spoilt {
  const char *after, *what, *with; // what is replaced
  enum assay_status status;
  const char *words; // in the message
};

static const struct spoilt spoilt_texts[] = {
    // JSON itself
    {"", "{", "[", ASSAY_ERR_SYNTAX, "line "},
    {"copy", "]\n}\n", "]\n", ASSAY_ERR_SYNTAX, "not JSON"},
    {"copy", "}\n", "} {}\n", ASSAY_ERR_SYNTAX, "not JSON"},
    {"", "\"task\": \"sample\"", "\"task\": \"a\", \"task\": \"b\"", ASSAY_ERR_SYNTAX, "duplicate object key"},
    {"", "\"sample\"", "\"sam\\u0000ple\"", ASSAY_ERR_SYNTAX, "\\u0000"},
    {"", "\"sample\"", "\"\xff\"", ASSAY_ERR_SYNTAX, "unable to decode byte 0xff"},
    {"copy", "64", "99999999999999999999", ASSAY_ERR_SYNTAX, "too big integer"},
    // members
    {"", "\"assay_plan\": 1", "\"assay_plan\": 2", ASSAY_ERR_INVALID, "assay_plan: is 2; it must be from 1 to 1"},
    {"", "\"assay_plan\": 1,", "", ASSAY_ERR_INVALID, "assay_plan: is missing"},
    {"", "\"task\"", "\"tusk\"", ASSAY_ERR_INVALID, "the plan: has a member \"tusk\""},
    {"", "\"task\"", "\"\\u001b[2J\"", ASSAY_ERR_INVALID, "has a member \"?[2J\""},
    {"", "\"sample\"", "17", ASSAY_ERR_INVALID, "task: must be a string"},
    {"", "\"task\": \"sample\",", "", ASSAY_ERR_INVALID, "task: is missing"},
    {"", "\"prepare_steps\": 1", "\"prepare_steps\": 7", ASSAY_ERR_INVALID, "prepare_steps: is 7"},
    {"", "\"prepare_steps\": 1", "\"prepare_steps\": 1.0", ASSAY_ERR_INVALID, "prepare_steps: must be an integer"},
    {"", "\"modules\": [", "\"modules\": [3, ", ASSAY_ERR_INVALID, "modules[0]: must be an object"},
    {"modules", "\"name\": \"small.cu\"", "\"name\": \"\"", ASSAY_ERR_INVALID, "modules[0].name: must not be empty"},
    {"modules", "\"cubin\"", "\"elf\"", ASSAY_ERR_INVALID, "modules[0].code: is \"elf\"; it must be one of cubin, ptx"},
    {"modules", "\"cubin\"", "\"cubin\", \"options\": \"-O3\"", ASSAY_ERR_INVALID, "a member \"options\""},
    {"modules", "\"cubin\"", "\"ptx\", \"options\": \"\"", ASSAY_ERR_INVALID, "must not contain a NUL"},
    {"modules", "\"f0VM", "\"f0V", ASSAY_ERR_INVALID, "modules[0].base64: is not base64"},
    {"modules", "\"f0VM", "\"f0V.", ASSAY_ERR_INVALID, "modules[0].base64: is not base64"},
    // buffers, as text
    {"buffers", "\"input\"", "\"inout\"", ASSAY_ERR_INVALID, "buffers[0].role: is \"inout\"; it must be one of input,"},
    {"buffers", "\"index\": 0", "\"index\": -1", ASSAY_ERR_INVALID, "buffers[0].index: is -1"},
    {"buffers", "\"float\"", "\"float3\"", ASSAY_ERR_INVALID, "buffers[0].dtype: \"float3\" is not an element type"},
    {"buffers", "[4, 8]", "[4, -1]", ASSAY_ERR_INVALID, "buffers[0].dims[1]: is -1"},
    {"buffers", "[4, 8]", "[1,1,1,1,1,1,1,4,8]", ASSAY_ERR_LIMIT, "buffers[0].dims: has 9 elements; at most 8"},
    {"buffers", "\"bytes\": 128", "\"bytes\": -1", ASSAY_ERR_INVALID, "buffers[0].bytes: is -1"},
    {"\"y\"", "\"bytes\": 128", "\"bytes\": 0", ASSAY_ERR_INVALID, "buffers[1].bytes: is 0"},
    {"scratch", "\"bytes\": 4096", "\"bytes\": 0", ASSAY_ERR_INVALID, "buffers[2].bytes: is 0"},
    {"scratch", "\"bytes\"", "\"index\": 0, \"bytes\"", ASSAY_ERR_INVALID, "buffers[2]: has a member \"index\""},
    {"constant", "\"AAAAPw", "\"AAAA", ASSAY_ERR_INVALID, "buffers[3].base64: is not base64"},
    {"constant", "\"AAAAPwAA", "\"AAAA", ASSAY_ERR_INVALID, "buffers[3].base64: has 13 bytes, the buffer has 16"},
    {"constant", ", \"base64\": \"AAAAPwAAgD8AAABAAACAQA==\"", "", ASSAY_ERR_INVALID, "buffers[3].base64: is missing"},
    // steps, as text
    {"steps\": [", "\"set_symbol\"", "\"call\"", ASSAY_ERR_INVALID, "steps[0].step: is \"call\""},
    {"steps\": [", "\"module\": 0", "\"module\": 1", ASSAY_ERR_INVALID,
     "steps[0].module: is 1; it must be from 0 to 0"},
    {"\"scale\"", "\"buffer\": 0", "\"buffer\": 4", ASSAY_ERR_INVALID,
     "steps[2].arguments[0].pointers[0].buffer: is 4; it must be from 0 to 3"},
    {"\"scale\"", "\"buffer\": 0", "\"buffer\": \"x\"", ASSAY_ERR_INVALID, "pointers[0].buffer: must be an integer"},
    {"\"scale\"", "\"at\": 0", "\"at\": -8", ASSAY_ERR_INVALID, "steps[2].arguments[0].pointers[0].at: is -8"},
    {"\"scale\"", "\"at\": 0, ", "", ASSAY_ERR_INVALID, "steps[2].arguments[0].pointers[0].at: is missing"},
    {"\"scale\"", "\"offset\": 0", "\"offset\": -1", ASSAY_ERR_INVALID, "pointers[0].offset: is -1"},
    {"\"scale\"", "{\"bytes\": \"IAAAAA==\"}", "32", ASSAY_ERR_INVALID, "steps[2].arguments[2]: must be an object"},
    {"\"scale\"", "{\"bytes\": \"IAAAAA==\"}", "{\"size\": 4}", ASSAY_ERR_INVALID, "a member \"size\""},
    {"launch", "[1, 1, 1]", "[1, 1]", ASSAY_ERR_INVALID, "steps[2].grid: has 2 elements; it must have 3"},
    {"launch", "[1, 1, 1]", "[1, 1, 4294967296]", ASSAY_ERR_INVALID, "steps[2].grid[2]: is 4294967296"},
    {"\"turn\"", "true", "1", ASSAY_ERR_INVALID, "steps[3].programmatic: must be true or false"},
    {"\"tile\"", "\"data_type\": 7", "\"data_type\": 16", ASSAY_ERR_INVALID, "tensor_map.data_type: is 16"},
    {"\"tile\"", "\"rank\": 2", "\"rank\": 6", ASSAY_ERR_INVALID, "tensor_map.rank: is 6"},
    {"\"tile\"", "\"rank\": 2", "\"rank\": 3", ASSAY_ERR_INVALID, "tensor_map.dims: has 2 elements; it must have 3"},
    {"\"tile\"", "\"strides\": [64]", "\"strides\": []", ASSAY_ERR_INVALID, "tensor_map.strides: has 0 elements"},
    {"\"tile\"", "\"swizzle\": 2", "\"swizzle\": 7", ASSAY_ERR_INVALID, "tensor_map.swizzle: is 7"},
    {"\"copy\"", "\"bytes\": 64", "\"bytes\": 0", ASSAY_ERR_INVALID, "steps[5].bytes: is 0"},
    {"\"copy\"", "\"from\": {", "\"via\": {", ASSAY_ERR_INVALID, "steps[5]: has a member \"via\""},
    {"\"copy\"", "\"from\": {\"buffer\": 2, \"offset\": 512}, ", "", ASSAY_ERR_INVALID,
     "steps[5].from: must be an object"},
};

// Well formed, and still wrong.
static const struct spoilt spoilt_plans[] = {
    // device and modules
    {"", "\"cuda\"", "\"metal\"", 0, "device: is \"metal\"; it must be one of cuda, opencl"},
    {"", "\"cuda\"", "\"opencl\"", 0, "the plan is for device opencl, this one is cuda"},
    {"", "\"sm_90a\"", "\"gfx90a\"", 0, "target \"gfx90a\" is not of the form sm_90"},
    {"", "\"sm_90a\"", "\"sm_90ab\"", 0, "is not of the form"},
    {"", "\"sm_90a\"", "\"sm_99999999999\"", 0, "is not of the form"},
    {"modules", "\"cubin\"", "\"spirv\"", 0, "modules[0]: spirv is not for cuda"},
    {"modules", "\"f0VM", "\"f0VN", 0, "modules[0]: not a cubin"},
    // buffers
    {"scratch", "\"alignment\": 512", "\"alignment\": 384", 0, "buffers[2]: alignment 384 is not a power of two"},
    {"scratch", "\"zeroed\": true", "\"zeroed\": 1", 0, "must be true or false"},
    {"\"x\"", "\"alignment\": 256", "\"alignment\": 256, \"zeroed\": true", 0, "a member \"zeroed\" that"},
    {"scratch", "\"alignment\": 512", "\"alignment\": 0", 0, "buffers[2]: alignment 0"},
    {"scratch", "\"alignment\": 512", "\"alignment\": 2097152", 0, "buffers[2]: alignment 2097152"},
    {"\"x\"", "\"alignment\": 256", "\"alignment\": 512", 0, "buffers[0]: alignment 512; inputs and outputs"},
    {"\"x\"", "\"bytes\": 128", "\"bytes\": 132", 0, "buffers[0]: it has 132 bytes, its tensor 128"},
    {"\"x\"", "\"bytes\": 128", "\"bytes\": 0", 0, "buffers[0]: it has 0 bytes, its tensor 128"},
    {"\"x\"", "[4, 8]", "[4, 0]", 0, "buffers[0]: it has 128 bytes, its tensor 0"},
    {"\"y\"", "[4, 8]", "[4, 0]", 0, "buffers[1]: it has 128 bytes, its tensor 0"},
    {"\"x\"", "[4, 8]", "[4611686018427387904, 8]", 0, "buffers[0]: its tensor can have no size"},
    {"\"x\"", "[4, 8]", "[8, 4]", 0, "buffers[0]: it is float[8, 4], the workload's input 0 is float[4, 8]"},
    {"\"x\"", "\"float\"", "\"int32\"", 0, "buffers[0]: it is int32[4, 8], the workload's"},
    {"\"x\"", "\"index\": 0", "\"index\": 1", 0, "buffers[0]: it is input 1; the workload has 1"},
    {"\"x\"", "\"input\"", "\"output\"", 0, "buffers[1]: buffers[0] is output 0 too"},
    {"\"y\"", "\"output\"", "\"input\"", 0, "buffers[1]: buffers[0] is input 0 too"},
    {"\"y\"", "\"output\", \"index\": 0, \"dtype\": \"float\", \"dims\": [4, 8]", "\"scratch\"", 0,
     "buffers for 0 of the workload's 1 outputs"},
    {"buffers", "\"name\": \"y\"", "\"name\": \"x\"", 0, "buffers[1]: buffers[0] is named \"x\" too"},
    {"scratch", "4096", "9223372036854775807", 2, "buffers[2]: scratch and constants up to here take more memory"},
    {"scratch", "4096", "1073741312", 2, "buffers[3]: scratch and constants up to here take more memory"},
    // set_symbol
    {"set_symbol", "\"coef\"", "\"beta\"", 0, "steps[0]: set_symbol: module 0 has no variable \"beta\""},
    {"set_symbol", "\"coef\", \"offset\": 0", "\"coef\", \"offset\": 4", 0,
     "steps[0]: set_symbol: 16 bytes at 4 of \"coef\", which has 16"},
    {"set_symbol", "\"buffer\": 3", "\"buffer\": 2", 0, "steps[0]: set_symbol: its bytes must come from a constant"},
    {"set_symbol", "\"bytes\": 16", "\"bytes\": 17", 0, "steps[0]: set_symbol: 17 bytes from offset 0 are not within"},
    // fill
    {"\"fill\"", "\"buffer\": 2", "\"buffer\": 0", 0, "steps[1]: fill: 4096 bytes at offset 0 are not within"},
    {"\"fill\"", "\"buffer\": 2, \"offset\": 0}, \"bytes\": 4096", "\"buffer\": 0, \"offset\": 0}, \"bytes\": 128", 0,
     "steps[1]: fill: writes to \"x\", which is an input"},
    {"\"fill\"", "\"buffer\": 2, \"offset\": 0}, \"bytes\": 4096", "\"buffer\": 3, \"offset\": 0}, \"bytes\": 16", 0,
     "steps[1]: fill: writes to \"table\", which is a constant"},
    {"\"fill\"", "\"offset\": 0", "\"offset\": 1", 0, "steps[1]: fill: 4096 bytes at offset 1 are not within"},
    {"\"fill\"", "\"offset\": 0", "\"offset\": 9223372036854775807", 0, "are not within"},
    {"\"fill\"", "\"bytes\": 4096", "\"bytes\": 9223372036854775807", 0, "are not within"},
    {"\"fill\"", "\"width\": 1", "\"width\": 3", 0, "steps[1]: fill: width 3 is not 1, 2 or 4"},
    {"\"fill\"", "\"width\": 1", "\"width\": 0", 0, "steps[1]: fill: width 0"},
    {"\"fill\"", "\"value\": 255", "\"value\": 256", 0, "steps[1]: fill: value 256 does not fit into 1 bytes"},
    {"\"fill\"", "4096, \"value\": 255, \"width\": 1", "4094, \"value\": 255, \"width\": 4", 0,
     "multiples of the width 4"},
    {"\"fill\"", "0}, \"bytes\": 4096, \"value\": 255, \"width\": 1", "2}, \"bytes\": 4, \"value\": 255, \"width\": 4",
     0, "multiples of the width 4"},
    // copy
    {"\"copy\"", "\"offset\": 64", "\"offset\": 65", 0,
     "steps[5]: copy: 64 bytes to offset 65 are not within buffer \"y\""},
    {"\"copy\"", "\"offset\": 512", "\"offset\": 4033", 0, "steps[5]: copy: 64 bytes from offset 4033 are not within"},
    {"\"copy\"", "\"buffer\": 1", "\"buffer\": 0", 0, "steps[5]: copy: writes to \"x\", which is an input"},
    {"\"copy\"", "\"buffer\": 1, \"offset\": 64", "\"buffer\": 2, \"offset\": 575", 0,
     "steps[5]: copy: source and dest"},
    {"\"copy\"", "\"buffer\": 1, \"offset\": 64", "\"buffer\": 2, \"offset\": 449", 0,
     "steps[5]: copy: source and dest"},
    // grids and blocks
    {"launch", "\"scale\"", "\"scales\"", 0, "steps[2]: kernel scales: module 0 (small.cu) has no kernel of this name"},
    {"launch", "\"scale\"", "\"coef\"", 0, "has no kernel of this name"},
    {"launch", "[1, 1, 1]", "[0, 1, 1]", 0, "steps[2]: kernel scale: grid[0] is 0"},
    {"launch", "[1, 1, 1]", "[2147483648, 1, 1]", 0, "steps[2]: kernel scale: grid[0] is 2147483648"},
    {"launch", "[1, 1, 1]", "[1, 65536, 1]", 0, "grid[1] is 65536, the device allows 65535"},
    {"launch", "[128, 1, 1]", "[128, 1, 0]", 0, "steps[2]: kernel scale: block[2] is 0"},
    {"launch", "[128, 1, 1]", "[1, 1, 65]", 0, "block[2] is 65, the device allows 64"},
    {"launch", "[128, 1, 1]", "[32, 33, 1]", 0, "a block of 1056 threads; the device allows 1024"},
    {"\"turn\"", "[64, 1, 1]", "[129, 1, 1]", 0, "a block of 129 threads; it was compiled for at most 128"},
    {"\"turn\"", "\"shared_bytes\": 1024", "\"shared_bytes\": 232193", 0,
     "232193 bytes of dynamic and 256 of static shared memory; the device allows 232448"},
    {"\"turn\"", "\"shared_bytes\": 1024", "\"shared_bytes\": 4294967295", 0, "4294967295 bytes of dynamic"},
    // clusters, cooperative and programmatic launches
    {"\"tile\"", "\"cluster\": [2, 1, 1]", "\"cluster\": [2, 0, 1]", 0,
     "steps[4]: kernel tile: a cluster has no dimension"},
    {"\"tile\"", "\"cluster\": [2, 1, 1]", "\"cluster\": [17, 1, 1]", 0,
     "a cluster of 17 blocks; the device allows 16"},
    {"\"tile\"", "\"grid\": [2, 1, 1]", "\"grid\": [3, 1, 1]", 0, "grid[0] is 3, no multiple of the cluster's 2"},
    {"\"tile\"", "\"cluster\": [2, 1, 1]", "\"cluster\": [1, 1, 1]", 0, "it was compiled for clusters of 2 x 1 x 1"},
    {"\"tile\"", "\"grid\": [2, 1, 1]", "\"programmatic\": true, \"module\": 0, \"grid\": [2, 1, 1]", 1, "duplicate"},
    {"\"fill\"", "\"arguments\"", "\"programmatic\": true, \"arguments\"", 0,
     "steps[2]: kernel scale: a programmatic launch must follow a launch"},
    {"\"prepare_steps\"", "1,", "3,", 0, "steps[3]: kernel turn: the first step cannot be programmatic"},
    // arguments against the kernel's parameters
    {"\"scale\"", ", {\"bytes\": \"IAAAAA==\"}", "", 0, "steps[2]: kernel scale: 2 arguments; it has 3 parameters"},
    {"\"scale\"", "{\"bytes\": \"IAAAAA==\"}", "{\"bytes\": \"IAAAAA==\"}, {\"bytes\": \"IAAAAA==\"}", 0,
     "4 arguments; it has 3 parameters"},
    {"\"scale\"", "\"IAAAAA==\"", "\"IAAAAAAAAAA=\"", 0, "arguments[2] has 8 bytes, the parameter 4"},
    {"\"scale\"", "\"IAAAAA==\"", "\"\"", 0, "arguments[2]: 0 bytes; a parameter has from 1 to 32764"},
    {"\"scale\"", "\"AAAAAAAAAAA=\"", "\"AAAAAQAAAAA=\"", 0,
     "arguments[0].pointers[0]: the bytes under a pointer must be zero"},
    {"\"scale\"", "\"at\": 0", "\"at\": 1", 0, "arguments[0].pointers[0]: 8 bytes at 1 of an argument of 8"},
    {"\"scale\"", "\"at\": 0", "\"at\": 4294967295", 0, "8 bytes at 4294967295 of an argument of 8"},
    {"\"scale\"", "\"offset\": 0", "\"offset\": 129", 0, "arguments[0].pointers[0]: offset 129 is outside buffer 0"},
    {"\"turn\"", "\"at\": 8", "\"at\": 7", 0, "pointers[1]: overlaps the one before it"},
    {"\"turn\"", "\"at\": 8", "\"at\": 0", 0, "pointers[1]: overlaps the one before it, or stands out of order"},
    {"\"turn\"", "\"at\": 8", "\"at\": 16", 0, "pointers[1]: the bytes under a pointer must be zero"},
    {"\"turn\"", "\"at\": 8", "\"at\": 17", 0, "pointers[1]: 8 bytes at 17 of an argument of 24"},
    {"\"scale\"", "{\"bytes\": \"IAAAAA==\"}", "{\"local_memory\": 64}", 0,
     "arguments[2]: local memory as an argument"},
    // tensor maps
    {"\"tile\"", "\"offset\": 0", "\"offset\": 8", 0, "tensor map: the address must be a multiple of 16 (offset 8"},
    {"\"tile\"", "\"offset\": 0", "\"offset\": 16", 0,
     "steps[4]: arguments[0]: tensor map: it describes memory beyond the end of buffer \"partial\""},
    {"\"tile\"", "\"dims\": [16, 64]", "\"dims\": [16, 65]", 0, "memory beyond the end of buffer"},
    {"\"tile\"", "\"dims\": [16, 64]", "\"dims\": [17, 64]", 0, "memory beyond the end of buffer"},
    {"\"tile\"", "\"dims\": [16, 64]", "\"dims\": [4294967297, 1]", 0, "dims[0] is 4294967297, not from 1 to 2^32"},
    {"\"tile\"", "\"dims\": [16, 64]", "\"dims\": [16, 0]", 0, "dims[1] is 0"},
    {"\"tile\"", "\"dims\": [16, 64], \"strides\": [64]",
     "\"dims\": [4294967296, 4294967296], \"strides\": [1099511627760]", 0, "memory beyond the end of buffer"},
    {"\"tile\"", "\"strides\": [64]", "\"strides\": [72]", 0, "strides[0] is 72; it must be a multiple of 16"},
    {"\"tile\"", "\"strides\": [64]", "\"strides\": [1099511627776]", 0, "strides[0] is 1099511627776"},
    {"\"tile\"", "\"box\": [16, 8]", "\"box\": [16, 257]", 0, "box[1] is 257, not from 1 to 256"},
    {"\"tile\"", "\"box\": [16, 8]", "\"box\": [0, 8]", 0, "box[0] is 0"},
    {"\"tile\"", "\"box\": [16, 8]", "\"box\": [15, 8]", 0, "box[0] is 15 elements of 32 bits"},
    {"\"tile\"", "\"box\": [16, 8]", "\"box\": [32, 8]", 0, "box[0] has 128 bytes, the swizzle pattern 64"},
    {"\"tile\"", "\"element_strides\": [1, 1]", "\"element_strides\": [1, 9]", 0, "element_strides[1] is 9"},
    {"\"tile\"", "\"element_strides\": [1, 1]", "\"element_strides\": [0, 1]", 0, "element_strides[0] is 0"},
    {"\"tile\"", "\"interleave\": 0", "\"interleave\": 1", 0, "interleaved layouts need a rank of at least 3"},
    {"\"tile\"", "\"data_type\": 7", "\"data_type\": 14", 0, "packed values do not go with swizzle 2"},
    {"\"tile\"", "\"data_type\": 7", "\"data_type\": 13", 0, "box[0] is 16 elements of 4 bits"},
    {"\"tile\"", "\"oob_fill\": 0", "\"oob_fill\": 1", -1, ""}, // floats may
    {"\"tile\"", "\"data_type\": 7", "\"data_type\": 3", -1, ""},
    // outputs
    {"\"turn\"", "\"at\": 8, \"buffer\": 1", "\"at\": 8, \"buffer\": 2", -1, ""}, // the copy still writes y
};

static void test_spoilt_texts(void **state) {
  (void)state;
  char *text = sample_json();
  for (size_t i = 0; i < sizeof spoilt_texts / sizeof *spoilt_texts; i++) {
    const struct spoilt *s = &spoilt_texts[i];
    struct assay_error err = {0};
    struct plan p;
    char *bad = spoil(text, s->after, s->what, s->with);
    enum assay_status status = plan_parse(bad, strlen(bad), &p, &err);
    if (status != s->status || !strstr(err.message, s->words))
      fail_msg("%s -> %s: status %d, \"%s\" lacks \"%s\"", s->what, s->with, (int)status, err.message, s->words);
    free(bad);
  }
  free(text);
}

// Here status -1 marks a change that is harmless, 1 one that is refused by the parser, 2 a plan that needs too much.
static void test_spoilt_plans(void **state) {
  (void)state;
  char *text = sample_json();
  for (size_t i = 0; i < sizeof spoilt_plans / sizeof *spoilt_plans; i++) {
    const struct spoilt *s = &spoilt_plans[i];
    struct assay_error err = {0};
    char *bad = spoil(text, s->after, s->what, s->with);
    enum assay_status status = parse_and_check(bad, "sm_90", &err);
    bool as_wanted = (int)s->status == -1  ? status == ASSAY_OK
                     : (int)s->status == 1 ? status == ASSAY_ERR_SYNTAX
                     : (int)s->status == 2 ? status == ASSAY_ERR_LIMIT
                                           : status == ASSAY_ERR_INVALID;
    if (!as_wanted || !strstr(err.message, s->words))
      fail_msg("%s -> %s: status %d, \"%s\" lacks \"%s\"", s->what, s->with, (int)status, err.message, s->words);
    free(bad);
  }
  free(text);
}

// A plan that no parser made: its numbers are looked at before its lists are.
static void test_counts(void **state) {
  (void)state;
  char *text = sample_json();
  static const struct {
    int modules, buffers, steps, prepare; // more than there are; -1000: a negative number
    const char *words;
  } wrong[] = {
      {-1000, 0, 0, 0, "the plan has -"},           {PLAN_MAX_MODULES, 0, 0, 0, "modules; at most"},
      {0, -1000, 0, 0, "the plan has -"},           {0, PLAN_MAX_BUFFERS, 0, 0, "buffers; at most"},
      {0, 0, -1000, 0, "the plan has -"},           {0, 0, PLAN_MAX_STEPS, 0, "steps; at most"},
      {0, 0, 0, -1000, "the plan prepares with -"}, {0, 0, 0, 6, "the plan prepares with 7 of its 6 steps"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct assay_error err = {0};
    struct plan_limits limits;
    struct plan p;
    plan_limits_of_target("sm_90", &limits);
    assert_int_equal(plan_parse(text, strlen(text), &p, &err), ASSAY_OK);
    struct plan bad = p;
    bad.n_modules += wrong[i].modules;
    bad.n_buffers += wrong[i].buffers;
    bad.n_steps += wrong[i].steps;
    bad.n_prepare += wrong[i].prepare;
    assert_int_equal(plan_check(&bad, &limits, &sample_expectation, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, wrong[i].words))
      fail_msg("\"%s\" lacks \"%s\"", err.message, wrong[i].words);
    plan_release(&p);
  }
  free(text);
}

// An output that nothing writes after the preparation, and one that the preparation touches.
static void test_outputs(void **state) {
  (void)state;
  struct assay_error err = {0};
  char *text = sample_json();
  char *no_copy = spoil(text, "\"copy\"", "{\"buffer\": 1, \"offset\": 64}", "{\"buffer\": 2, \"offset\": 64}");
  assert_int_equal(parse_and_check(no_copy, "sm_90", &err), ASSAY_OK);
  char *no_turn = spoil(no_copy, "\"turn\"", "\"at\": 8, \"buffer\": 1", "\"at\": 8, \"buffer\": 2");
  assert_int_equal(parse_and_check(no_turn, "sm_90", &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "buffers[1]: no step after the preparation mentions output 0"));
  char *early = spoil(text, "prepare_steps", "1,", "6,");
  char *plain = spoil(early, "\"turn\"", "\"programmatic\": true, ", "");
  assert_int_equal(parse_and_check(plain, "sm_90", &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "steps[3]: it prepares, and must not touch output 0"));
  free(plain);
  free(early);
  free(no_turn);
  free(no_copy);
  free(text);
}

// Where the sample's code, which is sm_90a's, may run.
static void test_targets(void **state) {
  (void)state;
  static const struct {
    const char *target, *words;
  } targets[] = {{"sm_90", NULL},
                 {"sm_90a", NULL},
                 {"sm_80", "the plan is for sm_90a, the device is sm_80"},
                 {"sm_100", "the plan is for sm_90a, the device is sm_100"}};
  char *text = sample_json();
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    struct assay_error err = {0};
    enum assay_status status = parse_and_check(text, targets[i].target, &err);
    assert_int_equal(status, targets[i].words ? ASSAY_ERR_INVALID : ASSAY_OK);
    if (targets[i].words && !strstr(err.message, targets[i].words))
      fail_msg("%s: %s", targets[i].target, err.message);
  }
  free(text);
  // Code of sm_80 runs on 8.x from 8.0 on; clusters and the like are sm_90's.
  static const struct {
    const char *file, *of_plan, *target, *words;
  } runs[] = {{"small_sm80.cubin", "sm_80", "sm_80", NULL},
              {"small_sm80.cubin", "sm_80", "sm_89", NULL},
              {"small_sm80.cubin", "sm_80", "sm_90", "the plan is for sm_80, the device is sm_90"},
              {"small_sm80.cubin", "sm_90", "sm_90", "modules[0]: code for sm_80 does not run on sm_90"},
              {"small_sm90.cubin", "sm_90", "sm_90a", NULL},
              {"small_sm90.cubin", "sm_90a", "sm_90", NULL},
              {"small_sm90.cubin", "sm_90", "sm_89", "the device is sm_89"},
              {"small_sm90a_v7.cubin", "sm_90a", "sm_90", NULL},
              {"small_sm90a_v7.cubin", "sm_100", "sm_100", "modules[0]: code for sm_90a does not run on sm_100"},
              {"small_sm90.cubin", "sm_90", "gfx", "the device's target \"gfx\" is not of the form"}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    struct plan p;
    struct plan_limits limits;
    struct assay_error err = {0};
    sample_plan(&p);
    sample_cubin(&p.arena, runs[i].file, p.modules);
    p.n_steps = 3; // symbol, fill, scale; y is written by nothing then
    p.target = runs[i].of_plan;
    p.buffers[SAMPLE_Y].role = PLAN_SCRATCH;
    plan_limits_of_target(runs[i].target, &limits);
    if (plan_check(&p, &limits, NULL, &err) != (runs[i].words ? ASSAY_ERR_INVALID : ASSAY_OK) ||
        (runs[i].words && !strstr(err.message, runs[i].words)))
      fail_msg("%s on %s: %s", runs[i].file, runs[i].target, err.message);
    p.steps[2].cluster[0] = p.steps[2].cluster[1] = p.steps[2].cluster[2] = 1;
    if (limits.max_cluster == 0 && !runs[i].words) {
      assert_int_equal(plan_check(&p, &limits, NULL, &err), ASSAY_ERR_INVALID);
      assert_non_null(strstr(err.message, "clusters need sm_90"));
    }
    plan_release(&p);
  }
}

// A plan of OpenCL C, SPIR-V or PTX: what is checked of other code than cubins.
static void test_other_code(void **state) {
  (void)state;
  static const uint32_t spirv[] = {0x07230203, 0x10000, 0, 9, 0, 5u << 16 | 15, 6, 1, 0x6e727574 /* "turn" */, 0};
  static const char ptx[] = ".version 8.0\n.target sm_80\n.visible .entry\tscale(\n"
                            "  .param .u64 .ptr .global .align 4 x, .param .u64 y,\n.param .u32 n\n) { ret; }\n";
  static const char source[] = "kernel void K(scale)(global float *y) {}";
  static const struct {
    const struct plan_device *device;
    const char *target;
    enum plan_code code;
    const void *bytes;
    size_t size;
    const char *kernel, *words;
  } plans[] = {
      {&plan_device_opencl, "", PLAN_OPENCL_C, source, sizeof source - 1, "anything", NULL},
      {&plan_device_opencl, "", PLAN_SPIRV, spirv, sizeof spirv, "turn", NULL},
      {&plan_device_opencl, "", PLAN_SPIRV, spirv, sizeof spirv, "turns", "no kernel of this name"},
      {&plan_device_opencl, "", PLAN_SPIRV, spirv, sizeof spirv - 4, "turn", "modules[0]: the SPIR-V is damaged"},
      {&plan_device_opencl, "", PLAN_SPIRV, source, 40, "turn", "modules[0]: it is not SPIR-V"},
      {&plan_device_opencl, "sm_90", PLAN_SPIRV, spirv, sizeof spirv, "turn", "a plan for opencl has no target"},
      {&plan_device_opencl, "", PLAN_PTX, ptx, sizeof ptx - 1, "scale", "modules[0]: ptx is not for opencl"},
      {&plan_device_cuda, "sm_80", PLAN_PTX, ptx, sizeof ptx - 1, "scale", NULL},
      {&plan_device_cuda, "sm_80", PLAN_PTX, ptx, sizeof ptx - 1, "scal", "no kernel of this name"},
      {&plan_device_cuda, "sm_80", PLAN_PTX, ptx, sizeof ptx - 2, "scale", "modules[0]: a source text has one NUL"},
  };
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    struct plan p;
    struct assay_error err = {0};
    sample_plan(&p);
    p.device = plans[i].device;
    p.target = plans[i].target;
    *p.modules = (struct plan_module){"m", plans[i].code, plans[i].bytes, plans[i].size, ""};
    p.n_prepare = 0;
    p.n_steps = 1;
    p.steps += 2;
    p.steps[0].kernel = plans[i].kernel;
    p.buffers[SAMPLE_Y].role = PLAN_SCRATCH;
    p.buffers[SAMPLE_PARTIAL].zeroed = false;
    enum assay_status status = plan_check(&p, NULL, NULL, &err);
    if (status != (plans[i].words ? ASSAY_ERR_INVALID : ASSAY_OK) ||
        (plans[i].words && !strstr(err.message, plans[i].words)))
      fail_msg("%zu: %d, %s", i, (int)status, err.message);
    // What only CUDA has.
    if (!plans[i].words && p.device == &plan_device_opencl) {
      p.buffers[SAMPLE_PARTIAL].zeroed = true;
      assert_int_equal(plan_check(&p, NULL, NULL, &err), ASSAY_ERR_INVALID);
      assert_non_null(strstr(err.message, "only scratch of a plan for cuda"));
      p.buffers[SAMPLE_PARTIAL].zeroed = false;
      p.steps[0].shared_bytes = 16;
      assert_int_equal(plan_check(&p, NULL, NULL, &err), ASSAY_ERR_INVALID);
      assert_non_null(strstr(err.message, "on opencl it is an argument"));
      p.steps[0].shared_bytes = 0;
      p.steps[0].cooperative = true;
      assert_int_equal(plan_check(&p, NULL, NULL, &err), ASSAY_ERR_INVALID);
      assert_non_null(strstr(err.message, "are CUDA's"));
      p.steps[0].cooperative = false;
      struct plan_argument *a = (struct plan_argument *)p.steps[0].arguments;
      a[2] = (struct plan_argument){.kind = PLAN_LOCAL_MEMORY, .size = 64};
      assert_int_equal(plan_check(&p, NULL, NULL, &err), ASSAY_OK);
      a[2].size = 0;
      assert_int_equal(plan_check(&p, NULL, NULL, &err), ASSAY_ERR_INVALID);
      a[2] = sample_argument(&p.arena, 16, NULL, SAMPLE_POINTERS({.at = 0, .buffer = SAMPLE_X, .offset = 0}));
      assert_int_equal(plan_check(&p, NULL, NULL, &err), ASSAY_ERR_INVALID);
      assert_non_null(strstr(err.message, "a pointer inside a struct is CUDA's"));
    }
    plan_release(&p);
  }
}

// Parameters as PTX writes them, against the sample's launch of scale(x, partial+512, 32): 8, 8 and 4 bytes.
static void test_ptx_parameters(void **state) {
  (void)state;
  static const struct {
    const char *ptx, *words;
  } texts[] = {
      {".entry scale(.param .u64 a,.param .b64 b,.param .f32 c)", NULL},
      {".entry scale(.param .u64 a,.param .align 4 .b8 b[8],.param .b8 c[4])", NULL},
      {".entry scale(.param .u64 a,.param .u64 b)", "3 arguments; it has 2 parameters"},
      {".entry scale()", "3 arguments; it has 0 parameters"},
      {".entry scale(.param .u64 a,.param .u64 b,.param .u16 c)", "arguments[2] has 4 bytes, the parameter 2"},
      {".entry scale(.param .u64 a,.param .u64 b,.param .align 4 .b8 c[5])",
       "arguments[2] has 4 bytes, the parameter 5"},
      // What is not understood, or contradicts itself, is left to the device.
      {".entry scale(.param .v4 .u64 a)", NULL},
      {".entry scale(.param .u64 a,", NULL},
      {".entry scale(.param .u64 a[99999999999])", NULL},
      {".entry scale(.param .u64 a[", NULL},
      {".entry scale(.param .u64", NULL},
      {".entry scale(.param", NULL},
      {".entry scale", NULL},
      {".entry scale(.param .u64 a) .entry scale(.param .u64 a,.param .u64 b)", NULL},
      {".entry", "has no kernel of this name"},
      {".entry .entry (", "has no kernel of this name"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct plan p;
    struct assay_error err = {0};
    sample_plan(&p);
    size_t n = strlen(texts[i].ptx);
    char *exact = strdup(texts[i].ptx); // a sanitizer sees reads beyond the end
    *p.modules = (struct plan_module){"m", PLAN_PTX, (const uint8_t *)exact, n, ""};
    p.n_prepare = 0;
    p.n_steps = 1;
    p.steps += 2;
    p.buffers[SAMPLE_Y].role = PLAN_SCRATCH;
    enum assay_status status = plan_check(&p, NULL, NULL, &err);
    if (status != (texts[i].words ? ASSAY_ERR_INVALID : ASSAY_OK) ||
        (texts[i].words && !strstr(err.message, texts[i].words)))
      fail_msg("%s: %d, %s", texts[i].ptx, (int)status, err.message);
    free(exact);
    plan_release(&p);
  }
}

// Tensor maps as a toolchain might make them in memory; the plan's buffer has 4096 bytes, aligned to 512.
static void test_tensor_maps(void **state) {
  (void)state;
  enum { U8 = 0, F32 = 7, U4_8 = 13, U4_16 = 14, U6_16 = 15 };
  static const struct {
    struct plan_tensor_map map;
    const char *words;
  } maps[] = {
      {{2, 0, U8, 1, {4096}, {0}, {256}, {1}, 0, 0, 0, 0}, NULL},
      {{2, 16, U8, 1, {4080}, {0}, {16}, {1}, 0, 1, 3, 0}, NULL},
      {{2, 0, U8, 1, {4097}, {0}, {256}, {1}, 0, 0, 0, 0}, "beyond the end of buffer \"partial\""},
      {{2, 0, U8, 5, {16, 4, 4, 4, 4}, {16, 64, 256, 1024}, {16, 1, 1, 1, 1}, {1, 1, 1, 1, 8}, 0, 0, 0, 0}, NULL},
      {{2, 0, U8, 5, {16, 4, 4, 4, 5}, {16, 64, 256, 1024}, {16, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, 0, 0, 0, 0}, "beyond"},
      {{2, 0, F32, 3, {8, 8, 8}, {32, 256}, {3, 8, 8}, {1, 1, 1}, 1, 0, 0, 0}, NULL}, // interleaved: any box
      {{2, 0, F32, 3, {8, 8, 8}, {32, 256}, {8, 8, 8}, {1, 1, 1}, 2, 1, 0, 1}, NULL},
      {{2, 0, F32, 3, {8, 8, 8}, {32, 256}, {8, 8, 8}, {1, 1, 1}, 2, 2, 0, 0}, "interleave 32B needs swizzle 32B"},
      {{2, 16, F32, 3, {8, 8, 4}, {32, 256}, {8, 8, 4}, {1, 1, 1}, 2, 1, 0, 0}, "the address must be a multiple of 32"},
      {{2, 0, F32, 3, {8, 8, 4}, {48, 256}, {8, 8, 4}, {1, 1, 1}, 2, 1, 0, 0},
       "strides[0] is 48; it must be a multiple of 32"},
      {{2, 0, U4_8, 1, {8192}, {0}, {32}, {1}, 0, 0, 0, 0}, NULL},
      {{2, 0, U4_8, 1, {8193}, {0}, {32}, {1}, 0, 0, 0, 0}, "dims[0] of packed values must be a multiple of 2"},
      {{2, 0, U4_8, 1, {8194}, {0}, {32}, {1}, 0, 0, 0, 0}, "beyond"},
      {{2, 0, U4_16, 1, {8192}, {0}, {128}, {1}, 0, 3, 0, 0}, NULL},
      {{2, 0, U4_16, 1, {8192}, {0}, {64}, {1}, 0, 3, 0, 0}, "box[0] of these packed values must be 128"},
      {{2, 0, U4_16, 1, {8130}, {0}, {128}, {1}, 0, 0, 0, 0}, "dims[0] of packed values must be a multiple of 128"},
      {{2, 0, U4_16, 1, {8192}, {0}, {128}, {1}, 0, 6, 0, 0}, "packed values do not go with swizzle 6"},
      {{2, 0, U6_16, 1, {5376}, {0}, {128}, {1}, 0, 6, 0, 0}, NULL},
      {{2, 0, U6_16, 1, {5504}, {0}, {128}, {1}, 0, 6, 0, 0}, "beyond"},
      {{2, 0, U6_16, 3, {128, 2, 2}, {96, 192}, {128, 1, 1}, {1, 1, 1}, 1, 0, 0, 0}, "6 bits cannot be interleaved"},
      {{2, 0, U6_16, 1, {128}, {0}, {128}, {1}, 0, 0, 0, 1}, "NaN outside the bounds needs a floating type"},
      {{2, 0, 16, 1, {128}, {0}, {128}, {1}, 0, 0, 0, 0}, "data type 16 is not known"},
      {{2, 0, U8, 1, {128}, {0}, {128}, {1}, 3, 0, 0, 0}, "interleave, swizzle, l2_promotion or oob_fill"},
      {{2, 0, U8, 6, {128}, {0}, {128}, {1}, 0, 0, 0, 0}, "rank 6 is not from 1 to 5"},
      {{2, 0, U8, 0, {128}, {0}, {128}, {1}, 0, 0, 0, 0}, "rank 0"},
      {{4, 0, U8, 1, {128}, {0}, {128}, {1}, 0, 0, 0, 0}, "there is no buffer 4"},
      {{2, -16, U8, 1, {128}, {0}, {128}, {1}, 0, 0, 0, 0}, "offset -16 is negative"},
      {{3, 0, U8, 1, {16}, {0}, {16}, {1}, 0, 0, 0, 0}, NULL}, // the constant is aligned to 16
      {{3, 0, F32, 3, {1, 1, 1}, {32, 32}, {8, 1, 1}, {1, 1, 1}, 2, 1, 0, 0}, "a buffer aligned to 16"},
  };
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
    struct plan p;
    struct assay_error err = {0};
    sample_plan(&p);
    ((struct plan_argument *)p.steps[4].arguments)->map = &maps[i].map;
    enum assay_status status = plan_check(&p, NULL, NULL, &err);
    if (status != (maps[i].words ? ASSAY_ERR_INVALID : ASSAY_OK) ||
        (maps[i].words && !strstr(err.message, maps[i].words)))
      fail_msg("map %zu: %d, \"%s\" lacks \"%s\"", i, (int)status, err.message, maps[i].words ? maps[i].words : "");
    plan_release(&p);
  }
}

// The cubin's bound of 128 threads as a demand for just so many (.reqntid has the same form and another number).
static void test_required_block(void **state) {
  (void)state;
  static const uint8_t bound[] = {4, 5, 12, 0, 128, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  struct plan p;
  struct assay_error err = {0};
  sample_plan(&p);
  uint8_t *at = memmem(p.modules[0].bytes, p.modules[0].size, bound, sizeof bound);
  assert_non_null(at);
  at[1] = 0x10;
  assert_int_equal(plan_check(&p, NULL, NULL, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "steps[3]: kernel turn: it was compiled for blocks of 128 x 1 x 1 threads"));
  p.steps[3].block[0] = 128;
  assert_int_equal(plan_check(&p, NULL, NULL, &err), ASSAY_OK);
  plan_release(&p);
}

// The limits of counts and sizes, at the parser.
static void test_limits(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct plan p;
  struct buf b = {0};
  buf_puts(&b, "{\"assay_plan\": 1, \"task\": \"\", \"workload\": \"\", \"device\": \"cuda\", \"target\": \"sm_90\", "
               "\"toolchain\": \"\", \"modules\": [], \"buffers\": [");
  for (int i = 0; i <= PLAN_MAX_BUFFERS; i++)
    buf_printf(&b, "%s{\"name\": \"b%d\", \"role\": \"scratch\", \"bytes\": 1, \"alignment\": 1}", i ? ", " : "", i);
  buf_puts(&b, "], \"steps\": [], \"prepare_steps\": 0}");
  assert_int_equal(plan_parse(b.data, b.len, &p, &err), ASSAY_ERR_LIMIT);
  assert_non_null(strstr(err.message, "buffers: has 4097 elements; at most 4096 are allowed"));
  buf_clear(&b);
  buf_puts(&b, "[");
  for (size_t i = 0; i < PLAN_MAX_JSON_VALUES; i++)
    buf_puts(&b, "0,");
  assert_int_equal(plan_parse(b.data, b.len, &p, &err), ASSAY_ERR_LIMIT);
  buf_clear(&b);
  for (int i = 0; i < 100000; i++)
    buf_puts(&b, "[");
  assert_int_equal(plan_parse(b.data, b.len, &p, &err), ASSAY_ERR_SYNTAX); // and the stack holds
  buf_release(&b);
  char *text = sample_json(), *name = malloc(PLAN_MAX_NAME + 2);
  memset(name, 'n', PLAN_MAX_NAME + 1);
  name[PLAN_MAX_NAME + 1] = '\0';
  char *longer = spoil(text, "buffers", "partial", name);
  assert_int_equal(plan_parse(longer, strlen(longer), &p, &err), ASSAY_ERR_LIMIT);
  assert_non_null(strstr(err.message, "buffers[2].name: has 4097 bytes; at most 4096"));
  free(longer);
  free(name);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_base64),         cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_files),
      cmocka_unit_test(test_packed),         cmocka_unit_test(test_sources),      cmocka_unit_test(test_for_people),
      cmocka_unit_test(test_spoilt_texts),   cmocka_unit_test(test_spoilt_plans), cmocka_unit_test(test_counts),
      cmocka_unit_test(test_outputs),        cmocka_unit_test(test_targets),      cmocka_unit_test(test_other_code),
      cmocka_unit_test(test_limits),         cmocka_unit_test(test_tensor_maps),  cmocka_unit_test(test_required_block),
      cmocka_unit_test(test_ptx_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
