// SPDX-License-Identifier: Apache-2.0
// Sources with directive lines to checked plans, through a sandboxed builder: no GPU is needed. What hostile sources
// try in the compiler reaches nothing.
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "assay/candidate.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "compute/nvrtc.h"
#include "sandbox/sandbox.h"
#include "skip.h"
#include "toolchain/program.h"

#define MS INT64_C(1000000)

// ---- the workload: y[M, N] = x[M, K] w[N, K]^T, w a weight

enum { M = 96, N = 64, K = 128 };
static const struct plan_symbol symbols[] = {{"M", M}, {"N", N}, {"K", K}};
static const char *const input_names[] = {"x", "w"}, *const output_names[] = {"y"};
static const struct tensor_type floats[] = {{DTYPE_FLOAT, {2, {M, K}}}, {DTYPE_FLOAT, {2, {N, K}}}};
static const struct tensor_type halves[] = {{DTYPE_BFLOAT16, {2, {M, K}}}, {DTYPE_BFLOAT16, {2, {N, K}}}};
static const struct tensor_type outputs[] = {{DTYPE_FLOAT, {2, {M, N}}}};
static const struct plan_subject subject = {.task = "a/task",
                                            .workload = "M=96, N=64, K=128",
                                            .n_symbols = 3,
                                            .n_inputs = 2,
                                            .n_outputs = 1,
                                            .symbols = symbols,
                                            .input_names = input_names,
                                            .output_names = output_names,
                                            .inputs = floats,
                                            .outputs = outputs,
                                            .statics = (const bool[]){false, true}};

// ---- one build

static bool have_nvrtc;
static struct builder *shared; // warm, for all tests that do not ask for another

struct fixture {
  struct program_options options;
  char *folder;
  struct build_result result;
  struct program *program;
  struct plan plan;
  struct plan_report report;
  struct assay_error err;
};

static struct assay_paths paths = {.builder = ASSAY_BINARY_DIR "/assay-builder", .temporary = "/tmp"};

static void fixture_init(struct fixture *f, const struct toolchain *t) {
  memset(f, 0, sizeof *f);
  assert_int_equal(sandbox_folder_make("/tmp", &f->folder, &f->err), ASSAY_OK);
  f->options = (struct program_options){.toolchain = t,
                                        .target = t == &toolchain_opencl ? "" : "sm_90a",
                                        .name = t == &toolchain_opencl ? "a.cl" : "a.cu",
                                        .builder = t == &toolchain_opencl ? NULL : shared,
                                        .paths = &paths,
                                        .folder = f->folder,
                                        .timeout_ns = 60000 * MS,
                                        .memory_bytes = (size_t)4 << 30,
                                        .file_bytes = (size_t)64 << 20};
}

static void build(struct fixture *f, const char *source) {
  struct program_build *b = NULL;
  enum assay_status status = program_start(&f->options, source, strlen(source), &b, &f->err);
  if (status == ASSAY_OK)
    status = program_finish(b, &f->result, &f->program, &f->err);
  if (status != ASSAY_OK)
    fail_msg("%s", f->err.message);
  assert_true((f->result.outcome == BUILD_OK) == (f->program != NULL));
  assert_null(f->result.library);
}

static void make_plan(struct fixture *f, const struct plan_subject *s) {
  if (f->result.outcome != BUILD_OK)
    fail_msg("%s", f->result.diagnostics);
  if (program_plan(f->program, s, &f->plan, &f->report, &f->err) != ASSAY_OK)
    fail_msg("%s", f->err.message);
}

static void fixture_release(struct fixture *f) {
  plan_report_release(&f->report);
  plan_release(&f->plan);
  program_release(f->program);
  build_result_release(&f->result);
  sandbox_folder_remove(f->folder);
  assert_int_equal(access(f->folder, F_OK), -1);
  base_free(f->folder);
}

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("expected \"%s\" in:\n%s", part, text);
}

// Builds and plans; the plan is there and was checked.
static void good(struct fixture *f, const struct toolchain *t, const char *source, const struct plan_subject *s) {
  fixture_init(f, t);
  build(f, source);
  make_plan(f, s);
  if (f->report.outcome != PLAN_MADE)
    fail_msg("%s", f->report.detail);
  struct buf text;
  buf_init(&text);
  assert_int_equal(plan_print(&f->plan, &text, &f->err), ASSAY_OK);
  print_message("%s", buf_str(&text));
  buf_release(&text);
}

#define NEED_NVRTC()                                                                                                   \
  if (!have_nvrtc)                                                                                                     \
  SKIP_BECAUSE("no NVRTC here")

// ---- honest sources

