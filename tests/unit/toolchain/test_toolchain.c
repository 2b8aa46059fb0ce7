// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc,--wrap=memory_available,--wrap=quota_exceeded
// The cc toolchain: honest sources become libraries; hostile ones reach nothing, end in time and leave nothing.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "assay/candidate.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limit.h"
#include "sandbox/sandbox.h"
#include "skip.h"
#include "toolchain/cc.h"
#include "toolchain/compile.h"
#include "toolchain/toolchain.h"

#define MS INT64_C(1000000)
static const char path_env[] = "/usr/local/bin:/usr/bin:/bin";

static const char relu[] = "#include <assay/candidate.h>\n"
                           "#ifndef FLOOR\n#define FLOOR 0\n#endif\n"
                           "void assay_kernel(const struct assay_args *args) {\n"
                           "  const float *x = args->inputs[0].data;\n"
                           "  float *y = args->outputs[0].data;\n"
                           "  int64_t n = assay_count(&args->inputs[0]);\n"
                           "#pragma omp parallel for\n"
                           "  for (int64_t i = 0; i < n; i++)\n"
                           "    y[i] = x[i] > FLOOR ? x[i] : FLOOR;\n"
                           "}\n";

// Allocations that fail; the waiter's thread allocates too.
static atomic_long allocations_left = LONG_MAX;

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return atomic_fetch_sub(&allocations_left, 1) > 0 ? __real_base_realloc(p, n) : NULL;
}

// A machine with other memory than this one's, and a build that takes more than it may; 0 and NULL: as they are.
static int64_t machine_bytes;
static const char *too_much;

int64_t __real_memory_available(const char *root, int64_t *total);
int64_t __wrap_memory_available(const char *root, int64_t *total);
int64_t __wrap_memory_available(const char *root, int64_t *total) {
  const int64_t available = __real_memory_available(root, total);
  *total = machine_bytes ? machine_bytes : *total;
  return available;
}

bool __real_quota_exceeded(const struct sandbox_quota *q, const char *folder, pid_t group, char *text);
bool __wrap_quota_exceeded(const struct sandbox_quota *q, const char *folder, pid_t group, char *text);
bool __wrap_quota_exceeded(const struct sandbox_quota *q, const char *folder, pid_t group, char *text) {
  if (!too_much)
    return __real_quota_exceeded(q, folder, group, text);
  snprintf(text, QUOTA_TEXT_BYTES, "%s", too_much);
  return true;
}

// One build in a folder of its own.
struct fixture {
  struct build_options options;
  char *folder;
  struct build_result result;
  struct assay_error err;
};

static void fixture_init(struct fixture *f, const char *compiler) {
  memset(f, 0, sizeof *f);
  assert_int_equal(sandbox_folder_make("/tmp", &f->folder, &f->err), ASSAY_OK);
  f->options = (struct build_options){.compiler = compiler,
                                      .path_env = path_env,
                                      .include_dir = ASSAY_SOURCE_DIR "/include",
                                      .folder = f->folder,
                                      .timeout_ns = 20000 * MS,
                                      .memory_bytes = (size_t)1 << 30,
                                      .file_bytes = 64 << 20};
}

static void fixture_release(struct fixture *f) {
  build_result_release(&f->result);
  sandbox_folder_remove(f->folder);
  assert_int_equal(access(f->folder, F_OK), -1);
  base_free(f->folder);
}

static void build(struct fixture *f, const char *source) {
  struct build *b = NULL;
  build_result_release(&f->result);
  enum assay_status status = build_start(&f->options, source, strlen(source), &b, &f->err);
  if (status == ASSAY_OK)
    status = build_finish(b, &f->result, &f->err);
  if (status != ASSAY_OK)
    fail_msg("%s", f->err.message);
}

static const char *const compilers[] = {"gcc", "clang"};
static bool have(const char *compiler) {
  struct arena a = {0};
  char *path;
  bool found = compiler_find(compiler, path_env, &a, &path, NULL) == ASSAY_OK;
  arena_release(&a);
  return found;
}

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("expected \"%s\" in:\n%s", part, text);
}

// ---- honest sources

