// SPDX-License-Identifier: Apache-2.0
// Programs as models: prompts go in, replies come out, and nothing they do hangs or ends the caller.
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/client.h"

static struct model_client *open_client(const char *url, int parallel, int64_t whole_ns, size_t most) {
  static struct model_endpoint endpoint;
  struct model_client_options o;
  struct model_client *c;
  struct assay_error err = {0};
  model_client_defaults(&o);
  endpoint.url = url;
  o.endpoints = &endpoint;
  o.n_endpoints = 1;
  o.parallel = parallel;
  o.whole_ns = whole_ns ? whole_ns : o.whole_ns;
  o.most_reply_bytes = most ? most : o.most_reply_bytes;
  o.environment = environ;
  assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
  return c;
}

static void submit(struct model_client *c, int64_t tag, const char *user) {
  struct assay_error err = {0};
  char step[64];
  snprintf(step, sizeof step, "ASSAY_STEP=%lld", (long long)tag);
  const struct model_request r = {
      .tag = tag, .model = "m", .system = "rules", .user = user, .environment = {step}, .temperature = NAN};
  assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
}

static struct model_reply ask(const char *url, const char *user, int64_t whole_ns, size_t most) {
  struct model_reply r;
  struct model_client *c = open_client(url, 1, whole_ns, most);
  submit(c, 7, user);
  assert_true(model_client_next(c, -1, &r));
  assert_int_equal(r.tag, 7);
  assert_false(model_client_next(c, -1, &r)); // nothing is under way: it does not wait
  model_client_close(c);
  return r;
}

static void prompt_in_reply_out(void **state) {
  (void)state;
  struct model_reply r = ask("exec:cat; echo \"step $ASSAY_STEP\"", "hello", 0, 0);
  assert_int_equal(r.failure, MODEL_ANSWERED);
  assert_string_equal(buf_str(&r.text), "rules\nhellostep 7\n");
  assert_int_equal(r.calls, 1);
  assert_true(r.usage.input == -1 && r.usage.output == -1);
  model_reply_release(&r);
}

// A prompt larger than a pipe's buffer, given to a program that writes as much before it reads; and to one that reads
// nothing.
static void large_texts(void **state) {
  (void)state;
  size_t n = 3 << 20;
  char *user = malloc(n + 1);
  memset(user, 'x', n);
  user[n] = '\0';
  struct model_reply r = ask("exec:head -c 2000000 /dev/zero; wc -c", user, 0, 0);
  assert_int_equal(r.failure, MODEL_ANSWERED);
  assert_int_equal(atoll(buf_str(&r.text) + 2000000), (long long)n + 6);
  model_reply_release(&r);
  r = ask("exec:echo no", user, 0, 0);
  assert_int_equal(r.failure, MODEL_ANSWERED);
  assert_string_equal(buf_str(&r.text), "no\n");
  model_reply_release(&r);
  free(user);
}

static void expect_failure(const char *url, int64_t whole_ns, size_t most, enum model_failure failure,
                           const char *message) {
  struct model_reply r = ask(url, "hello", whole_ns, most);
  if (r.failure != failure || !strstr(r.error.message, message))
    fail_msg("%s: %d, %s", url, (int)r.failure, r.error.message);
  model_reply_release(&r);
}

static void failures(void **state) {
  (void)state;
  expect_failure("exec:echo part; echo 'out of credit' >&2; exit 3", 0, 0, MODEL_FAILED, "exit code 3: out of credit");
  expect_failure("exec:/no/such/program", 0, 0, MODEL_ENDED, "exit code 127");
  expect_failure("exec:kill -TERM $$", 0, 0, MODEL_FAILED, "signal 15");
  expect_failure("exec:head -c 3000000 /dev/zero; sleep 100", 0, 1 << 20, MODEL_FAILED, "more than 1 MiB");
  expect_failure("exec:echo a; sleep 100", 300000000, 0, MODEL_FAILED, "did not end");
}