static void test_single(void **state) {
  (void)state;
  struct fixture f;
  NEED_NVRTC();
  good(&f, &toolchain_nvrtc,
       "// assay: task a/task\n"
       "// assay: launch mm grid=ceil_div(M * N, 256) block=256 args=x, w, y, M, N, K\n"
       "__global__ void mm(const float *x, const float *w, float *y, int m, int n, long long k) {\n"
       "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
       "  if (i >= m * n) return;\n"
       "  float s = 0;\n"
       "  for (long long j = 0; j < k; j++) s += x[i / n * k + j] * w[i % n * k + j];\n"
       "  y[i] = s;\n"
       "}\n",
       &subject);
  const struct plan_step *s = f.plan.steps;
  assert_int_equal(f.plan.n_steps, 1);
  assert_string_equal(s->kernel, "_Z2mmPKfS0_Pfiix");
  assert_string_equal(s->label, "mm");
  assert_int_equal(s->grid[0], 24);
  assert_int_equal(s->n_arguments, 6);
  // Bare integers are as wide as the kernel's parameters.
  assert_int_equal(s->arguments[4].size, 4);
  assert_int_equal(s->arguments[5].size, 8);
  assert_int_equal(s->arguments[5].bytes[0], K);
  assert_string_equal(f.plan.device->name, "cuda");
  assert_string_equal(f.plan.target, "sm_90a");
  assert_has(f.plan.toolchain, "NVRTC 1");
  assert_has(f.result.compiler_version, "NVRTC 1");
  assert_has(f.result.command, "nvrtc --gpu-architecture=sm_90a a.cu");
  assert_string_equal(f.result.diagnostics, "");
  assert_true(f.result.elapsed_ns > MS && f.result.cpu_ns > MS);
  fixture_release(&f);
}

// What is built to the same has the same hash, whatever the source looks like; the launch lines are a part of it.
static void test_built(void **state) {
  (void)state;
#define TAIL "__global__ void twice(const float *x, float *y, int n) {\n"
  static const char *const sources[] = {
      "// assay: launch twice grid=ceil_div(M, 256) block=256 args=x, y, M\n" TAIL
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];\n}\n",
      "// assay: task a/task\n// the same in other words\n//  assay:  launch twice grid=ceil_div(M, 256)   block=256 "
      "args=x, y, M\n" TAIL
      "  int at = blockIdx.x * blockDim.x + threadIdx.x;\n  if (at >= n) return;\n  y[at] = 2 * x[at];\n}\n",
      "// assay: launch twice grid=ceil_div(M, 128) block=128 args=x, y, M\n" TAIL
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];\n}\n",
      "// assay: launch twice grid=ceil_div(M, 256) block=256 args=x, y, M\n" TAIL
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 3 * x[i];\n}\n"};
#undef TAIL
  char built[4][65];
  NEED_NVRTC();
  for (int i = 0; i < 4; i++) {
    struct fixture f;
    fixture_init(&f, &toolchain_nvrtc);
    build(&f, sources[i]);
    assert_int_equal(f.result.outcome, BUILD_OK);
    memcpy(built[i], f.result.built, sizeof built[i]);
    assert_int_equal(strlen(built[i]), 64);
    fixture_release(&f);
  }
  assert_string_equal(built[0], built[1]);
  assert_string_not_equal(built[0], built[2]);
  assert_string_not_equal(built[0], built[3]);
}

static void test_templates(void **state) {
  (void)state;
  struct fixture f;
  const char *const defines[] = {"WIDTH=2", NULL};
  const char source[] =
      "// assay: option -DSCALE=3 --use_fast_math\n"
      "// assay: launch ours::mm<WIDTH, float> grid=1 block=32 args=x, y, float(1 / sqrt(K))\n"
      "// assay: launch ours::mm<4, ours::big> grid=1 block=32 args=x, y, {int(M), char(1), y + N}\n"
      "namespace ours {\n"
      "struct big { int a; char b; float *c; };\n"
      "template <int W, class T> __global__ void mm(const float *x, float *y, T t) { y[W] = x[SCALE]; }\n"
      "}\n";
  NEED_NVRTC();
  fixture_init(&f, &toolchain_nvrtc);
  f.options.defines = defines;
  build(&f, source);
  make_plan(&f, &subject);
  if (f.report.outcome != PLAN_MADE)
    fail_msg("%s", f.report.detail);
  assert_string_equal(f.plan.steps[0].label, "ours::mm<WIDTH,float>");
  assert_has(f.plan.steps[0].kernel, "Li2E");
  assert_int_equal(f.plan.steps[1].arguments[2].size, 16);
  assert_int_equal(f.plan.steps[1].arguments[2].pointers[0].at, 8);
  assert_has(f.result.command, "-DWIDTH=2 -DSCALE=3 --use_fast_math a.cu");
  fixture_release(&f);
}