static int relu_is_right(const char *path) {
  float in[4] = {-1, 2, -3, 40}, out[4] = {7, 7, 7, 7};
  int64_t dims[1] = {4}, strides[1] = {1};
  struct assay_tensor x = {in, dims, strides, 1, ASSAY_FLOAT}, y = {out, dims, strides, 1, ASSAY_FLOAT};
  struct assay_args args = {
      .abi_version = ASSAY_ABI_VERSION, .n_inputs = 1, .n_outputs = 1, .threads = 1, .inputs = &x, .outputs = &y};
  void (*kernel)(const struct assay_args *);
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib || !(*(void **)&kernel = dlsym(lib, "assay_kernel")))
    return fprintf(stderr, "%s\n", dlerror()), 0;
  kernel(&args);
  return out[0] == 0 && out[1] == 2 && out[2] == 0 && out[3] == 40;
}

// In a process of its own, because an OpenMP library leaves threads.
static void call_relu(const char *path) {
  int status;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0)
    _exit(relu_is_right(path) ? 0 : 1);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

static void test_builds(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    if (!have(compilers[i]))
      continue;
    fixture_init(&f, compilers[i]);
    build(&f, relu);
    assert_int_equal(f.result.outcome, BUILD_OK);
    assert_string_equal(f.result.diagnostics, "");
    assert_has(f.result.compiler_version, compilers[i]);
    assert_null(strchr(f.result.compiler_version, '\n'));
    assert_int_equal(strncmp(f.result.command, compilers[i], strlen(compilers[i])), 0);
    assert_has(f.result.command, " -std=gnu17 -O3 -march=native -fopenmp -fPIC -shared -Wall ");
    assert_has(f.result.command, " -o candidate.so candidate.c -lm");
    assert_true(f.result.elapsed_ns > MS && f.result.cpu_ns > MS);
    call_relu(f.result.library);
    fixture_release(&f);
  }
}

static void test_defines(void **state) {
  (void)state;
  struct fixture f;
  const char *const defines[] = {"UNUSED", "FLOOR=(-1.5f)", "TEXT=\"it's a \\\"text\\\"\"", NULL};
  fixture_init(&f, "gcc");
  f.options.defines = defines;
  build(&f, relu);
  assert_int_equal(f.result.outcome, BUILD_OK);
  assert_has(f.result.command, " -DUNUSED '-DFLOOR=(-1.5f)' '-DTEXT=\"it'\\''s a \\\"text\\\"\"' ");
  // The command can be typed: from the folder, in a shell, it does the same.
  char again[2048];
  snprintf(again, sizeof again, "cd %s && rm candidate.so && %s && test -f candidate.so", f.folder, f.result.command);
  assert_int_equal(system(again), 0);
  fixture_release(&f);
}

static void test_time_is_the_compilers(void **state) {
  (void)state;
  struct fixture f;
  struct build *b;
  fixture_init(&f, "gcc");
  int64_t start = clock_monotonic_ns();
  assert_int_equal(build_start(&f.options, relu, strlen(relu), &b, &f.err), ASSAY_OK);
  int64_t started = clock_monotonic_ns();
  usleep(1500000); // the judge is busy with something else
  assert_int_equal(build_finish(b, &f.result, &f.err), ASSAY_OK);
  assert_int_equal(f.result.outcome, BUILD_OK);
  assert_true(f.result.elapsed_ns < clock_monotonic_ns() - start - 10 * MS);
  print_message("build_start took %.2f ms, the compiler %.1f ms\n", (double)(started - start) * 1e-6,
                (double)f.result.elapsed_ns * 1e-6);
  fixture_release(&f);
}

static void test_warnings_are_kept(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f, "gcc");
  build(&f, "void assay_kernel(const void *a) { int unused; }\n");
  assert_int_equal(f.result.outcome, BUILD_OK);
  assert_has(f.result.diagnostics, "candidate.c:1:40: warning: unused variable 'unused'");
  fixture_release(&f);
}

// ---- sources that are wrong

