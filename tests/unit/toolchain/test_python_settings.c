// SPDX-License-Identifier: Apache-2.0
// The compilers of Python candidates: what a user says on purpose is kept, and named if it cannot be.
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "toolchain/python_settings.h"

static char folder[] = "/tmp/assay-test-XXXXXX";
static struct arena arena;

static void make_program(const char *path) {
  char text[256];
  snprintf(text, sizeof text, "%s/%s", folder, path);
  for (char *p = text + strlen(folder) + 1; (p = strchr(p, '/')); *p++ = '/') {
    *p = '\0';
    (void)mkdir(text, 0700);
  }
  FILE *f = fopen(text, "w");
  assert_non_null(f);
  fclose(f);
  assert_int_equal(chmod(text, 0700), 0);
}

static int begin(void **state) {
  (void)state;
  if (!mkdtemp(folder))
    return 1;
  make_program("bin/g++");
  make_program("bin/ccache");
  make_program("cuda/bin/nvcc");
  return 0;
}

static int end(void **state) {
  (void)state;
  char command[128];
  arena_release(&arena);
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static struct python_settings make(const char *path_env, const char *const *settings) {
  const struct assay_paths paths = {.path_env = path_env, .compiler_settings = settings};
  struct python_settings out = {0};
  struct assay_error err = {0};
  assert_int_equal(python_settings_make(&paths, "/opt/venv/bin/python", &arena, &out, &err), ASSAY_OK);
  return out;
}

static bool has(const char *const *list, const char *wanted) {
  while (*list && strcmp(*list, wanted) != 0)
    list++;
  return *list != NULL;
}

static const char *in_folder(const char *format) {
  return arena_printf(&arena, format, folder);
}

static void nothing_is_set(void **state) {
  (void)state;
  struct python_settings s = make("/nowhere:/home/somebody/bin", NULL);
  assert_string_equal(s.path_env, "/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  assert_null(s.environment[0]);
  assert_string_equal(s.summary, "");
}

static void compilers_get_whole_paths(void **state) {
  (void)state;
  const char *const set[] = {"CXX=g++ -m64", "CC=ccache g++", NULL};
  struct python_settings s = make(in_folder("%s/bin"), set);
  assert_true(has(s.environment, in_folder("CXX=%s/bin/g++ -m64")));
  assert_true(has(s.environment, in_folder("CC=%s/bin/g++"))); // the cache writes elsewhere
  assert_true(has(s.read_paths, in_folder("%s/lib")));
  assert_null(strstr(s.summary, "not kept"));
  assert_null(strstr(s.path_env, folder));
}

static void what_means_nothing_is_named(void **state) {
  (void)state;
  const char *const set[] = {"CC=tcc",        "CXX= ", "CUDA_HOME=cuda", "TORCH_CUDA_ARCH_LIST=9.0;$(id)",
                             "LD_PRELOAD=/x", NULL};
  struct python_settings s = make("/usr/bin:/bin", set);
  assert_null(s.environment[0]);
  for (int i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "%.*s=", (int)strcspn(set[i], "="), set[i]);
    assert_non_null(strstr(s.summary, name));
  }
  assert_non_null(strstr(s.summary, "no such program"));
  assert_null(strstr(s.summary, "LD_PRELOAD"));
  assert_null(strstr(s.summary, "$(id)"));
}

static void jobs_are_a_number(void **state) {
  (void)state;
  static const char *const wrong[] = {"MAX_JOBS=0", "MAX_JOBS=-1", "MAX_JOBS=99", "MAX_JOBS=2x", "MAX_JOBS=00002"};
  const char *set[] = {"MAX_JOBS=3", NULL};
  struct python_settings s = make("/usr/bin:/bin", set);
  assert_true(has(s.environment, "MAX_JOBS=3"));
  assert_string_equal(s.summary, ""); // no result depends on it
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    set[0] = wrong[i];
    s = make("/usr/bin:/bin", set);
    assert_null(s.environment[0]);
    assert_non_null(strstr(s.summary, "MAX_JOBS="));
  }
}

static void cuda_is_where_it_is_said_to_be(void **state) {
  (void)state;
  const char *const set[] = {in_folder("CUDA_HOME=%s/cuda"), "TORCH_CUDA_ARCH_LIST=8.0;9.0a+PTX", NULL};
  struct python_settings s = make("/nowhere", set);
  assert_true(has(s.environment, set[0]) && has(s.environment, set[1]));
  assert_non_null(strstr(s.path_env, in_folder(":%s/cuda/bin")));
  assert_true(has(s.read_paths, in_folder("%s/cuda/nvvm")));
}

static void or_where_nvcc_is(void **state) {
  (void)state;
  struct python_settings s = make(in_folder("%s/cuda/bin"), NULL);
  assert_true(has(s.environment, in_folder("CUDA_HOME=%s/cuda")));
  assert_string_equal(s.summary, ""); // nobody said it
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_set),
      cmocka_unit_test(compilers_get_whole_paths),
      cmocka_unit_test(what_means_nothing_is_named),
      cmocka_unit_test(jobs_are_a_number),
      cmocka_unit_test(cuda_is_where_it_is_said_to_be),
      cmocka_unit_test(or_where_nvcc_is),
  };
  return cmocka_run_group_tests_name("python_settings", tests, begin, end);
}