static void test_several(void **state) {
  (void)state;
  struct fixture f;
  NEED_NVRTC();
  good(&f, &toolchain_nvrtc,
       "// assay: let splits = K > 64 ? 4 : 1\n"
       "// assay: scratch wt float[K * N]\n"
       "// assay: scratch part float[splits * M * N] align=512\n"
       "// assay: scratch done uint32[1]\n"
       "// assay: launch transpose grid=ceil_div(K, 32),ceil_div(N, 32) block=32,8 args=w, wt, K, N\n"
       "// assay: prepare\n"
       "// assay: fill done 0\n"
       "// assay: launch split grid=N / 16, M / 16, splits block=16,16 shared=2 * 16 * 17 * 4 args=x, wt, part, \\\n"
       "//   M, N, K, done\n"
       "// assay: launch sum grid=ceil_div(M * N, 256) block=256 if=splits > 1 args=part, y, M * N, splits\n"
       "// assay: copy y part count=M * N if=splits == 1\n"
       "#include <cuda_fp16.h>\n"
       "__global__ void transpose(const float *a, float *b, int k, int n) { b[n] = a[k]; }\n"
       "__global__ void split(const float *x, const float *w, float *p, int m, int n, int k, unsigned *d) {\n"
       "  extern __shared__ float tile[];\n"
       "  tile[threadIdx.x] = x[m] * w[n];\n"
       "  __syncthreads();\n"
       "  p[k] = tile[0];\n"
       "  atomicAdd(d, 1u);\n"
       "}\n"
       "__global__ void sum(const float *p, float *y, int n, int s) { y[n] = p[s]; }\n",
       &subject);
  assert_int_equal(f.plan.n_prepare, 1);
  assert_int_equal(f.plan.n_steps, 4);
  assert_int_equal(f.plan.n_buffers, 6);
  assert_int_equal(f.plan.buffers[4].bytes, 4 * M * N * 4);
  assert_int_equal(f.plan.steps[2].grid[2], 4);
  assert_int_equal(f.plan.steps[2].shared_bytes, 2176);
  fixture_release(&f);
}

// Loads tiles by the copy engine and multiplies them with the tensor cores of sm_90a.
static const char wgmma[] =
    "// assay: require M % 64 == 0 || M == 96 -- M must be a multiple of 32\n"
    "// assay: tensor_map mx of=x type=bf16 dims=K,M box=64,64 swizzle=128 l2=128\n"
    "// assay: tensor_map mw of=w type=bf16 dims=K,N box=64,64 swizzle=128 l2=128\n"
    "// assay: launch mm<64> grid=ceil_div(N, 64),ceil_div(M, 64) block=128 shared=2 * 64 * 64 * 2 + 1024 \\\n"
    "//   cluster=1,2 carveout=100 args=mx, mw, y, M, N, K\n"
    "#include <cuda_bf16.h>\n"
    "struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };\n"
    "template <int TILE> __global__ void __cluster_dims__(1, 2) mm(const __grid_constant__ CUtensorMap mx,\n"
    "    const __grid_constant__ CUtensorMap mw, float *y, int m, int n, int k) {\n"
    "  extern __shared__ __align__(1024) __nv_bfloat16 tiles[];\n"
    "  __shared__ __align__(8) unsigned long long full;\n"
    "  unsigned bar = (unsigned)__cvta_generic_to_shared(&full), a = (unsigned)__cvta_generic_to_shared(tiles);\n"
    "  unsigned b = a + TILE * 64 * 2;\n"
    "  float d[32] = {};\n"
    "  if (threadIdx.x == 0) {\n"
    "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" ::\"r\"(bar));\n"
    "    asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
    "%3}], [%4];\"\n"
    "      ::\"r\"(a), \"l\"(&mx), \"r\"(0), \"r\"((int)blockIdx.y * TILE), \"r\"(bar) : \"memory\");\n"
    "    asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
    "%3}], [%4];\"\n"
    "      ::\"r\"(b), \"l\"(&mw), \"r\"(0), \"r\"((int)blockIdx.x * 64), \"r\"(bar) : \"memory\");\n"
    "  }\n"
    "  __syncthreads();\n"
    "  unsigned long long da = (a & 0x3ffff) >> 4 | 1ull << 62, db = (b & 0x3ffff) >> 4 | 1ull << 62;\n"
    "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
    "  asm volatile(\"{\\n\"\n"
    "    \"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\\n\"\n"
    "    \"}\" : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(da), \"l\"(db));\n"
    "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
    "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
    "  y[threadIdx.x] = d[0] + d[1] + d[2] + d[3] + (float)(m + n + k);\n"
    "}\n";

static void test_wgmma(void **state) {
  (void)state;
  struct fixture f;
  struct plan_subject s = subject;
  NEED_NVRTC();
  s.inputs = halves;
  good(&f, &toolchain_nvrtc, wgmma, &s);
  const struct plan_argument *a = f.plan.steps[0].arguments;
  assert_int_equal(a[0].kind, PLAN_TENSOR_MAP);
  assert_int_equal(a[0].map->strides[0], K * 2);
  assert_int_equal(a[1].map->dims[1], N);
  assert_int_equal(f.plan.steps[0].cluster[1], 2);
  plan_release(&f.plan);
  // The same program, a workload that it does not do.
  struct plan_symbol other[] = {{"M", 33}, {"N", N}, {"K", K}};
  s.symbols = other;
  make_plan(&f, &s);
  assert_int_equal(f.report.outcome, PLAN_REFUSED);
  assert_string_equal(f.report.detail, "a.cu:1:11: this workload is beyond the kernel: M must be a multiple of 32");
  fixture_release(&f);
}