static void test_rejects(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    if (!have(compilers[i]))
      continue;
    fixture_init(&f, compilers[i]);
    build(&f, "int f(void) { return missing; }\n");
    assert_int_equal(f.result.outcome, BUILD_REJECTED);
    assert_null(f.result.library);
    assert_has(f.result.diagnostics, "candidate.c:1:22: error: ");
    assert_null(strstr(f.result.diagnostics, f.folder));
    build(&f, "#error out of memory, Killed signal\n");
    assert_int_equal(f.result.outcome, BUILD_REJECTED); // by its own error message, not by a limit
    build(&f, "");
    assert_int_equal(f.result.outcome, BUILD_OK); // lacks the entry; loading will say so
    build(&f, "#include \"assay/candidate.h\"\n#include <no/such/header.h>\n");
    assert_int_equal(f.result.outcome, BUILD_REJECTED);
    fixture_release(&f);
  }
}

static void test_binary_source(void **state) {
  (void)state;
  struct fixture f;
  struct build *b;
  static const char bytes[] = "int \0\xff\xfe\x80 \x1b[31mred \xc3\xa9 x y;\n";
  fixture_init(&f, "gcc");
  assert_int_equal(build_start(&f.options, bytes, sizeof bytes - 1, &b, &f.err), ASSAY_OK);
  assert_int_equal(build_finish(b, &f.result, &f.err), ASSAY_OK);
  assert_int_equal(f.result.outcome, BUILD_REJECTED);
  assert_null(strchr(f.result.diagnostics, '\x1b'));
  fixture_release(&f);
}

static void test_diagnostics_are_capped(void **state) {
  (void)state;
  struct fixture f;
  struct buf source;
  buf_init(&source);
  for (int i = 0; i < 3000; i++)
    buf_printf(&source, "int f%d(void) { int this_variable_is_not_used_%d; return 0; }\n", i, i);
  fixture_init(&f, "gcc");
  build(&f, buf_str(&source));
  assert_int_equal(f.result.outcome, BUILD_OK);
  assert_in_range(strlen(f.result.diagnostics), 60000, (64 << 10) + 100);
  assert_has(f.result.diagnostics, "more bytes of output were dropped]");
  buf_release(&source);
  fixture_release(&f);
}

// ---- sources that reach for what is not theirs

static void test_cannot_read(void **state) {
  (void)state;
  static const char *const thieves[] = {
      "#include \"/etc/passwd\"\n",
      "#include \"/etc/shadow\"\n",
      "#include \"/proc/self/environ\"\n",
      "#include \"../../../../../../etc/passwd\"\n",
      "__asm__(\".incbin \\\"/etc/passwd\\\"\");\n",
      "__asm__(\".incbin \\\"/etc/shadow\\\"\");\n",
      "__asm__(\".include \\\"/etc/passwd\\\"\");\n",
      "#include \"" ASSAY_SOURCE_DIR "/CMakeLists.txt\"\n",
  };
  struct sandbox_strength s;
  sandbox_measure(&s);
  if (!s.landlock_abi)
    SKIP_BECAUSE("this kernel has no Landlock");
  for (int i = 0; i < 2; i++)
    for (size_t k = 0; k < sizeof thieves / sizeof *thieves; k++) {
      struct fixture f;
      if (!have(compilers[i]))
        continue;
      fixture_init(&f, compilers[i]);
      build(&f, thieves[k]);
      assert_int_equal(f.result.outcome, BUILD_REJECTED);
      assert_null(strstr(f.result.diagnostics, "root:"));
      assert_null(strstr(f.result.diagnostics, "PATH="));
      fixture_release(&f);
    }
}

// ---- bombs

static int count_entries(const char *path) {
  int n = 0;
  DIR *dir = opendir(path);
  assert_non_null(dir);
  while (readdir(dir))
    n++;
  closedir(dir);
  return n;
}

