// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// Bodies of submissions: what is taken, and what each mistake is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fail_each.h"
#include "serve/request.h"

static struct request r;

static enum assay_status parse(const char *text, struct assay_error *err) {
  *err = (struct assay_error){0};
  return request_parse(text, strlen(text), &r, err);
}

static void test_whole(void **state) {
  (void)state;
  struct assay_error err;
  assert_int_equal(
      parse("{\"task\": \"kernelbench/1/19\", \"workload\": \"M=3, N=5\", \"device\": \"cpu\", \"settings\": "
            "{\"timing\": false, \"checks\": 30, \"rule\": \"allclose\"}, \"candidates\": [{\"name\": "
            "\"a.c\", \"source\": \"x\"}, {\"name\": \"b.cu\", \"source\": \"\"}]}",
            &err),
      ASSAY_OK);
  assert_int_equal(r.n, 2);
  assert_string_equal(r.candidates[1].task, "kernelbench/1/19");
  assert_string_equal(r.candidates[1].workload, "M=3, N=5");
  assert_string_equal(r.candidates[1].device, "cpu");
  assert_string_equal(r.candidates[1].name, "b.cu");
  assert_int_equal(r.candidates[0].source_bytes, 1);
  assert_string_equal(r.settings, "{\"checks\":30,\"rule\":\"allclose\",\"timing\":false}");
  request_release(&r);
  assert_int_equal(
      parse("{\"task\": \"a/1\", \"device\": null, \"candidates\": [{\"name\": \"a.c\", \"source\": \"x\"}]}", &err),
      ASSAY_OK);
  assert_string_equal(r.candidates[0].workload, "small");
  assert_null(r.candidates[0].device);
  assert_string_equal(r.settings, "{}");
  request_release(&r);
}

#define CANDIDATES ", \"candidates\": [{\"name\": \"a.c\", \"source\": \"x\"}]}"

static void test_mistakes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum assay_status status;
    const char *says;
  } cases[] = {
      {"", ASSAY_ERR_SYNTAX, "not JSON"},
      {"{", ASSAY_ERR_SYNTAX, "not JSON"},
      {"{} {}", ASSAY_ERR_SYNTAX, "not JSON"},
      {"{\"task\": \"a/1\", \"task\": \"a/2\"" CANDIDATES, ASSAY_ERR_SYNTAX, "not JSON"},
      {"[[[[[[[[[1]]]]]]]]]", ASSAY_ERR_LIMIT, "nested"},
      {"[]", ASSAY_ERR_INVALID, "the body"},
      {"{\"task\": \"a/1\", \"x\": 1" CANDIDATES, ASSAY_ERR_INVALID, "\"x\""},
      {"{\"task\": \"a\"" CANDIDATES, ASSAY_ERR_INVALID, "task"},
      {"{\"task\": \"/a/1\"" CANDIDATES, ASSAY_ERR_INVALID, "task"},
      {"{\"task\": \"a/../1\"" CANDIDATES, ASSAY_ERR_INVALID, "task"},
      {"{\"task\": \"a/1/\"" CANDIDATES, ASSAY_ERR_INVALID, "task"},
      {"{\"task\": 1" CANDIDATES, ASSAY_ERR_INVALID, "task"},
      {"{\"task\": \"a/1\", \"workload\": \"\"" CANDIDATES, ASSAY_ERR_INVALID, "workload"},
      {"{\"task\": \"a/1\", \"workload\": \"a\\nb\"" CANDIDATES, ASSAY_ERR_INVALID, "workload"},
      {"{\"task\": \"a/1\", \"device\": 1" CANDIDATES, ASSAY_ERR_INVALID, "device"},
      {"{\"task\": \"a/1\", \"settings\": 1" CANDIDATES, ASSAY_ERR_INVALID, "settings"},
      {"{\"task\": \"a/1\", \"settings\": {\"seed\": 1}" CANDIDATES, ASSAY_ERR_INVALID, "seed"},
      {"{\"task\": \"a/1\", \"settings\": {\"checks\": 0}" CANDIDATES, ASSAY_ERR_INVALID, "checks"},
      {"{\"task\": \"a/1\", \"settings\": {\"checks\": 1.5}" CANDIDATES, ASSAY_ERR_INVALID, "checks"},
      {"{\"task\": \"a/1\", \"settings\": {\"rule\": \"\"}" CANDIDATES, ASSAY_ERR_INVALID, "rule"},
      {"{\"task\": \"a/1\", \"settings\": {\"rule\": \"contract|allclose\"}" CANDIDATES, ASSAY_ERR_INVALID, "rule"},
      {"{\"task\": \"a/1\", \"settings\": {\"mode\": \"pla\"}" CANDIDATES, ASSAY_ERR_INVALID, "mode"},
      {"{\"task\": \"a/1\", \"candidates\": []}", ASSAY_ERR_INVALID, "candidates"},
      {"{\"task\": \"a/1\", \"candidates\": {}}", ASSAY_ERR_INVALID, "candidates"},
      {"{\"task\": \"a/1\", \"candidates\": [1]}", ASSAY_ERR_INVALID, "candidates"},
      {"{\"task\": \"a/1\", \"candidates\": [{\"name\": \"a.c\"}]}", ASSAY_ERR_INVALID, "a.c"},
      {"{\"task\": \"a/1\", \"candidates\": [{\"name\": \"a/b.c\", \"source\": \"\"}]}", ASSAY_ERR_INVALID, "name"},
      {"{\"task\": \"a/1\", \"candidates\": [{\"name\": \"-o\", \"source\": \"\"}]}", ASSAY_ERR_INVALID, "name"},
      {"{\"task\": \"a/1\", \"candidates\": [{\"name\": \"a.c\", \"source\": \"\", \"x\": 1}]}", ASSAY_ERR_INVALID,
       "x"},
      {"{\"task\": \"a/1\", \"candidates\": [{\"name\": \"a.c\", \"source\": \"\\u0000\"}]}", ASSAY_ERR_SYNTAX, "JSON"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct assay_error err;
    enum assay_status status = parse(cases[i].text, &err);
    if (status != cases[i].status || !strstr(err.message, cases[i].says) || r.n != 0)
      fail_msg("%s: %d, %s", cases[i].text, status, err.message);
    request_release(&r);
  }
}

static enum assay_status parse_it(void *arg, struct assay_error *err) {
  enum assay_status status = parse(arg, err);
  request_release(&r);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  char text[] = "{\"task\": \"a/1\", \"settings\": {\"checks\": 2}" CANDIDATES;
  fail_each(parse_it, text, 0);
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_mistakes),
                                            cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