// The headers that kernels of today are written with.
static void test_headers(void **state) {
  (void)state;
  static const char *const headers[] = {
      "cuda_fp16.h",          "cuda_bf16.h",  "cuda_fp8.h",           "mma.h",
      "cooperative_groups.h", "cuda/barrier", "cuda/std/type_traits", "cuda_pipeline.h"};
  NEED_NVRTC();
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    struct fixture f;
    char source[512];
    snprintf(source, sizeof source,
             "#include <%s>\n// assay: launch k grid=1 block=1 args=x, w, y\n"
             "__global__ void k(const float *x, const float *w, float *y) { y[0] = x[0] + w[0]; }\n",
             headers[i]);
    fixture_init(&f, &toolchain_nvrtc);
    build(&f, source);
    make_plan(&f, &subject);
    assert_int_equal(f.report.outcome, PLAN_MADE);
    print_message("%-24s %7.1f ms\n", headers[i], (double)f.result.elapsed_ns * 1e-6);
    fixture_release(&f);
  }
}

// ---- sources that are wrong

#define KERNEL "__global__ void k(const float *x, const float *w, float *y) { y[0] = x[0] + w[0]; }\n"
#define LAUNCH "// assay: launch k grid=1 block=1 args=x, w, y\n"

static const struct {
  const char *source, *message;
} rejected[] = {
    {LAUNCH "__global__ void k(float *y) { y[0] = 1 }\n", "a.cu:2:40: error: expected a \";\"\n"},
    {LAUNCH "#define SIX 6000000\n  __device__ int n = SIX + wrong;\n" KERNEL,
     "a.cu:3:28: error: identifier \"wrong\" is"},
    {LAUNCH "\t__device__ int n = wrong;\r\n" KERNEL, "a.cu:2:21: error: identifier \"wrong\" is"},
    {LAUNCH "__global__ void other(float *y) { y[0] = 1; }\n",
     "a.cu:1:11: error: there is no __global__ function k, which this line launches\n"},
    {"// assay: launch k<1> grid=1 block=1 args=x, w, y\n" KERNEL,
     "no __global__ function k<1> with these template arg"},
    {LAUNCH "__device__ void k(float *y) { y[0] = 1; }\n", "cannot form address of a non-__global__ function"},
    {"// assay: launch k<3> grid=1 block=1 args=y\n" KERNEL, "a.cu"},
    {"// assay: lounch k\n" KERNEL, "a.cu:1:11: expected one of let, scratch, launch,"},
    {"// assay: option -I/etc\n" LAUNCH KERNEL, "a.cu:1:18: option -I/etc is not allowed"},
    {"// assay: option -cl-mad-enable\n" LAUNCH KERNEL, "does not take these options"},
    {LAUNCH "#include \"nowhere.h\"\n" KERNEL, "open source file \"nowhere.h\""},
    {LAUNCH "#error no\n", "#error"},
    {LAUNCH "__global__ void k(const float *x, const float *w, float *y) { asm(\"nonsense;\"); }\n", "nonsense"},
};

static void test_rejected(void **state) {
  (void)state;
  NEED_NVRTC();
  for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
    struct fixture f;
    fixture_init(&f, &toolchain_nvrtc);
    build(&f, rejected[i].source);
    if (f.result.outcome != BUILD_REJECTED)
      fail_msg("case %zu has outcome %d", i, (int)f.result.outcome);
    assert_has(f.result.diagnostics, rejected[i].message);
    const char *first; // no line of NVRTC's own
    build_first_error(f.result.diagnostics, &first);
    if (strncmp(first, "__nv_name_map", strlen("__nv_name_map")) == 0)
      fail_msg("case %zu begins with %s", i, first);
    fixture_release(&f);
  }
}