// Ends within its limits, one way or another, and nothing of it stays.
static void explode(const char *name, const char *compiler, const char *source) {
  struct fixture f;
  if (!have(compiler))
    return;
  fixture_init(&f, compiler);
  int before = count_entries("/proc/self/fd");
  f.options.timeout_ns = 1500 * MS;
  f.options.memory_bytes = (size_t)512 << 20;
  f.options.file_bytes = 8 << 20;
  int64_t start = clock_monotonic_ns();
  build(&f, source);
  int64_t took = clock_monotonic_ns() - start;
  print_message("%-20s %-6s outcome %d after %4.0f ms\n", name, compiler, (int)f.result.outcome, (double)took * 1e-6);
  assert_int_not_equal(f.result.outcome, BUILD_OK);
  assert_true(took < LIMIT_MOST * 1500 * MS + 6000 * MS); // 1.5 s where there are processors
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(count_entries("/proc/self/fd"), before);
  fixture_release(&f);
}

static void test_bombs(void **state) {
  (void)state;
  struct buf macros, numbers;
  buf_init(&macros);
  buf_init(&numbers);
  buf_puts(&macros, "#define A0 x x x x x x x x x x\n");
  buf_puts(&numbers, "#define A0 1,1,1,1,1,1,1,1,1,1\n");
  for (int i = 1; i < 12; i++) {
    buf_printf(&macros, "#define A%d", i);
    buf_printf(&numbers, "#define A%d A%d", i, i - 1);
    for (int k = 0; k < 10; k++)
      buf_printf(&macros, " A%d", i - 1);
    for (int k = 0; k < 9; k++)
      buf_printf(&numbers, ",A%d", i - 1);
    buf_puts(&macros, "\n");
    buf_puts(&numbers, "\n");
  }
  buf_puts(&macros, "A11\n");
  buf_puts(&numbers, "int a[] = {A11};\n");
  for (int i = 0; i < 2; i++) {
    const char *c = compilers[i];
    explode("include itself", c, "#include \"candidate.c\"\n#include \"candidate.c\"\n");
    explode("macros", c, buf_str(&macros));
    explode("initialisers", c, buf_str(&numbers));
    explode("endless input", c, "#include \"/dev/zero\"\n");
    explode("much assembly", c, "__asm__(\".rept 1000000000\\n.quad 1\\n.endr\");\n");
  }
  // Not clang 14: it leaves all of it to the loader, where the runner's limit of memory meets it.
  explode("huge array", "gcc", "char a[1UL << 40] = {1};\n");
  buf_release(&macros);
  buf_release(&numbers);
}

static void test_limits_are_named(void **state) {
  (void)state;
  struct fixture f;
  fixture_init(&f, "gcc");
  f.options.timeout_ns = 300 * MS;
  build(&f, "int a[] = {[0 ... 200000000] = 1, 2};\n");
  assert_int_equal(f.result.outcome, BUILD_TIMED_OUT);
  f.options.timeout_ns = 20000 * MS;
  f.options.memory_bytes = (size_t)100 << 20;
#if !defined(__SANITIZE_ADDRESS__)
  build(&f, "int a[] = {[0 ... 200000000] = 1, 2};\n");
  assert_int_equal(f.result.outcome, BUILD_HIT_LIMIT);
#endif
  f.options.memory_bytes = (size_t)8 << 30;
  f.options.together_bytes = 64 << 20;
  build(&f, "int a[] = {[0 ... 200000000] = 1, 2};\n");
  assert_int_equal(f.result.outcome, BUILD_HIT_LIMIT);
  assert_non_null(strstr(f.result.diagnostics, "the build was ended: its processes had "));
  assert_non_null(strstr(f.result.diagnostics, " MiB of memory together, where 64 MiB are allowed"));
  f.options.together_bytes = 0;
  f.options.file_bytes = 1 << 20;
  build(&f, "char a[8 << 20] = {1};\n");
  assert_int_equal(f.result.outcome, BUILD_HIT_LIMIT);
  fixture_release(&f);
}

