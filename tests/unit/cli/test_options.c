// SPDX-License-Identifier: Apache-2.0
// The options of a judgement: what is parsed and printed into the repeat command parses to the same again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "cli/judging.h"

enum { SEED = 17, MOST_ARGUMENTS = 64 };

static error_t parse(int key, char *arg, struct argp_state *state) {
  (void)arg;
  if (key == ARGP_KEY_INIT)
    state->child_inputs[0] = state->input;
  return key == ARGP_KEY_INIT || key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
}

// What `assay judge` parses, without the end of the process.
static int parse_all(int argc, char **argv, struct cli_judging *j) {
  static const struct argp argp = {.parser = parse, .children = cli_judge_child};
  memset(j, 0, sizeof *j);
  assay_judge_defaults(&j->options);
  return argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_ERRS, NULL, j);
}

// The command's words, split as a shell does; to be freed with wordfree().
static void split(const char *command, wordexp_t *words) {
  assert_int_equal(wordexp(command, words, WRDE_NOCMD | WRDE_UNDEF), 0);
  assert_true(words->we_wordc > 4 && words->we_wordc < MOST_ARGUMENTS);
  assert_string_equal(words->we_wordv[0], "assay");
  assert_string_equal(words->we_wordv[1], "judge");
}

// Parses, prints the repeat command and parses that. Fails if an option is not what it was; says whether the command
// has `name`.
static bool repeats(int argc, char **argv, const char *name) {
  struct cli_judging first, second;
  wordexp_t words;
  assert_int_equal(parse_all(argc, argv, &first), 0);
  first.options.seed = first.options.seed ? first.options.seed : SEED;
  first.options.secret = first.options.secret ? first.options.secret : SEED;
  first.options.threads = first.options.threads ? first.options.threads : 3;
  const struct assay_verdict v = {.seed = first.options.seed, .secret = first.options.secret};
  char *command = cli_repeat_command(&first, "a task", "it's.c", &v);
  assert_non_null(command);
  split(command, &words);
  assert_string_equal(words.we_wordv[2], "a task");
  assert_string_equal(words.we_wordv[3], "it's.c");
  if (parse_all((int)words.we_wordc - 1, words.we_wordv + 1, &second) != 0)
    fail_msg("the repeat command is wrong usage: %s", command);
  bool has = false;
  for (size_t i = 2; i < words.we_wordc; i++) // argp has sorted them
    has = has || (strncmp(words.we_wordv[i], "--", 2) == 0 && strcmp(words.we_wordv[i] + 2, name) == 0);
  second.no_store = first.no_store; // whether a verdict is stored does not count
  const char *differs = cli_judging_differ(&first, &second);
  if (differs)
    fail_msg("--%s is another after `%s`", differs, command);
  assert_true(first.tasks ? second.tasks && strcmp(first.tasks, second.tasks) == 0 : !second.tasks);
  assert_string_equal(first.paths.tasks, second.paths.tasks);
  assert_int_equal(first.options.min_samples, second.options.min_samples);
  assert_int_equal(first.options.hot_samples, second.options.hot_samples);
  wordfree(&words);
  base_free(command);
  return has;
}

// A value that the option takes and that is not its default.
static bool find_value(const char *name, char *option, size_t size) {
  static const char *const values[] = {
      "it's \"$HOME\" `x` \\ *", "17", "allclose", "cpu", "nvcc", "process", "torch.eager", "judged", "tf32"};
  struct cli_judging usual, j;
  char *argv[] = {"judge", option, NULL};
  assert_int_equal(parse_all(1, argv, &usual), 0);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    snprintf(option, size, "--%s=%s", name, values[i]);
    if (parse_all(2, argv, &j) == 0 && cli_judging_differ(&usual, &j))
      return true;
  }
  return false;
}

static void test_every_option(void **state) {
  (void)state;
  int n = 0;
  for (const struct argp_option *o = cli_judge_argp.options; o->name; o++, n++) {
    char option[128];
    if (!o->arg)
      snprintf(option, sizeof option, "--%s", o->name);
    else if (!find_value(o->name, option, sizeof option))
      fail_msg("no value of this test's is one of --%s that is not the default", o->name);
    char *argv[] = {"judge", option, NULL};
    bool has = repeats(2, argv, o->name);
    if (has == (strcmp(o->name, "no-store") == 0))
      fail_msg("%s %s in the repeat command", option, has ? "is" : "is not");
  }
  assert_true(n >= 20);
}

static void test_together(void **state) {
  (void)state;
  char *argv[] = {"judge",
                  "--samples=100",
                  "--samples=12",
                  "--define=A=1",
                  "--define=B='2'",
                  "--baseline=x y.c",
                  "--baseline=library",
                  "--no-probes",
                  "--timeout=30",
                  "--memory=2048",
                  "--seed=9223372036854775807",
                  NULL};
  assert_true(repeats(11, argv, "baseline"));
  char *again[] = {"judge", "--samples=12", "--samples=100", NULL};
  assert_true(repeats(3, again, "samples"));
  char *usual[] = {"judge", NULL};
  assert_false(repeats(1, usual, "samples"));
}

// A task that was named under another folder is found there again; else the command has no folder.
static void test_folder_of_tasks(void **state) {
  (void)state;
  char *argv[] = {"judge", "--tasks=it's a folder", NULL};
  assert_true(repeats(2, argv, "tasks"));
  char *usual[] = {"judge", NULL};
  assert_false(repeats(1, usual, "tasks"));
}

static void test_wrong(void **state) {
  (void)state;
  static const char *const wrong[] = {"--samples=9", "--samples=x",     "--samples=",        "--device=tpu",
                                      "--rule=l2",   "--verified=3",    "--device-index=-1", "--memory=15",
                                      "--mode=fast", "--toolchain=gcc", "--contract=bf16"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct cli_judging j;
    char option[64];
    snprintf(option, sizeof option, "%s", wrong[i]);
    char *argv[] = {"judge", option, NULL};
    if (parse_all(2, argv, &j) == 0)
      fail_msg("%s is taken", wrong[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_option),
      cmocka_unit_test(test_together),
      cmocka_unit_test(test_folder_of_tasks),
      cmocka_unit_test(test_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