static void test_first_error(void **state) {
  (void)state;
  static const struct {
    const char *diagnostics, *first;
  } cases[] = {{"a.c: In function 'f':\na.c:3:5: warning: unused\na.c:4:1: error: expected ';'\na.c:5:1: error: more\n",
                "a.c:4:1: error: expected ';'"},
               {"W1126 22:47:12.845000 1 torch/x.py:183] No CUDA runtime\ns.py:11:3: error: RuntimeError: no\n",
                "s.py:11:3: error: RuntimeError: no"},
               {"/usr/bin/ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status\n",
                "/usr/bin/ld: a.o: undefined reference to `f'"},
               {"a.c:1:10: fatal error: no.h: No such file or directory\ncompilation terminated.\n",
                "a.c:1:10: fatal error: no.h: No such file or directory"},
               {"nothing known\n", "nothing known"},
               {"", ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *line;
    size_t n = build_first_error(cases[i].diagnostics, &line);
    assert_int_equal(n, strlen(cases[i].first));
    assert_memory_equal(line, cases[i].first, n);
  }
}

static void test_nul(void **state) {
  (void)state;
  struct fixture f;
  struct program_build *b = NULL;
  const char source[] = LAUNCH KERNEL "\0 __global__ void more() {}\n";
  NEED_NVRTC();
  fixture_init(&f, &toolchain_nvrtc);
  assert_int_equal(program_start(&f.options, source, sizeof source - 1, &b, &f.err), ASSAY_OK);
  assert_int_equal(program_finish(b, &f.result, &f.program, &f.err), ASSAY_OK);
  assert_int_equal(f.result.outcome, BUILD_REJECTED);
  assert_string_equal(f.result.diagnostics, "the source has a NUL character");
  fixture_release(&f);
}

static const struct {
  const char *directives, *message;
  enum plan_outcome outcome;
} refused[] = {
    {"// assay: launch k grid=1 block=1 args=x, w\n", "a.cu:1:11: k takes 3 parameters, args= gives 2", PLAN_REFUSED},
    {"// assay: launch k grid=1 block=1 args=x, w, int(3)\n",
     "a.cu:1:46: parameter 3 of k has 8 bytes, this argument 4: choose a type of that width", PLAN_REFUSED},
    {"// assay: launch k grid=M/Q block=1 args=x, w, y\n", "a.cu:1:27: no number is named `Q`", PLAN_REFUSED},
    {"// assay: launch k grid=M/(N-64) block=1 args=x, w, y\n", "division by zero", PLAN_REFUSED},
    // What plan_check finds.
    {"// assay: launch k grid=1 block=2048 args=x, w, y\n", "2048", PLAN_INVALID},
    {"// assay: launch k grid=1,65536 block=1 args=x, w, y\n", "65536", PLAN_INVALID},
    {"// assay: launch k grid=1 block=1 shared=300000 args=x, w, y\n", "300000", PLAN_INVALID},
    {"// assay: launch k grid=1 block=1 args=x, w, x\n", "nothing writes it",
     PLAN_INVALID}, // no step mentions the output
    {"// assay: launch k grid=1 block=1 if=M > 1000 args=x, w, y\n", "nothing writes it", PLAN_INVALID},
};

static void test_refused(void **state) {
  (void)state;
  NEED_NVRTC();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    struct fixture f;
    char source[512];
    snprintf(source, sizeof source, "%s%s", refused[i].directives, KERNEL);
    fixture_init(&f, &toolchain_nvrtc);
    build(&f, source);
    make_plan(&f, &subject);
    print_message("%d %s\n", (int)f.report.outcome, f.report.detail);
    assert_int_equal(f.report.outcome, refused[i].outcome);
    assert_has(f.report.detail, refused[i].message);
    assert_null(f.plan.steps);
    fixture_release(&f);
  }
}

// ---- sources that want more than to be compiled

static void test_no_files(void **state) {
  (void)state;
  char secret[] = "/tmp/assay-secret-XXXXXX";
  int fd = mkstemp(secret);
  struct fixture f;
  struct sandbox_strength strength;
  NEED_NVRTC();
  sandbox_measure(&strength);
  if (!strength.landlock_abi)
    SKIP_BECAUSE("this kernel has no Landlock");
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "int secret;\n", 12), 12);
  close(fd);
  // A file of the judge's user is there and can be read, by anybody but the builder's child.
  const char *const files[] = {"/etc/passwd", secret, "/proc/self/environ", "/usr/lib/os-release",
                               "/usr/include/../../etc/passwd"};
  for (int own = 0; own < 2; own++)
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
      char source[512];
      assert_int_equal(access(files[i], R_OK), 0);
      fixture_init(&f, &toolchain_nvrtc);
      f.options.builder = own ? NULL : shared;
      snprintf(source, sizeof source, LAUNCH "#include \"%s\"\n" KERNEL, files[i]);
      build(&f, source);
      assert_int_equal(f.result.outcome, BUILD_REJECTED);
      assert_has(f.result.diagnostics, "not open source file");
      assert_null(strstr(f.result.diagnostics, "root:"));
      fixture_release(&f);
    }
  unlink(secret);
}

// A program at compile time that does not end.
static const char endless[] = LAUNCH
    "template <int N> struct f { static constexpr long v = f<N - 1>::v + f<N - 2>::v * N; };\n"
    "template <int A, int B> struct g { static constexpr int v = g<A - 1, B * 2>::v + g<A - 1, B * 2 + 1>::v; };\n"
    "template <int B> struct g<0, B> { static constexpr int v = B; };\n"
    "__global__ void k(const float *x, const float *w, float *y) { y[0] = g<27, 0>::v; }\n";

static void test_deadline(void **state) {
  (void)state;
  struct fixture f;
  NEED_NVRTC();
  fixture_init(&f, &toolchain_nvrtc);
  f.options.timeout_ns = 1000 * MS;
  f.options.memory_bytes = (size_t)16 << 30;
  int64_t start = clock_monotonic_ns();
  build(&f, endless);
  assert_int_equal(f.result.outcome, BUILD_TIMED_OUT);
  assert_true(clock_monotonic_ns() - start < 5000 * MS);
  assert_has(f.result.diagnostics, "the compiler was not done after 1 s");
  fixture_release(&f);
}