// What a build has together may be less on a small machine; that is not the candidate's failure.
static void test_small_machine(void **state) {
  static const char memory[] = "its processes had 4097 MiB of memory together, where 4096 MiB are allowed",
                    processes[] = "it had more than the 32 processes that are allowed at a time";
  static const char source[] = "int a[] = {[0 ... 200000000] = 1, 2};\n";
  (void)state;
  struct fixture f;
  struct build *b = NULL;
  fixture_init(&f, "gcc");
  f.options.memory_bytes = (size_t)8 << 30;
  machine_bytes = (int64_t)4 << 30;
  too_much = memory;
  assert_int_equal(build_start(&f.options, source, strlen(source), &b, &f.err), ASSAY_OK);
  assert_int_equal(build_finish(b, &f.result, &f.err), ASSAY_ERR_ENVIRONMENT);
  assert_has(f.err.message, "not judged here: the build was ended, its processes had 4097 MiB of memory together");
  too_much = processes; // the same everywhere
  build(&f, source);
  assert_int_equal(f.result.outcome, BUILD_HIT_LIMIT);
  too_much = memory;
  machine_bytes = (int64_t)64 << 30; // as much as is allowed anywhere
  build(&f, source);
  assert_int_equal(f.result.outcome, BUILD_HIT_LIMIT);
  machine_bytes = (int64_t)4 << 30;
  f.options.together_bytes = 64 << 20; // whoever asked for that means it
  build(&f, source);
  assert_int_equal(f.result.outcome, BUILD_HIT_LIMIT);
  machine_bytes = 0;
  too_much = NULL;
  fixture_release(&f);
}

static void test_jobs(void **state) {
  (void)state;
  const int64_t gib = (int64_t)1 << 30;
  bool machines;
  assert_int_equal(compile_together_bytes(2 * gib, &machines), 4 * gib);
  assert_true(machines);
  assert_int_equal(compile_together_bytes(16 * gib, &machines), 12 * gib);
  assert_true(machines);
  assert_int_equal(compile_together_bytes(2000 * gib, &machines), 32 * gib);
  assert_false(machines);
  assert_int_equal(compile_together_bytes(INT64_MAX, &machines), 32 * gib);
  assert_false(machines);
  assert_int_equal(compile_jobs(64 << 20, 64), 1);
  assert_int_equal(compile_jobs(4 * gib, 64), 2);
  assert_int_equal(compile_jobs(12 * gib, 64), 7);
  assert_int_equal(compile_jobs(12 * gib, 2), 2);
  assert_int_equal(compile_jobs(32 * gib, 64), COMPILE_MOST_JOBS);
}

// ---- cancelling, and failures of the environment

static void test_cancel(void **state) {
  (void)state;
  int before = count_entries("/proc/self/fd");
  build_cancel(NULL);
  for (int i = 0; i < 6; i++) {
    struct fixture f;
    struct build *b;
    fixture_init(&f, "gcc");
    int64_t start = clock_monotonic_ns();
    const char *endless = "int a[] = {[0 ... 2000000000] = 1, 2};\n";
    assert_int_equal(build_start(&f.options, endless, strlen(endless), &b, &f.err), ASSAY_OK);
    usleep((useconds_t)i * 10000);
    build_cancel(b);
    assert_true(clock_monotonic_ns() - start < 10000 * MS);
    fixture_release(&f);
  }
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(count_entries("/proc/self/fd"), before);
}

static void test_bad_options(void **state) {
  (void)state;
  struct fixture f;
  struct build *b = NULL;
  fixture_init(&f, "no-such-compiler");
  assert_int_equal(build_start(&f.options, "", 0, &b, &f.err), ASSAY_ERR_ENVIRONMENT);
  assert_has(f.err.message, "no compiler \"no-such-compiler\" on the PATH (/usr/local/bin:/usr/bin:/bin)");
  f.options.path_env = NULL;
  f.options.compiler = "gcc";
  assert_int_equal(build_start(&f.options, "", 0, &b, &f.err), ASSAY_ERR_ENVIRONMENT);
  f.options.compiler = "/usr/bin";
  assert_int_equal(build_start(&f.options, "", 0, &b, &f.err), ASSAY_ERR_ENVIRONMENT);
  f.options.compiler = "/usr/bin/gcc";
  f.options.path_env = path_env;
  f.options.folder = "/nowhere";
  assert_int_equal(build_start(&f.options, "", 0, &b, &f.err), ASSAY_ERR_IO);
  assert_null(b);
  f.options.folder = f.folder;
  build(&f, relu);
  assert_int_equal(f.result.outcome, BUILD_OK);
  fixture_release(&f);
}

