// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// modules: toolchain/directive
// Directive lines: what they mean for a workload, and what is said of every kind of mistake.
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assay/candidate.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "toolchain/directive/directive.h"

static long allocations_left = LONG_MAX;

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return allocations_left-- > 0 ? __real_base_realloc(p, n) : NULL;
}

// The workload of all tests: y[M, N] = x[M, K] w[N, K], with w a weight.
enum { M = 100, K = 72, N = 33 };
static const struct plan_symbol symbols[] = {{"M", M}, {"K", K}, {"N", N}};
static const char *const input_names[] = {"x", "w", "odd.1"}, *const output_names[] = {"y"};
static const struct tensor_type inputs[] = {
    {DTYPE_FLOAT, {2, {M, K}}}, {DTYPE_FLOAT, {2, {N, K}}}, {DTYPE_BFLOAT16, {1, {5}}}};
static const struct tensor_type outputs[] = {{DTYPE_FLOAT, {2, {M, N}}}};
static const struct plan_subject subject = {.task = "a/task",
                                            .workload = "w",
                                            .n_symbols = 3,
                                            .n_inputs = 3,
                                            .n_outputs = 1,
                                            .symbols = symbols,
                                            .input_names = input_names,
                                            .output_names = output_names,
                                            .inputs = inputs,
                                            .outputs = outputs,
                                            .statics = (const bool[]){false, true, false}};
enum { X, W, ODD, Y, FIRST_SCRATCH };

// One text and what became of it. The parameters of all kernels are as `sizes` says.
struct fixture {
  struct arena arena;
  struct directive_set set;
  struct plan plan;
  struct assay_error err;
  enum assay_status parsed, planned;
};

static void work_on(struct fixture *f, const char *text, int n_sizes, const uint32_t *sizes,
                    const struct plan_device *device, const struct plan_subject *of) {
  struct directive_kernel kernels[8];
  memset(f, 0, sizeof *f);
  f->arena.limit_bytes = DIRECTIVE_ARENA_BYTES;
  f->plan.device = device;
  f->parsed = directive_parse("a.cu", text, strlen(text), &f->arena, &f->set, &f->err);
  f->planned = ASSAY_ERR_USAGE;
  if (f->parsed != ASSAY_OK)
    return;
  assert_in_range(f->set.n_kernels, 0, 8);
  for (int i = 0; i < f->set.n_kernels; i++)
    kernels[i] = (struct directive_kernel){.symbol = f->set.kernels[i], .n_parameters = n_sizes, .sizes = sizes};
  f->planned = directive_plan(&f->set, kernels, of, &f->plan, &f->err);
}

static void work(struct fixture *f, const char *text, int n_sizes, const uint32_t *sizes,
                 const struct plan_device *device) {
  work_on(f, text, n_sizes, sizes, device, &subject);
}

static void release(struct fixture *f) {
  arena_release(&f->arena);
  arena_release(&f->plan.arena);
}

static void make(struct fixture *f, const char *text, int n_sizes, const uint32_t *sizes) {
  work(f, text, n_sizes, sizes, &plan_device_cuda);
  if (f->parsed != ASSAY_OK || f->planned != ASSAY_OK)
    fail_msg("%s", f->err.message);
}

// A deep network: x and 40 weights, of which the 33rd is prepared. x stays what is new in every call.
static void test_many_weights(void **state) {
  (void)state;
  enum { WEIGHTS = 40 };
  struct plan_subject deep = subject;
  char names[1 + WEIGHTS][8] = {"x"};
  const char *pointers[1 + WEIGHTS];
  struct tensor_type types[1 + WEIGHTS];
  bool statics[1 + WEIGHTS];
  struct fixture f;
  for (int i = 0; i <= WEIGHTS; i++) {
    if (i > 0)
      snprintf(names[i], sizeof names[i], "w%d", i);
    pointers[i] = names[i];
    types[i] = inputs[i > 0];
    statics[i] = i > 0;
  }
  deep.n_inputs = 1 + WEIGHTS;
  deep.input_names = pointers;
  deep.inputs = types;
  deep.statics = statics;
  work_on(&f,
          "// assay: scratch packed float[N * K]\n"
          "// assay: launch pack grid=1 block=64 args=w33, packed\n"
          "// assay: prepare\n"
          "// assay: launch mm grid=1 block=64 args=x, packed, w40, y\n",
          -1, NULL, &plan_device_cuda, &deep);
  if (f.parsed != ASSAY_OK || f.planned != ASSAY_OK)
    fail_msg("%s", f.err.message);
  assert_int_equal(f.plan.n_prepare, 1);
  release(&f);
  statics[33] = false;
  work_on(&f, "// assay: scratch p float[N * K]\n// assay: launch k grid=1 block=1 args=w33, p\n// assay: prepare\n",
          -1, NULL, &plan_device_cuda, &deep);
  assert_int_equal(f.planned, ASSAY_ERR_INVALID);
  assert_non_null(strstr(f.err.message, "k uses w33, which is new in every call"));
  release(&f);
}