static void test_memory(void **state) {
  (void)state;
  struct fixture f;
  NEED_NVRTC();
#ifdef __SANITIZE_ADDRESS__
  SKIP_BECAUSE("the sanitizer reserves terabytes of addresses, which no limit survives");
#endif
  fixture_init(&f, &toolchain_nvrtc);
  f.options.memory_bytes = (size_t)600 << 20;
  build(&f, endless);
  print_message("%.1f ms: %s\n", (double)f.result.elapsed_ns * 1e-6, f.result.diagnostics);
  assert_int_equal(f.result.outcome, BUILD_HIT_LIMIT);
  fixture_release(&f);
}

// A builder survives all of it: the next source compiles as the first one did.
static void test_goes_on(void **state) {
  (void)state;
  struct fixture f;
  NEED_NVRTC();
  fixture_init(&f, &toolchain_nvrtc);
  build(&f, LAUNCH KERNEL);
  assert_int_equal(f.result.outcome, BUILD_OK);
  fixture_release(&f);
}

static void test_cancel(void **state) {
  (void)state;
  struct fixture f;
  struct program_build *b = NULL;
  NEED_NVRTC();
  program_cancel(NULL);
  for (int own = 0; own < 2; own++) {
    fixture_init(&f, &toolchain_nvrtc);
    f.options.builder = own ? NULL : shared;
    int64_t start = clock_monotonic_ns();
    assert_int_equal(program_start(&f.options, endless, strlen(endless), &b, &f.err), ASSAY_OK);
    program_cancel(b);
    assert_true(clock_monotonic_ns() - start < 3000 * MS);
    fixture_release(&f);
  }
}

// Several at once through one builder: each gets its own.
static void test_at_once(void **state) {
  (void)state;
  enum { AT_ONCE = 8 };
  struct fixture f[AT_ONCE];
  struct program_build *b[AT_ONCE];
  NEED_NVRTC();
  for (int i = 0; i < AT_ONCE; i++) {
    char source[512];
    snprintf(source, sizeof source,
             "// assay: launch k%d grid=%d block=1 args=x, w, y\n"
             "extern \"C\" __global__ void k%d(const float *x, const float *w, float *y) { %s }\n",
             i, i + 1, i, i == 3 ? "wrong" : "y[0] = 1;");
    fixture_init(&f[i], &toolchain_nvrtc);
    assert_int_equal(program_start(&f[i].options, source, strlen(source), &b[i], &f[i].err), ASSAY_OK);
  }
  for (int i = AT_ONCE - 1; i >= 0; i--) {
    char name[16];
    assert_int_equal(program_finish(b[i], &f[i].result, &f[i].program, &f[i].err), ASSAY_OK);
    assert_int_equal(f[i].result.outcome, i == 3 ? BUILD_REJECTED : BUILD_OK);
    if (i != 3) {
      make_plan(&f[i], &subject);
      snprintf(name, sizeof name, "k%d", i);
      assert_string_equal(f[i].plan.steps[0].kernel, name);
      assert_int_equal(f[i].plan.steps[0].grid[0], i + 1);
    }
    fixture_release(&f[i]);
  }
}

static void test_missing(void **state) {
  (void)state;
  struct builder *b = NULL;
  struct assay_error err = {0};
  struct assay_paths p = paths;
  p.builder = "/nowhere/assay-builder";
  assert_int_equal(builder_open(&p, &b, &err), ASSAY_ERR_ENVIRONMENT);
  p = paths;
  p.nvrtc = "/nowhere/libnvrtc.so";
  assert_int_equal(builder_open(&p, &b, &err), ASSAY_ERR_ENVIRONMENT);
  assert_has(err.message, "NVRTC cannot be loaded: /nowhere/libnvrtc.so");
  assert_null(b);
}

static void test_unknown_target(void **state) {
  (void)state;
  struct fixture f;
  struct program_build *b = NULL;
  NEED_NVRTC();
  fixture_init(&f, &toolchain_nvrtc);
  f.options.target = "sm_10";
  assert_int_equal(program_start(&f.options, LAUNCH KERNEL, strlen(LAUNCH KERNEL), &b, &f.err), ASSAY_OK);
  assert_int_equal(program_finish(b, &f.result, &f.program, &f.err), ASSAY_ERR_ENVIRONMENT);
  assert_has(f.err.message, "does not compile for sm_10");
  fixture_release(&f);
}

// ---- time

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static double median_ms(struct builder *b) {
  enum { RUNS = 9 };
  int64_t times[RUNS];
  for (int i = 0; i < RUNS; i++) {
    struct fixture f;
    fixture_init(&f, &toolchain_nvrtc);
    f.options.builder = b;
    int64_t start = clock_monotonic_ns();
    build(&f, LAUNCH KERNEL);
    times[i] = clock_monotonic_ns() - start;
    assert_int_equal(f.result.outcome, BUILD_OK);
    fixture_release(&f);
  }
  qsort(times, RUNS, sizeof *times, compare);
  return (double)times[RUNS / 2] * 1e-6;
}