// A compiler that is a script of ours, PREFIX/bin/cc, and what becomes of a build with it.
static enum assay_status build_with(const char *script, struct fixture *f) {
  char prefix[] = "/tmp/assay-prefix-XXXXXX", bin[64], path[96];
  struct build *b = NULL;
  assert_non_null(mkdtemp(prefix));
  snprintf(bin, sizeof bin, "%s/bin", prefix);
  snprintf(path, sizeof path, "%s/cc", bin);
  assert_int_equal(mkdir(bin, 0755), 0);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(script, file);
  fclose(file);
  assert_int_equal(chmod(prefix, 0755) | chmod(path, 0755), 0);
  fixture_init(f, path);
  enum assay_status status = build_start(&f->options, relu, strlen(relu), &b, &f->err);
  if (status == ASSAY_OK)
    status = build_finish(b, &f->result, &f->err);
  f->options.compiler = NULL;
  assert_int_equal(unlink(path) | rmdir(bin) | rmdir(prefix), 0);
  return status;
}

// A compiler that says how many of its kind there may be.
static void test_jobs_are_set(void **state) {
  static const char script[] = "#!/bin/sh\necho \"jobs: $MAX_JOBS.\"\n"
                               "grep -q parallel candidate.c && exit 1\n: >candidate.so\n";
  (void)state;
  struct fixture f;
  machine_bytes = (int64_t)1 << 30;
  assert_int_equal(build_with(script, &f), ASSAY_OK);
  assert_null(strstr(f.result.diagnostics, "jobs: ."));
  assert_has(f.result.diagnostics, "jobs: ");
  machine_bytes = 0;
  fixture_release(&f);
}

// What fails for every source is the machine's failure; what fails for this one is the candidate's.
static void test_whose_fault_it_is(void **state) {
  static const struct {
    const char *script;
    enum assay_status status;
    const char *said;
    enum build_outcome outcome;
  } rows[] = {
      {"#!/bin/false\n", ASSAY_ERR_ENVIRONMENT, "/bin/cc does not work here", BUILD_OK},
      {"#!/bin/true\n", ASSAY_ERR_ENVIRONMENT, "said nothing and ended with exit code 0", BUILD_OK},
      {"#!/bin/sh\necho 'cc1: No space left on device'\nexit 1\n", ASSAY_ERR_ENVIRONMENT, "No space left", BUILD_OK},
      {"#!/bin/sh\ngrep -q parallel candidate.c && exit 1\n: >candidate.so\n", ASSAY_OK, "", BUILD_REJECTED},
      // What the candidate leaves in the folder is not in the control's way.
      {"#!/bin/sh\n[ -e left ] && exit 1\n: >left\ngrep -q parallel candidate.c && exit 1\n: >candidate.so\n", ASSAY_OK,
       "", BUILD_REJECTED},
      {"#!/bin/sh\ngrep -q parallel candidate.c && echo 'as: File too large' && exit 1\n: >candidate.so\n", ASSAY_OK,
       "as: File too large", BUILD_HIT_LIMIT},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture f;
    assert_int_equal(build_with(rows[i].script, &f), rows[i].status);
    assert_has(rows[i].status ? f.err.message : f.result.diagnostics, rows[i].said);
    assert_int_equal(f.result.outcome, rows[i].outcome);
    fixture_release(&f);
  }
}

// A judge in many threads: builds neither disturb each other nor depend on the thread that began them.
static void *build_one(void *arg) {
  struct fixture *f = arg;
  struct build *b;
  if (build_start(&f->options, relu, strlen(relu), &b, &f->err) == ASSAY_OK)
    (void)build_finish(b, &f->result, &f->err);
  return NULL;
}

static void test_many_at_once(void **state) {
  (void)state;
  enum { N = 6 };
  struct fixture f[N];
  pthread_t t[N];
  for (int i = 0; i < N; i++) {
    fixture_init(&f[i], "gcc");
    assert_int_equal(pthread_create(&t[i], NULL, build_one, &f[i]), 0);
  }
  for (int i = 0; i < N; i++) {
    pthread_join(t[i], NULL);
    assert_int_equal(f[i].result.outcome, BUILD_OK);
    call_relu(f[i].result.library);
    fixture_release(&f[i]);
  }
}