// ---- expressions

// What an expression is worth, through a scalar argument.
static int64_t integer_of(const char *expr, const char *before) {
  char text[4096];
  struct fixture f;
  int64_t v;
  snprintf(text, sizeof text, "%s// assay: launch k grid=1 block=1 args=long(%s)\n", before, expr);
  make(&f, text, -1, NULL);
  memcpy(&v, f.plan.steps[0].arguments[0].bytes, sizeof v);
  release(&f);
  return v;
}

static void test_integers(void **state) {
  (void)state;
  static const struct {
    const char *expr;
    int64_t value;
  } rows[] = {
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"10 - 4 - 3", 3},
      {"100 / 7 / 2", 7},
      {"-7 / 2", -3},
      {"-7 % 3", -1},
      {"- - 4", 4},
      {"0x1F", 31},
      {"0XfF", 255},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775807 - 1", INT64_MIN},
      {"M", M},
      {"M*N+K", M * N + K},
      {"x.0", M},
      {"x.1 + 0", K},
      {"x.-1", K},
      {"x.-2", M},
      {"x.rank", 2},
      {"y.count", M * N},
      {"\"odd.1\".0", 5},
      {"\"odd.1\".count", 5},
      {"ceil_div(M, 32)", 4},
      {"ceil_div(96, 32)", 3},
      {"ceil_div(0, 32)", 0},
      {"ceil_div(-33, 32)", -1},
      {"round_up(M, 64)", 128},
      {"min(3, 1, 2)", 1},
      {"max(3, 1, 2, 9)", 9},
      {"M < N", 0},
      {"M > N", 1},
      {"M <= 100", 1},
      {"M >= 101", 0},
      {"M == 100", 1},
      {"M != 100", 0},
      {"1 && 0", 0},
      {"2 && 3", 1},
      {"0 || 5", 1},
      {"!M", 0},
      {"!0", 1},
      {"true + true", 2},
      {"false", 0},
      {"M > 50 ? 1 : 2", 1},
      {"M > 500 ? 1 : M > 90 ? 2 : 3", 2},
      {"0 && 1 / 0", 0}, // what does not count is not computed
      {"1 || 1 / 0", 1},
      {"K == 0 ? 1 / 0 : 4", 4},
      {"1.5 < 2", 1},
      {"1 < 2 == 1", 1},
      {"1 + 1 < 3 && 2 * 2 == 4", 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (integer_of(rows[i].expr, "") != rows[i].value)
      fail_msg("%s is %lld", rows[i].expr, (long long)integer_of(rows[i].expr, ""));
  assert_int_equal(integer_of("tiles * 2", "// assay: let tiles = ceil_div(M, 16)\n"), 14);
  assert_int_equal(integer_of("b", "// assay: let a = M\n// assay: let b = a * a\n"), M * M);
}

// The bits of a real number in a type.
static uint64_t bits_of(const char *type, const char *expr, const char *before) {
  char text[512];
  struct fixture f;
  uint64_t v = 0;
  snprintf(text, sizeof text, "%s// assay: launch k grid=1 block=1 args=%s(%s)\n", before, type, expr);
  make(&f, text, -1, NULL);
  memcpy(&v, f.plan.steps[0].arguments[0].bytes, f.plan.steps[0].arguments[0].size);
  release(&f);
  return v;
}

static uint64_t double_bits(double d) {
  uint64_t u;
  memcpy(&u, &d, sizeof u);
  return u;
}

static uint64_t float_bits(float d) {
  uint32_t u;
  memcpy(&u, &d, sizeof u);
  return u;
}

static void test_reals(void **state) {
  (void)state;
  assert_int_equal(bits_of("double", "1 / 3", ""), double_bits(1.0 / 3.0));
  assert_int_equal(bits_of("double", "1 / 3 * 3 - 1e-5", ""), double_bits(1.0 / 3.0 * 3.0 - 1e-5));
  assert_int_equal(bits_of("double", "ceil_div(7, 2) / 8", ""), double_bits(0.5));
  assert_int_equal(bits_of("double", "-(M % 7) / 4", ""), double_bits(-0.5));
  assert_int_equal(bits_of("float", "1 / sqrt(K)", ""), float_bits((float)(1.0 / sqrt(K))));
  assert_int_equal(bits_of("float", "-inf", ""), float_bits(-INFINITY));
  assert_int_equal(bits_of("float", "max(0.5, 2)", ""), float_bits(2));
  assert_int_equal(bits_of("float", "M > 5.5 ? 0.25 : 1", ""), float_bits(0.25F));
  assert_true(bits_of("float", "nan", "") > 0x7f800000);
  // A let is an integer unless something real is in it.
  assert_int_equal(bits_of("double", "half", "// assay: let half = 1 / 2\n"), double_bits(0));
  assert_int_equal(bits_of("double", "half", "// assay: let half = 1.0 / 2\n"), double_bits(0.5));
  assert_int_equal(bits_of("double", "b / 2", "// assay: let a = 1.0\n// assay: let b = a / 2\n"), double_bits(0.25));
}

static void test_small_floats(void **state) {
  (void)state;
  static const struct {
    const char *type, *expr;
    unsigned bits;
  } rows[] = {
      {"half", "0", 0x0000},
      {"half", "-0.0", 0x8000},
      {"half", "1", 0x3c00},
      {"half", "-2", 0xc000},
      {"half", "65504", 0x7bff},
      {"half", "65519.99", 0x7bff},
      {"half", "65520", 0x7c00},
      {"half", "1e9", 0x7c00},
      {"half", "-inf", 0xfc00},
      {"half", "nan", 0x7fff},
      {"half", "1.00048828125", 0x3c00}, // half way to the next: to even
      {"half", "1.00146484375", 0x3c02},
      {"half", "0.000000059604644775390625", 0x0001},  // 2^-24, the least
      {"half", "0.0000000298023223876953125", 0x0000}, // half of it
      {"half", "0.00000003", 0x0001},
      {"half", "0.00006103515625", 0x0400}, // 2^-14
      {"half", "0.000061", 0x03ff},
      {"half", "1999.5", 0x67d0},
      {"bf16", "1", 0x3f80},
      {"bf16", "-1.5", 0xbfc0},
      {"bf16", "3.14159265", 0x4049},
      {"bf16", "1.00390625", 0x3f80}, // half way: to even
      {"bf16", "1.01171875", 0x3f82},
      {"bf16", "3.3895e38", 0x7f7f},
      {"bf16", "3.4e38", 0x7f80},
      {"bf16", "inf", 0x7f80},
      {"bf16", "1e-40", 0x0001},
      {"bf16", "65280", 0x477f},

      {"e4m3", "1", 0x38}, // OCP 8-bit floating point: 448 is the largest, and there is no infinity
      {"e4m3", "-448", 0xfe},
      {"e4m3", "0.001953125", 0x01},
      {"e4m3", "1.0625", 0x38}, // half way: to even
      {"e5m2", "1", 0x3c},
      {"e5m2", "inf", 0x7c},
      {"e5m2", "57344", 0x7b},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (bits_of(rows[i].type, rows[i].expr, "") != rows[i].bits)
      fail_msg("%s(%s) is 0x%04x", rows[i].type, rows[i].expr, (unsigned)bits_of(rows[i].type, rows[i].expr, ""));
}

// ---- launches and arguments

static void test_launch(void **state) {
  (void)state;
  static const uint32_t sizes[] = {8, 8, 8, 4, 8, 4, 1};
  struct fixture f;
  make(&f,
       "// assay: task a/task\n"
       "// assay: launch ns::mm<128, 4 , ns::tile< unsigned int>, (3>2)> grid=ceil_div(N, 16),M,3 block=16, 8 "
       "shared=M*4 \\\n"
       "//   cluster=2 cooperative programmatic carveout=50 \\\r\n"
       "// assay: args=x, w + K * 2, y+0, M, N, float(0.5), bool(K)\n"
       "__global__ void nothing() {}\n",
       7, sizes);
  assert_int_equal(f.plan.n_steps, 1);
  assert_int_equal(f.plan.n_buffers, 4);
  assert_true(f.set.launches);
  const struct plan_step *s = &f.plan.steps[0];
  assert_string_equal(s->label, "ns::mm<128,4,ns::tile<unsigned int>,(3>2)>");
  assert_string_equal(f.set.kernels[0], s->label);
  assert_int_equal(s->grid[0], 3);
  assert_int_equal(s->grid[1], M);
  assert_int_equal(s->grid[2], 3);
  assert_int_equal(s->block[0], 16);
  assert_int_equal(s->block[1], 8);
  assert_int_equal(s->block[2], 1);
  assert_int_equal(s->shared_bytes, 400);
  assert_int_equal(s->cluster[0], 2);
  assert_int_equal(s->cluster[2], 1);
  assert_true(s->cooperative && s->programmatic);
  assert_int_equal(s->carveout, 50);
  assert_int_equal(s->n_arguments, 7);
  for (int i = 0; i < 7; i++)
    assert_int_equal(s->arguments[i].size, sizes[i]);
  assert_int_equal(s->arguments[1].n_pointers, 1);
  assert_int_equal(s->arguments[1].pointers[0].buffer, W);
  assert_int_equal(s->arguments[1].pointers[0].offset, K * 2 * 4);
  assert_int_equal(s->arguments[3].bytes[0], M);
  assert_int_equal(s->arguments[4].bytes[0], N);
  assert_int_equal(s->arguments[6].bytes[0], 1);
  assert_int_equal(f.plan.buffers[Y].bytes, M * N * 4);
  assert_int_equal(f.plan.buffers[ODD].bytes, 10);
  release(&f);
}

static void test_struct(void **state) {
  (void)state;
  // struct { char a; double b; struct { short c; struct { float *d; } e; char f; } g; int h; }
  struct inner {
    short c;
    struct {
      float *d;
    } e;
    char f;
  };
  struct outer {
    char a;
    double b;
    struct inner g;
    int h;
  };
  static const uint32_t size = sizeof(struct outer);
  struct fixture f;
  make(&f, "// assay: launch k grid=1 block=1 args={char(1), double(2), {short(3), {y + 7}, char(4)}, int(5)}\n", 1,
       &size);
  struct outer expected;
  memset(&expected, 0, sizeof expected);
  expected.a = 1;
  expected.b = 2;
  expected.g.c = 3;
  expected.g.f = 4;
  expected.h = 5;
  const struct plan_argument *a = &f.plan.steps[0].arguments[0];
  assert_int_equal(a->size, sizeof expected);
  assert_memory_equal(a->bytes, &expected, sizeof expected);
  assert_int_equal(a->n_pointers, 1);
  assert_int_equal(a->pointers[0].at, offsetof(struct outer, g) + offsetof(struct inner, e));
  assert_int_equal(a->pointers[0].offset, 28);
  release(&f);
}

static void test_steps(void **state) {
  (void)state;
  struct fixture f;
  make(&f,
       "// assay: scratch wt half[K * N] align=1024\n"
       "// assay: scratch part float[4*M]\n"
       "// assay: scratch big int64[2]\n"
       "// assay: launch transpose grid=1 block=32 args=w, wt\n"
       "// assay: prepare\n"
       "  //assay: fill part+M -inf count=2*M\n"
       "// assay: fill big -1\n"
       "// assay: fill wt 1.5 count=1 if=M > 1000\n"
       "// assay: copy part x+K count=K\n"
       "// assay: fill part 3 count=0\n"
       "// assay: launch sum grid=1 block=32 if=0 args=part\n"
       "// assay: launch transpose grid=2 block=32 if=M args=x, y\n",
       -1, NULL);
  assert_int_equal(f.plan.n_buffers, 7);
  assert_int_equal(f.plan.buffers[FIRST_SCRATCH].alignment, 1024);
  assert_int_equal(f.plan.buffers[FIRST_SCRATCH].bytes, K * N * 2);
  assert_int_equal(f.plan.n_prepare, 1);
  assert_int_equal(f.plan.n_steps, 5);
  assert_int_equal(f.set.n_kernels, 2);
  const struct plan_step *s = f.plan.steps;
  assert_int_equal(s[1].kind, PLAN_FILL);
  assert_int_equal(s[1].to.buffer, FIRST_SCRATCH + 1);
  assert_int_equal(s[1].to.offset, M * 4);
  assert_int_equal(s[1].bytes, 2 * M * 4);
  assert_int_equal(s[1].width, 4);
  assert_int_equal(s[1].value, 0xff800000);
  assert_int_equal(s[2].bytes, 16);
  assert_int_equal(s[2].width, 4);
  assert_int_equal(s[2].value, 0xffffffff);
  assert_int_equal(s[3].kind, PLAN_COPY);
  assert_int_equal(s[3].from.buffer, X);
  assert_int_equal(s[3].from.offset, K * 4);
  assert_int_equal(s[3].bytes, K * 4);
  assert_int_equal(s[4].grid[0], 2);
  release(&f);
}

static void test_tensor_map(void **state) {
  (void)state;
  static const uint32_t sizes[] = {128, 8};
  struct fixture f;
  make(&f,
       "// assay: scratch a bf16[M * 128]\n"
       "// assay: tensor_map ta of=a + 128 type=bf16 dims=128, M - 1 strides=128 box=64,32 swizzle=128 l2=256 oob=nan\n"
       "// assay: tensor_map tx of=x type=tf32 dims=K, M box=16,8\n"
       "// assay: launch k grid=1 block=1 args=ta, y\n",
       2, sizes);
  const struct plan_argument *a = &f.plan.steps[0].arguments[0];
  assert_int_equal(a->kind, PLAN_TENSOR_MAP);
  assert_int_equal(a->map->buffer, FIRST_SCRATCH);
  assert_int_equal(a->map->offset, 256);
  assert_int_equal(a->map->data_type, 9);
  assert_int_equal(a->map->rank, 2);
  assert_int_equal(a->map->dims[0], 128);
  assert_int_equal(a->map->dims[1], M - 1);
  assert_int_equal(a->map->strides[0], 256);
  assert_int_equal(a->map->box[1], 32);
  assert_int_equal(a->map->element_strides[1], 1);
  assert_int_equal(a->map->swizzle, 3);
  assert_int_equal(a->map->l2_promotion, 3);
  assert_int_equal(a->map->oob_fill, 1);
  release(&f);
}

static void test_opencl(void **state) {
  (void)state;
  static const uint32_t sizes[] = {8, DIRECTIVE_SIZE_LOCAL, 4};
  struct fixture f;
  work(&f, "// assay: launch k grid=4 block=64 args=y, local(64 * 4), M\n", 3, sizes, &plan_device_opencl);
  assert_int_equal(f.planned, ASSAY_OK);
  assert_int_equal(f.plan.steps[0].arguments[1].kind, PLAN_LOCAL_MEMORY);
  assert_int_equal(f.plan.steps[0].arguments[1].size, 256);
  release(&f);
  work(&f, "// assay: launch k grid=4 block=64 shared=3 args=y, local(64 * 4), M\n", 3, sizes, &plan_device_opencl);
  assert_string_equal(f.err.message, "a.cu:1:11: shared= is for CUDA: in OpenCL pass local(BYTES) as an argument");
  release(&f);
}

static void test_options(void **state) {
  (void)state;
  struct fixture f;
  make(&f,
       "// assay: option --use_fast_math -DTILE=128\n"
       "// assay: option --maxrregcount=64 \\\n"
       "//  -std=c++20 -DF(x)=(x+1)\n",
       0, NULL);
  assert_int_equal(f.set.n_options, 5);
  assert_string_equal(f.set.options[1], "-DTILE=128");
  assert_string_equal(f.set.options[4], "-DF(x)=(x+1)");
  assert_false(f.set.launches);
  release(&f);
}

static void test_launches(void **state) {
  (void)state;
  const char yes[] = "x\n // assay: launch k",
             no[] = "// assay: task launch\n// a launch: assay: launch\nassay: launch";
  assert_true(directive_launches(yes, strlen(yes)));
  assert_false(directive_launches(no, strlen(no)));
  assert_false(directive_launches("", 0));
}

// ---- mistakes

#define L "// assay: "
#define G L "launch k grid=1 block=1 args="
static const struct {
  const char *text, *message; // after "a.cu:"
} mistakes[] = {
    // words and lines
    {L "lauch k", "1:11: expected one of let, scratch, launch,"},
    {"\n\n  // assay: prepare now", "3:21: expected the end of the line, not `now`"},
    {L "let a = 1 \\", "1:21: a directive that ends in a backslash goes on in the next line"},
    {L "let a = 1 \\\nint x;", "1:21: a directive that ends in a backslash"},
    {L "let a = 1 \\\n// + * 2", "2:6: expected a number, a name or `(`, not `*`"},
    {L "let a = $", "1:19: expected a number, a name or `(`, not `$`"},
    {L "let a = \x01", "1:19: expected a number, a name or `(`, not `?`"},
    {L "let a = \"x", "1:19: expected a number, a name or `(`, not `\"x`"},
    {L "let a = 12ab", "1:19: expected a number, a name or `(`, not `12`"},
    {L "let a = 012", "1:19: `012` is not an integer: write it in decimal without leading zeros"},
    {L "let a = 0x", "1:19: `0x` is not an integer"},
    {L "let a = 9223372036854775808", "1:19: `9223372036854775808` does not fit into 64 bits"},
    {L "let 3 = 4", "1:15: expected a name, not `3`"},
    {L "let a 4", "1:17: expected `=`, not `4`"},
    {L "let a = (1", "1:21: expected `)`, not the end of the line"},
    {L "launch f grid=(4,2) block=1", "1:27: expected `)`, not `,`: lists have no brackets around them (grid=M,N)"},
    {L "let a = 1 ? 2", "1:24: expected `:` of `condition ? a : b`"},
    {L "let a = log(2)", "1:19: no function `log` (there are ceil_div, round_up, min, max and sqrt)"},
    {L "let a = cel_div(2, 2)", "1:19: no function `cel_div`; did you mean ceil_div? (there are"},
    {L "lanch k grid=1", "require, task, not `lanch`; did you mean launch?"},
    {L "launch k gird=1", "args=, not `gird`; did you mean grid?"},
    {L "let a = ceil_div(2)", "1:19: ceil_div takes 2 arguments, not 1"},
    {L "let a = ceil_div(2, 3, 4)", "1:19: ceil_div takes 2 arguments, not 3"},
    {L "let a = x.foo", "1:21: expected an extent (x.0, x.-1), x.rank or x.count, not `foo`"},
    {L "prepare\n" L "prepare", "2:18: prepare is said twice (first in line 1)"},
    {L "option --include-path=/", "1:18: option --include-path=/ is not allowed: there are --use_fast_math"},
    {L "option -I/etc", "1:18: option -I/etc is not allowed"},
    {L "option -DX=1 -include", "1:24: option -include is not allowed"},
    {L "option -D1", "1:18: option -D1 is not allowed"},
    {L "option --maxrregcount=", "1:18: option --maxrregcount= is not allowed"},
    {L "option", "1:17: expected a flag for the compiler, not the end of the line"},
    {L "require M > 3", "1:24: expected `--` and a sentence"},
    // keys
    {L "launch", "1:17: expected the name of a kernel, not the end of the line"},
    {L "launch k<3", "1:21: expected `>` that closes the kernel's template arguments"},
    {L "launch k grid=1", "1:26: block= is missing"},
    {L "launch k grid=1 grid=1", "1:27: grid is said twice"},
    {L "launch k grid 1", "1:25: expected `=` after grid, not `1`"},
    {L "launch k grid=1 blok=1", "1:27: expected one of grid=, block=, shared=, cluster=, cooperative, programmatic,"},
    {L "launch k grid=1,2,3,4 block=1", "1:31: more than 3 numbers"},
    {L "launch k grid=1 block=1 args=", "1:40: expected a number, a name or `(`, not the end of the line"},
    {G "{int(1)", "1:47: expected `,` or `}`, not the end of the line"},
    {L "scratch a foo[3]", "1:21: expected a type (float, half,"},
    {L "scratch a int 3", "1:25: expected `[`"},
    {L "tensor_map t of=x type=bf17 dims=1 box=1", "1:34: type is one of uint8, uint16,"},
    {L "tensor_map t of=x type=bf16 dims=1", "1:45: box= is missing"},
    {L "copy y x", "1:19: count= is missing"},
    // values
    {L "let a = Q", "1:19: no number is named `Q`: there are M, K, N; `// assay: let Q = ...` above this line"},
    {L "let a = b\n" L "let b = 1", "1:19: no number is named `b`"},
    {L "let a = x", "1:19: x is a buffer, not a number: write x.count, x.0 or x.rank"},
    {L "let a = q.0", "1:19: no tensor is named `q`: the task's are x, w, odd.1, y"},
    {L "let a = x.2", "1:19: x.2 is beyond its rank of 2"},
    {L "let a = x.-3", "1:19: x.-3 is beyond its rank of 2"},
    {L "let M = 1", "1:11: M is a dimension of the task: choose another name"},
    {L "let a = 1\n" L "let a = 2", "2:11: a has a value already"},
    {L "let a = M / (N - 33)", "1:21: 100 / 0: division by zero"},
    {L "let a = M % 0", "1:21: 100 % 0: division by zero"},
    {L "let a = ceil_div(M, 0)", "1:19: ceil_div(100, 0): the second number must be greater than 0"},
    {L "let a = 9223372036854775807 + M", "1:39: 9223372036854775807 + 100 does not fit into 64 bits"},
    {L "let a = 4294967296 * 4294967296", "1:30: 4294967296 * 4294967296 does not fit into 64 bits"},
    {L "let a = -(-9223372036854775807 - 1)", "1:19: 0 - -9223372036854775808 does not fit"},
    {L "let a = (-9223372036854775807 - 1) / -1", "does not fit into 64 bits"},
    {L "let a = round_up(9223372036854775807, 2)", "does not fit into 64 bits"},
    {L "let a = 0.5\n" L "launch k grid=a block=1", "2:25: a is a real number (0.5): an integer is wanted here"},
    {L "launch k grid=1.5 block=1", "1:25: a real number: an integer is wanted here"},
    {L "let a = 1.0 / 0", "division by zero"},
    {L "let a = sqrt(-1)", "sqrt(-1): the number must not be negative"},
    {L "require M < 50 -- M is at most 50, don't ask; it's a \"tile\"",
     "1:11: this workload is beyond the kernel: M is at most 50, don't ask; it's a \"tile\""},
    // where a tool has put lines, those of the author
    {L "let a = 1\n#define a 1\n# line 7\n\n" L "let b = Q", "a.cu:8:19: no number is named `Q`"},
    {L "let a = 1\n#linear 7\n" L "let b = Q", "a.cu:3:19: no number is named `Q`"},
    // parameters: a word has no number, and no launch line can use it
    {L "tune A fast,slow\n" L "let b = A", "2:19: no number is named `A`"},
    {L "tune A 'x,y'\n" L "tune B 1u,2\n" L "tune C 2.5,x\n" L "let b = C * Q", "4:23: no number is named `Q`"},
    {L "tune A", "1:17: expected a value"},
    // launches
    {L "launch k grid=M-100 block=1", "1:26: grid.x is 0: 1 to 2147483647 is allowed (leave the launch out with if="},
    {L "launch k grid=1,-1 block=1", "grid.y is -1: 1 to"},
    {L "launch k grid=1 block=1,1,65537", "block.z is 65537: 1 to 65536"},
    {L "launch k grid=1 block=1 shared=-1", "shared is -1: 0 to"},
    {L "launch k grid=1 block=1 carveout=101", "carveout is 101: 0 to 100"},
    {G "x", "1:11: k takes 3 parameters, args= gives 1"},
    {G "x, y, 5, 6", "k takes 3 parameters, args= gives 4"},
    {G "x, 4294967296, 5", "1:43: 4294967296 does not fit into the kernel's parameter of 4 bytes: make it long"},
    {G "x, -2147483649, 5", "does not fit into the kernel's parameter of 4 bytes"},
    {G "x, y, 5", "1:43: parameter 2 of k has 4 bytes, this argument 8"},
    {G "x, long(5), 5", "1:43: parameter 2 of k has 4 bytes, this argument 8: choose a type of that width"},
    {G "x, int(2147483648), 5", "1:47: 2147483648 does not fit into int (-2147483648 to 2147483647)"},
    {G "x, uint(-1), 5", "-1 does not fit into uint (0 to 4294967295)"},
    {G "x, bool(2) ? 1 : 2, 5", "1:51: expected one of grid=, block=,"},
    {G "x + M * K + 1, 1, 2", "x + 7201 is outside of its 7200 elements"},
    {G "x - 1, 1, 2", "x + -1 is outside of its 7200 elements"},
    {G "1 + x, 1, 2", "1:44: x is a buffer, not a number"},
    {G "x * 2, 1, 2", "1:40: x is a buffer, not a number"},
    {G "x, local(4), 2", "local(...) is for OpenCL: CUDA's shared memory is asked for with shared="},
    {G "x, {1}, 2", "1:44: the width of this number is not known: write int(...)"},
    {G "x, {local(3)}, 2", "local(...) cannot stand in a struct"},
    {L "tensor_map t of=x type=float dims=K,M box=4,4\n" G "{t}, 1, 2",
     "the tensor_map t must be a parameter of its own"},
    {L "tensor_map t of=x type=float dims=K,M box=4,4\n" G "t, 1, 2",
     "2:40: parameter 1 of k has 8 bytes, this argument 128: a tensor_map goes to"},
    // memory
    {L "scratch x float[3]", "1:11: the name x is taken already"},
    {L "scratch a float[-3]", "scratch of -3 elements"},
    {L "scratch a float[9223372036854775807]", "scratch of 9223372036854775807 elements"},
    {L "scratch a float[3] align=3", "1:36: an alignment of 3: powers of two up to 1048576"},
    {L "scratch a float[3] align=2097152", "an alignment of 2097152"},
    {L "fill q 0",
     "1:16: no buffer is named `q`: there are x, w, odd.1, y; `// assay: scratch q float[...]` makes one"},
    {L "fill y + M + 1 0", "1:22: put the sum after y + in parentheses"},
    {L "fill x 0", "1:16: x is an input, which cannot be written"},
    {L "fill y + (M * N + 1) 0", "y + 3301 is outside of its 3300 elements"},
    {L "fill y 0 count=3301", "1:26: 3301 elements, but y has 3300 from there on"},
    {L "fill y 0 count=-1", "-1 elements"},
    {L "scratch d double[3]\n" L "fill d 1.5", "a fill repeats 4 bytes: of double only values like 0 and -1"},
    {L "copy w x count=1", "1:16: w is an input, which cannot be written"},
    {L "copy y \"odd.1\" count=1", "a copy does not convert: y holds float, odd.1 holds bf16"},
    {L "copy y+3299 x count=2", "2 elements, but y has 1 from there on"},
    {L "scratch s float[3]\n" L "copy s x count=4", "4 elements, but s has 3"},
    {L "fill y 0\n" L "prepare", "2:11: what stands above `prepare` may use weights and scratch only: a fill uses y"},
    {L "launch k grid=1 block=1 args=w,1,2\n" L "launch k grid=1 block=1 args=x,1,2\n" L "prepare",
     "3:11: what stands above `prepare` may use weights and scratch only: k uses x, which is new in every call"},
    // tensor maps
    {L "tensor_map t of=x+1 type=float dims=K,M box=4,4", "1:27: the tensor map begins 4 bytes after the start of x"},
    {L "tensor_map t of=x type=float dims=K,M+1 box=4,4", "1:27: the tensor map reaches beyond x"},
    {L "tensor_map t of=x type=float dims=K,M strides=K+1 box=4,4", "a row of the tensor map is 292 bytes apart"},
    {L "tensor_map t of=x type=float dims=K,M strides=K,1 box=4,4", "2 strides for a tensor map of 2 dimensions: 1"},
    {L "tensor_map t of=x type=float dims=K,M box=4", "1 box extents for a tensor map of 2 dimensions"},
    {L "tensor_map t of=x type=float dims=K,M box=4,257", "box extent 257 of the tensor map: 1 to 256"},
    {L "tensor_map t of=x type=float dims=K,0 box=4,4", "dimension 0 of the tensor map: 1 to 4294967296"},
    {L "tensor_map t of=x type=float dims=K,M box=3,4", "the box is 12 bytes wide: it must be a multiple of 16"},
    {L "tensor_map t of=x type=float dims=K,M box=64,4 swizzle=128", "the box is 256 bytes wide: with swizzle="},
    {L "tensor_map x of=x type=float dims=K,M box=4,4", "the name x is taken already"},
};

static void test_mistakes(void **state) {
  (void)state;
  static const uint32_t sizes[] = {8, 4, 4};
  int n = 0;
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    struct fixture f;
    work(&f, mistakes[i].text, 3, sizes, &plan_device_cuda);
    bool failed = f.parsed != ASSAY_OK || f.planned != ASSAY_OK;
    if (!failed || strncmp(f.err.message, "a.cu:", 5) != 0 || !strstr(f.err.message, mistakes[i].message)) {
      print_error("%s\n  gives  %s\n  not    %s\n", mistakes[i].text, failed ? f.err.message : "no error",
                  mistakes[i].message);
      n++;
    }
    release(&f);
  }
  assert_int_equal(n, 0);
}

static void test_limits(void **state) {
  (void)state;
  struct fixture f;
  size_t n = 200000;
  char *text = malloc(n + 64);
  assert_non_null(text);
  // Nesting does not become recursion without end; neither does a long chain.
  static const struct {
    const char *unit, *message;
  } rows[] = {{"(", "nested more than 64 deep"},
              {"-", "nested more than 64 deep"},
              {"1?", "nested more than 64 deep"},
              {"min(1,", "nested more than 64 deep"},
              {"1+", "more than 1024 terms"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t used = (size_t)sprintf(text, L "let a = ");
    // Blanks keep `--` apart.
    while (used < n)
      used += (size_t)sprintf(text + used, "%s ", rows[i].unit);
    work(&f, text, 0, NULL, &plan_device_cuda);
    assert_int_equal(f.parsed, ASSAY_ERR_LIMIT);
    assert_non_null(strstr(f.err.message, rows[i].message));
    release(&f);
  }
  size_t used = (size_t)sprintf(text, G);
  while (used < n)
    text[used++] = '{';
  text[used] = '\0';
  work(&f, text, 0, NULL, &plan_device_cuda);
  assert_int_equal(f.parsed, ASSAY_ERR_LIMIT);
  release(&f);
  used = 0;
  while (used < n)
    used += (size_t)sprintf(text + used, L "fill y 1\n");
  work(&f, text, 0, NULL, &plan_device_cuda);
  assert_int_equal(f.parsed, ASSAY_ERR_LIMIT);
  assert_non_null(strstr(f.err.message, "a.cu:4097:"));
  release(&f);
  used = 0;
  for (int i = 0; i < 300; i++)
    used += (size_t)sprintf(text + used, L "let a%d = 1\n", i);
  work(&f, text, 0, NULL, &plan_device_cuda);
  assert_int_equal(f.parsed, ASSAY_ERR_LIMIT);
  assert_non_null(strstr(f.err.message, "a.cu:257:11: more than 256 names"));
  release(&f);
  used = (size_t)sprintf(text, L "let ");
  memset(text + used, 'a', 256);
  strcpy(text + used + 256, " = 1\n");
  work(&f, text, 0, NULL, &plan_device_cuda);
  assert_non_null(strstr(f.err.message, "a name of more than 255 characters"));
  release(&f);
  free(text);
}

// The slowest that the limits let through: long names that differ at their ends, looked up as often as may be.
static void test_worst_case(void **state) {
  (void)state;
  struct fixture f;
  char name[256], *text = malloc((size_t)20 << 20);
  size_t used = 0;
  assert_non_null(text);
  memset(name, 'a', sizeof name);
  name[250] = '\0';
  for (int i = 0; i < DIRECTIVE_MAX_LETS; i++)
    used += (size_t)sprintf(text + used, L "let %s%d = 1\n", name, i);
  for (int i = 0; i < 60; i++) {
    used += (size_t)sprintf(text + used, L "require %s255", name);
    for (int j = 0; j < 450; j++)
      used += (size_t)sprintf(text + used, "+%s255", name);
    used += (size_t)sprintf(text + used, " -- so\n");
  }
  int64_t start = clock_monotonic_ns();
  work(&f, text, 0, NULL, &plan_device_cuda);
  assert_int_equal(f.planned, ASSAY_OK);
  print_message("%zu bytes of directives: %.0f ms\n", used, (double)(clock_monotonic_ns() - start) * 1e-6);
  release(&f);
  free(text);
}

static void test_allocations_fail(void **state) {
  (void)state;
  const char text[] =
      L "let a = M + 1\n" L "scratch s float[a]\n" L "fill s 0\n" L "tensor_map t of=x type=float dims=K,M box=4,4\n" L
        "launch k<3> grid=a block=1 args=x, y + 1, t, {int(3), w}\n" L "option -DX=3\n";
  struct fixture f;
  long n = 0;
  do {
    allocations_left = n++;
    work(&f, text, -1, NULL, &plan_device_cuda);
    allocations_left = LONG_MAX;
    if (f.parsed != ASSAY_OK || f.planned != ASSAY_OK)
      assert_true(f.err.status == ASSAY_ERR_NOMEM || f.err.status == ASSAY_ERR_LIMIT);
    release(&f);
  } while (f.planned != ASSAY_OK && n < 1000);
  assert_in_range(n, 2, 999);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_weights), cmocka_unit_test(test_integers),   cmocka_unit_test(test_reals),
      cmocka_unit_test(test_small_floats), cmocka_unit_test(test_launch),     cmocka_unit_test(test_struct),
      cmocka_unit_test(test_steps),        cmocka_unit_test(test_tensor_map), cmocka_unit_test(test_opencl),
      cmocka_unit_test(test_options),      cmocka_unit_test(test_launches),   cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_limits),       cmocka_unit_test(test_worst_case), cmocka_unit_test(test_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