static void test_times(void **state) {
  (void)state;
  NEED_NVRTC();
  double warm = median_ms(shared), cold = median_ms(NULL);
  print_message("a small kernel: %.1f ms through a warmed builder, %.1f ms through one of its own\n", warm, cold);
}

// ---- OpenCL

static const char opencl[] =
    "// assay: launch mm grid=ceil_div(M * N, 64) block=64 args=x, w, y, local(64 * 4), M, N, K\n"
    "__kernel void mm(__global const float *x, __global const float *w, __global float *y,\n"
    "                 __local float *t, int m, uint n, long k) {\n"
    "  size_t i = get_global_id(0);\n"
    "  if (i >= (size_t)m * n) return;\n"
    "  t[get_local_id(0)] = 0;\n"
    "  for (long j = 0; j < k; j++) t[get_local_id(0)] += x[i / n * k + j] * w[i % n * k + j];\n"
    "  y[i] = t[get_local_id(0)];\n"
    "}\n";

// Whether there is an implementation that needs no device.
static bool have_opencl(void) {
  struct fixture f;
  struct program_build *b = NULL;
  fixture_init(&f, &toolchain_opencl);
  enum assay_status status = program_start(&f.options, opencl, strlen(opencl), &b, &f.err);
  if (status == ASSAY_OK)
    status = program_finish(b, &f.result, &f.program, &f.err);
  if (status != ASSAY_OK)
    print_message("OpenCL: %s\n", f.err.message);
  fixture_release(&f);
  return status != ASSAY_ERR_ENVIRONMENT;
}

static void test_opencl(void **state) {
  (void)state;
  struct fixture f;
  if (!have_opencl())
    SKIP_BECAUSE("no OpenCL device here");
  good(&f, &toolchain_opencl, opencl, &subject);
  assert_string_equal(f.plan.device->name, "opencl");
  assert_int_equal(f.plan.modules[0].code, PLAN_OPENCL_C);
  assert_string_equal((const char *)f.plan.modules[0].bytes, opencl);
  const struct plan_argument *a = f.plan.steps[0].arguments;
  assert_int_equal(a[3].kind, PLAN_LOCAL_MEMORY);
  assert_int_equal(a[5].size, 4);
  assert_int_equal(a[6].size, 8);
  assert_has(f.result.compiler_version, "OpenCL");
  print_message("OpenCL: %.0f ms\n", (double)f.result.elapsed_ns * 1e-6);
  fixture_release(&f);
}

static void test_opencl_rejected(void **state) {
  (void)state;
  static const struct {
    const char *source, *message;
  } rows[] = {
      {"// assay: launch k grid=1 block=1 args=y\n__kernel void k(__global float *y) { y[0] = 1 }\n",
       "a.cl:2:46: error: expected ';' after expression"},
      {"// assay: launch k grid=1 block=1 args=y\n__kernel void l(__global float *y) { y[0] = 1; }\n",
       "the source has no kernel k, which a directive launches"},
      {"// assay: launch k grid=1 block=1 args=y, x\n__kernel void k(__global float *y, read_only image2d_t x) { y[0] "
       "= 1; }\n",
       "parameter 1 of kernel k is of the type image2d_t"},
      {"// assay: launch k grid=1 block=1 args=y, {ulong(1)}\n__kernel void k(__global float *y, sampler_t s) { y[0] = "
       "1; }\n",
       "parameter 1 of kernel k is of the type sampler_t, an image, a sampler or another"},
      {"// assay: launch k grid=1 block=1 args=y, {ulong(1)}\ntypedef sampler_t S;\ntypedef S T;\n#define U T\n"
       "__kernel void k(__global float *y, U s) { y[0] = 1; }\n",
       "parameter 1 of kernel k is of the type T, an image, a sampler or another"},
      {"// assay: launch k grid=1 block=1 args=y, x\ntypedef image2d_t S;\n"
       "__kernel void k(__global float *y, S x) { y[0] = 1; }\n",
       "parameter 1 of kernel k is of the type S, an image, a sampler or another"},
      {"// assay: launch k grid=1 block=1 args=y, {ulong(1)}\n#define S sampler_t\n"
       "__kernel void k(__global float *y, S s) { y[0] = 1; }\n",
       "parameter 1 of kernel k is of the type sampler_t, an image, a sampler or another"},
      {"// assay: launch k grid=1 block=1 args=y\nfloat elsewhere(float x);\n__kernel void k(__global float *y) { y[0] "
       "= "
       "elsewhere(1); }\n",
       "a.cl: error: the OpenCL here has no function elsewhere"},
      {"// assay: launch k grid=1 block=1 args=y\n#include \"/etc/passwd\"\n__kernel void k(__global float *y) { y[0] "
       "= 1; }\n",
       "/etc/passwd"},
  };
  if (!have_opencl())
    SKIP_BECAUSE("no OpenCL device here");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture f;
    fixture_init(&f, &toolchain_opencl);
    build(&f, rows[i].source);
    assert_int_equal(f.result.outcome, BUILD_REJECTED);
    assert_has(f.result.diagnostics, rows[i].message);
    assert_null(strstr(f.result.diagnostics, "root:x"));
    fixture_release(&f);
  }
}