// A budget counts on a program's output: it is cut off at its bound, whether the program goes on or ends.
static void bounded_output(void **state) {
  (void)state;
  static const struct {
    const char *url;
    size_t most, len;
    enum model_finish finish;
  } cases[] = {{"exec:head -c 3000000 /dev/zero; sleep 100", 70000, 70000, MODEL_FINISH_LENGTH},
               {"exec:head -c 30000000 /dev/zero; sleep 100", 70000, 70000, MODEL_FINISH_LENGTH},
               {"exec:printf 123456", 5, 5, MODEL_FINISH_LENGTH},
               {"exec:printf 123456", 6, 6, MODEL_FINISH_UNKNOWN},
               {"exec:printf 123456", 0, 6, MODEL_FINISH_UNKNOWN}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct assay_error err = {0};
    struct model_reply r;
    struct model_client *c = open_client(cases[i].url, 1, 0, 0);
    const struct model_request request = {
        .model = "m", .system = "", .user = "hello", .most_bytes = cases[i].most, .temperature = NAN};
    assert_int_equal(model_client_submit(c, &request, &err), ASSAY_OK);
    assert_true(model_client_next(c, -1, &r));
    assert_int_equal(r.failure, MODEL_ANSWERED);
    assert_int_equal(r.text.len, cases[i].len);
    assert_int_equal(r.finish, cases[i].finish);
    model_reply_release(&r);
    model_client_close(c);
  }
}

// What a program leaves running does not keep its reply back, and is ended.
static void programs_left_behind(void **state) {
  (void)state;
  struct model_reply r = ask("exec:sleep 1000 & echo $!", "hello", 0, 0);
  assert_int_equal(r.failure, MODEL_ANSWERED);
  pid_t left = (pid_t)atoll(buf_str(&r.text));
  assert_true(left > 1);
  for (int i = 0; i < 500 && kill(left, 0) == 0; i++)
    usleep(10000); // until whoever reaps orphans has done so; a zombie is fine too
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)left);
  FILE *f = fopen(path, "r");
  if (f) {
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
  }
  assert_true(text[0] == '\0' || strstr(text, ") Z"));
  model_reply_release(&r);
}

static void many_at_once(void **state) {
  (void)state;
  enum { N = 20 };
  bool seen[N] = {false};
  struct model_reply r;
  struct model_client *c = open_client("exec:cat", 5, 0, 0);
  for (int i = 0; i < N; i++) {
    char text[32];
    snprintf(text, sizeof text, "prompt %d", i);
    submit(c, i, text);
  }
  for (int i = 0; i < N; i++) {
    assert_true(model_client_next(c, -1, &r));
    assert_false(seen[r.tag]);
    seen[r.tag] = true;
    assert_int_equal(atoll(strstr(buf_str(&r.text), "prompt ") + 7), r.tag);
    model_reply_release(&r);
  }
  model_client_close(c);
}

static void closing_ends_what_is_under_way(void **state) {
  (void)state;
  struct model_reply r;
  struct model_client *c = open_client("exec:sleep 1000", 2, 0, 0);
  for (int i = 0; i < 4; i++)
    submit(c, i, "x");
  assert_false(model_client_next(c, 50000000, &r));
  model_client_close(c);
}

static void endpoints_are_checked(void **state) {
  (void)state;
  struct assay_error err = {0};
  assert_int_equal(model_endpoint_check(&(struct model_endpoint){.url = "exec: "}, &err), ASSAY_ERR_USAGE);
  assert_int_equal(model_endpoint_check(&(struct model_endpoint){.url = "nothing"}, &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "nothing"));
  assert_int_equal(model_endpoint_check(&(struct model_endpoint){.url = "exec:cat"}, &err), ASSAY_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prompt_in_reply_out),
      cmocka_unit_test(large_texts),
      cmocka_unit_test(failures),
      cmocka_unit_test(bounded_output),
      cmocka_unit_test(programs_left_behind),
      cmocka_unit_test(many_at_once),
      cmocka_unit_test(closing_ends_what_is_under_way),
      cmocka_unit_test(endpoints_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