// Memory fails at the n-th allocation and at all later ones, for every n until none is missed.
static void test_without_memory(void **state) {
  (void)state;
  struct fixture f;
  enum assay_status status = ASSAY_ERR_NOMEM;
  long n = 0;
  fixture_init(&f, "gcc");
  const char *const defines[] = {"FLOOR=0", NULL};
  f.options.defines = defines;
  for (; status != ASSAY_OK; n++) {
    struct build *b;
    assert_true(n < 1000);
    atomic_store(&allocations_left, n);
    status = build_start(&f.options, relu, strlen(relu), &b, &f.err);
    if (status == ASSAY_OK)
      status = build_finish(b, &f.result, &f.err);
    atomic_store(&allocations_left, LONG_MAX);
    // A process that cannot be started for lack of memory is the machine's failure.
    if (status != ASSAY_OK && status != ASSAY_ERR_NOMEM)
      assert_has(f.err.message, "cannot start a process: Cannot allocate memory");
  }
  assert_true(n > 10);
  assert_int_equal(f.result.outcome, BUILD_OK);
  fixture_release(&f);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

// ---- the parts

static void test_cleaning(void **state) {
  (void)state;
  static const struct {
    const char *raw, *clean;
  } rows[] = {
      {"/tmp/f/candidate.c:1: no", "candidate.c:1: no"},
      {"in /tmp/f//x and /tmp/f/y", "in x and y"},
      {"/tmp/fa/x /tmp/f", "/tmp/fa/x /tmp/f"},
      {"/inc/assay/candidate.h:3", "assay/candidate.h:3"},
      {"a\x1b[0mb\rc\td\n", "a?[0mb?c\td\n"},
      {"\xc3\xa9 \xc3 \xff \xe2\x82\xac \xe2\x82", "\xc3\xa9 ? ? \xe2\x82\xac ??"},
      {"\xed\xa0\x80 \xc0\x80 \xf4\x90\x80\x80", "??? ?? ????"},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf raw, out;
    buf_init(&raw);
    buf_init(&out);
    buf_puts(&raw, rows[i].raw);
    diagnostics_clean(&raw, "/tmp/f", "/inc/", &out);
    assert_string_equal(buf_str(&out), rows[i].clean);
    buf_release(&raw);
    buf_release(&out);
  }
}

static void test_outcomes(void **state) {
  (void)state;
  assert_int_equal(diagnostics_outcome(""), BUILD_REJECTED);
  assert_int_equal(diagnostics_outcome("candidate.c:1:1: error: x: File too large\n"), BUILD_REJECTED);
  assert_int_equal(diagnostics_outcome("   1 | x: memory exhausted\n"), BUILD_REJECTED);
  assert_int_equal(diagnostics_outcome("a\ncc1: out of memory allocating 8 bytes after a total of 9 bytes"),
                   BUILD_HIT_LIMIT);
  assert_int_equal(diagnostics_outcome("gcc: fatal error: Killed signal terminated program cc1\n"), BUILD_HIT_LIMIT);
  assert_int_equal(diagnostics_outcome("gcc: error: CPU time limit exceeded signal terminated program cc1\n"),
                   BUILD_TIMED_OUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_builds),
      cmocka_unit_test(test_defines),
      cmocka_unit_test(test_time_is_the_compilers),
      cmocka_unit_test(test_warnings_are_kept),
      cmocka_unit_test(test_rejects),
      cmocka_unit_test(test_binary_source),
      cmocka_unit_test(test_diagnostics_are_capped),
      cmocka_unit_test(test_cannot_read),
      cmocka_unit_test(test_bombs),
      cmocka_unit_test(test_limits_are_named),
      cmocka_unit_test(test_small_machine),
      cmocka_unit_test(test_jobs),
      cmocka_unit_test(test_jobs_are_set),
      cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_whose_fault_it_is),
      cmocka_unit_test(test_many_at_once),
      cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_cleaning),
      cmocka_unit_test(test_outcomes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