// ---- the examples of the pages for users

// Every block of code in the page, built and planned.
static int page_examples(const char *path, const char *fence, const struct toolchain *t) {
  char *text;
  size_t n;
  int examples = 0;
  struct assay_error err = {0};
  if (file_read(path, (size_t)1 << 20, &text, &n, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  for (char *p = text; (p = strstr(p, fence)); examples++) {
    struct fixture f;
    p += strlen(fence);
    char *end = strstr(p, "\n```\n");
    assert_non_null(end);
    end[1] = '\0';
    good(&f, t, p, &subject);
    assert_string_equal(f.result.diagnostics, "");
    fixture_release(&f);
    p = end + 2;
  }
  base_free(text);
  return examples;
}

static void test_pages(void **state) {
  (void)state;
  if (have_nvrtc)
    assert_int_equal(page_examples(ASSAY_SOURCE_DIR "/docs/writing-cuda-kernels.md", "\n```cuda\n", &toolchain_nvrtc),
                     4);
  if (have_opencl())
    assert_int_equal(
        page_examples(ASSAY_SOURCE_DIR "/docs/writing-opencl-kernels.md", "\n```opencl\n", &toolchain_opencl), 2);
}

// ---- which toolchain

static void test_toolchain_of(void **state) {
  (void)state;
  const struct toolchain *t;
  struct assay_error err = {0};
  assert_int_equal(toolchain_of("a/b.cu", LAUNCH KERNEL, strlen(LAUNCH KERNEL), &t, &err), ASSAY_OK);
  assert_ptr_equal(t, &toolchain_nvrtc);
  assert_int_equal(toolchain_of("a/b.cu", KERNEL, strlen(KERNEL), &t, &err), ASSAY_OK);
  assert_ptr_equal(t, &toolchain_nvcc);
  assert_int_equal(toolchain_of("a/b.cl", KERNEL, strlen(KERNEL), &t, &err), ASSAY_OK);
  assert_ptr_equal(t, &toolchain_opencl);
  assert_int_equal(toolchain_of("a/b.py", KERNEL, strlen(KERNEL), &t, &err), ASSAY_OK);
  assert_ptr_equal(t, &toolchain_python);
  assert_int_equal(toolchain_of("a/b.library", "any", 3, &t, &err), ASSAY_OK);
  assert_ptr_equal(t, &toolchain_library);
  assert_int_equal(toolchain_of("a/b.jl", KERNEL, strlen(KERNEL), &t, &err), ASSAY_ERR_UNSUPPORTED);
  assert_int_equal(toolchain_of(".cu", KERNEL, strlen(KERNEL), &t, &err), ASSAY_ERR_UNSUPPORTED);
  assert_string_equal(toolchain_nvrtc.name, "nvrtc");
  assert_string_equal(toolchain_opencl.name, "opencl");
}

static int open_shared(void **state) {
  struct assay_error err = {0};
  struct nvrtc *n = NULL;
  (void)state;
  paths.nvrtc = getenv("ASSAY_NVRTC"); // NULL: where it usually is
  have_nvrtc = nvrtc_open(paths.nvrtc, &n, &err) == ASSAY_OK;
  nvrtc_close(n);
  if (!have_nvrtc)
    return print_message("%s\n", err.message), 0;
  int64_t start = clock_monotonic_ns();
  if (builder_open(&paths, &shared, &err) != ASSAY_OK)
    return print_error("%s\n", err.message), 1;
  print_message("builder_open: %.1f ms\n", (double)(clock_monotonic_ns() - start) * 1e-6);
  return 0;
}

static int close_shared(void **state) {
  (void)state;
  builder_close(shared);
  builder_close(NULL);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_toolchain_of),   cmocka_unit_test(test_single),
      cmocka_unit_test(test_built),          cmocka_unit_test(test_templates),
      cmocka_unit_test(test_several),        cmocka_unit_test(test_wgmma),
      cmocka_unit_test(test_headers),        cmocka_unit_test(test_rejected),
      cmocka_unit_test(test_first_error),    cmocka_unit_test(test_nul),
      cmocka_unit_test(test_refused),        cmocka_unit_test(test_no_files),
      cmocka_unit_test(test_deadline),       cmocka_unit_test(test_memory),
      cmocka_unit_test(test_goes_on),        cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_at_once),        cmocka_unit_test(test_missing),
      cmocka_unit_test(test_unknown_target), cmocka_unit_test(test_times),
      cmocka_unit_test(test_opencl),         cmocka_unit_test(test_opencl_rejected),
      cmocka_unit_test(test_pages),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, open_shared, close_shared);
}
