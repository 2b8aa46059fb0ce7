// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// Reading task files: all of levels 1 and 2 against the census of the published suite, and what is said of files that
// are wrong.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "oracle/oracle.h"
#include "task/metadata.h"
#include "task/task.h"

#define ROOT ASSAY_SOURCE_DIR "/tasks"

// Every allocation of Assay goes through base_realloc; the allocation number `fail_at` (from 1) finds no memory.
static long allocations, fail_at;
void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  if (++allocations == fail_at)
    return NULL;
  return __real_base_realloc(p, n);
}

static struct task read_task(const char *name, bool as_published) {
  struct task t = {0};
  struct assay_error err = {0};
  char *path = NULL;
  if (task_find(ROOT, name, &path, &err) != ASSAY_OK || task_read(path, as_published, &t, &err) != ASSAY_OK)
    fail_msg("%s: %s", name, err.message);
  base_free(path);
  return t;
}

// ---- the suite ------------------------------------------------------------------------------------------------------

struct census_row {
  int level, id;
  double inputs, output; // bytes
  double parameters, contraction_flops;
};

// "64x128:float32;64:int64" or "scalar:float32" in bytes.
static double census_bytes(const char *text) {
  double total = 0;
  char copy[256], *saved = NULL;
  snprintf(copy, sizeof copy, "%s", text);
  for (char *part = strtok_r(copy, ";", &saved); part; part = strtok_r(NULL, ";", &saved)) {
    const char *type = strchr(part, ':');
    double n = strcmp(type, ":int64") == 0 ? 8 : strcmp(type, ":bool") == 0 ? 1 : 4;
    for (char *dim = part; *part != 's' && *dim != ':'; dim += *dim == 'x')
      n *= strtod(dim, &dim);
    total += n;
  }
  return total;
}

static int read_census(int level, struct census_row *rows, int capacity) {
  char path[512];
  snprintf(path, sizeof path, ASSAY_SOURCE_DIR "/tests/tasks/level%d_census.csv", level);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  char line[512], inputs[256], output[128];
  int n = 0;
  assert_non_null(fgets(line, sizeof line, f));
  while (fgets(line, sizeof line, f)) {
    struct census_row r = {.level = level};
    assert_int_equal(
        sscanf(line, "%d,%255[^,],%127[^,],%lf,%lf", &r.id, inputs, output, &r.parameters, &r.contraction_flops), 5);
    r.inputs = census_bytes(inputs);
    r.output = census_bytes(output);
    assert_true(n < capacity);
    rows[n++] = r;
  }
  fclose(f);
  return n;
}

static void check_against_census(const struct census_row *row, bool as_published) {
  char name[64];
  struct assay_error err = {0};
  snprintf(name, sizeof name, "kernelbench/%d/%d", row->level, row->id);
  struct task t = read_task(name, as_published);
  assert_string_equal(t.name, name);
  assert_string_equal(t.contract.name, "fp32");
  assert_true(t.rtol == 1e-4 && t.atol == 1e-4 && strlen(t.hash) == 64 && t.probes & 1u << PROBE_DECLARED);
  assert_true(t.n_workloads >= 5);
  assert_string_equal(t.workloads[0].name, "small");
  assert_string_equal(t.workloads[1].name, "full");
  for (int i = 0; i < t.n_workloads; i++) {
    struct task_cost c;
    if (task_cost(&t, &t.workloads[i], &c, &err) != ASSAY_OK)
      fail_msg("%s: %s", name, err.message);
    assert_true(c.flops + c.contraction_flops > 0 || row->level > 1 || row->id == 90 || row->id == 51 ||
                row->id == 52 || i > 1);
    if (i == 1) {
      if (c.input_bytes - c.weight_bytes != row->inputs || c.output_bytes != row->output ||
          c.weight_bytes != 4 * row->parameters)
        fail_msg("%s: %.0f bytes in, %.0f out, %.0f weights; the census has %.0f, %.0f, %.0f", name,
                 c.input_bytes - c.weight_bytes, c.output_bytes, c.weight_bytes, row->inputs, row->output,
                 4 * row->parameters);
      // The census counts a convolution's bias with its products (problem 50), of which at level 3 some have few.
      double tolerance = row->level < 3 ? 0.002 : 0.02;
      if (fabs(c.contraction_flops - row->contraction_flops) > tolerance * row->contraction_flops)
        fail_msg("%s: %.0f contraction operations, the census has %.0f", name, c.contraction_flops,
                 row->contraction_flops);
    } else {
      assert_true(row->level > 2 || c.largest_elements <= (i == 0 ? 1 << 18 : 1 << 13));
    }
  }
  assert_true(t.repaired == (t.repair != NULL));
  task_release(&t);
}

static void test_all_of_both_levels(void **state) {
  (void)state;
  for (int level = 1; level <= 2; level++) {
    struct census_row rows[128];
    int n = read_census(level, rows, 128);
    assert_int_equal(n, 100);
    for (int i = 0; i < n; i++) {
      check_against_census(&rows[i], false);
      check_against_census(&rows[i], true);
    }
  }
}

// All of a level, and no file but them.
static void check_networks(int level, int wanted) {
  struct assay_error err = {0};
  struct census_row rows[64];
  int n = read_census(level, rows, 64), count;
  char **paths, pattern[32];
  snprintf(pattern, sizeof pattern, "kernelbench/%d", level);
  assert_int_equal(task_list(ROOT, pattern, &paths, &count, &err), ASSAY_OK);
  assert_true(n == wanted && count == wanted);
  for (int i = 0; i < n; i++) {
    check_against_census(&rows[i], false);
    check_against_census(&rows[i], true);
  }
  task_list_release(paths, count);
}

static void test_networks(void **state) {
  (void)state;
  check_networks(3, 50);
  check_networks(4, 20);
}

static void test_forms(void **state) {
  (void)state;
  struct task repaired = read_task("kernelbench/1/19", false), published = read_task("kernelbench/1/19", true);
  assert_true(repaired.repaired && published.repaired && !repaired.as_published && published.as_published);
  assert_true(repaired.inputs[0].distribution.a < 0 && published.inputs[0].distribution.a == 0);
  assert_string_equal(repaired.hash, published.hash);
  assert_true(repaired.probes >> PROBE_NEAR_OVERFLOW & 1 && !(repaired.probes >> PROBE_SPECIAL & 1));
  assert_true(repaired.near_overflow > 1e37);
  task_release(&repaired);
  task_release(&published);
  struct task loss = read_task("kernelbench/1/98", false);
  assert_int_equal(loss.probes, 1u << PROBE_DECLARED); // probabilities are never replaced
  task_release(&loss);
  struct task product = read_task("kernelbench/1/90", false);
  assert_false(product.probes >> PROBE_HEAVY_MEAN & 1);
  assert_true(product.probes >> PROBE_ZERO_MEAN & 1);
  task_release(&product);
}

// Another contract in the place of the task's own: only one of the same type that asks for less.
static void test_other_contracts(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct task t = read_task("kernelbench/1/1", false);
  assert_string_equal(t.own_contract, "fp32");
  assert_int_equal(task_take_contract(&t, NULL, &err), ASSAY_OK);
  assert_int_equal(task_take_contract(&t, "fp32", &err), ASSAY_OK);
  assert_int_equal(t.contract.arith.product_bits, 53);
  const char *const refused[] = {"fp16", "bf16", "", "fp64"};
  for (int i = 0; i < 4; i++)
    assert_int_equal(task_take_contract(&t, refused[i], &err), ASSAY_ERR_USAGE);
  assert_string_equal(t.contract.name, "fp32");
  assert_int_equal(task_take_contract(&t, "tf32", &err), ASSAY_OK);
  assert_string_equal(t.contract.name, "tf32");
  assert_string_equal(t.own_contract, "fp32");
  assert_int_equal(t.contract.arith.product_bits, 11);
  assert_int_equal(task_take_contract(&t, "fp32", &err), ASSAY_ERR_USAGE); // nor back
  task_release(&t);
  t = read_task("contracts/1/4", false);
  assert_string_equal(t.own_contract, "bf16");
  assert_int_equal(task_take_contract(&t, "tf32", &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "is a task of bf16"));
  task_release(&t);
}

// ---- files that are wrong -------------------------------------------------------------------------------------------

static const char good_text[] =
    "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\n"
    "\"assay.task\" : \"test/gemm\", \"assay.title\" : \"a product\", \"author\" : \"nobody\",\n"
    "\"assay.workload.full\" : \"M=10, K=20, N=30\", \"assay.workload.small\" : \"M=2, K=3, N=4\",\n"
    "\"assay.workload.ragged10\" : \"M=1, K=1, N=1\", \"assay.workload.ragged9\" : \"M=1, K=1, N=2\",\n"
    "\"assay.input.a\" : \"normal(0, 1)\", \"assay.input.b\" : \"uniform(-1, 1) static\",\n"
    "\"assay.published.input.a\" : \"uniform(0, 1)\", \"assay.repair\" : \"signed inputs\",\n"
    "\"assay.contract\" : \"fp32\", \"assay.allclose\" : \"1e-3, 2e-4\",\n"
    "\"assay.probes\" : \"special, near_overflow(1e17), -integers\", \"assay.lint.allow\" : \"zeros: a test\"]>\n"
    "gemm (float[M, K] a, float[K, N] b) => (float[M, N] y) { y = MatMul(a, b) }\n";

// The good text with `from` replaced by `to`, on the heap.
static char *edited(const char *from, const char *to) {
  const char *at = strstr(good_text, from);
  assert_non_null(at);
  char *out = malloc(sizeof good_text + strlen(to) + 1);
  size_t before = (size_t)(at - good_text);
  memcpy(out, good_text, before);
  strcpy(out + before, to);
  strcat(out, at + strlen(from));
  return out;
}

// What nobody can leave out: the whole, or the parts that the file says.
static void test_least_work(void **state) {
  (void)state;
  for (int parts = 0; parts < 2; parts++) {
    char *text = edited("\"assay.contract\"", parts ? "\"assay.contraction_part\" : \"1/6\", \"assay.weight_part\" : "
                                                      "\"2/5\", \"assay.input_part\" : \"1/4\", \"assay.contract\""
                                                    : "\"assay.contract\"");
    struct task t;
    struct task_cost c;
    struct assay_error err = {0};
    if (task_parse(text, strlen(text), "good.onnxtxt", false, &t, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    assert_int_equal(task_cost(&t, task_workload(&t, "full"), &c, &err), ASSAY_OK);
    assert_true(c.input_bytes == 4 * (10 * 20 + 20 * 30) && c.weight_bytes == 4 * 20 * 30);
    assert_true(fabs(c.least_input_bytes - 4 * (parts ? 10 * 20 / 4. + 20 * 30 * 0.4 : 10 * 20 + 20 * 30)) < 1e-9);
    assert_true(fabs(c.least_contraction_flops - c.contraction_flops / (parts ? 6 : 1)) < 1e-9);
    task_release(&t);
    free(text);
  }
}

// Attention that looks back only: no more than the pairs that are seen.
static void test_causal_work(void **state) {
  (void)state;
  static const char *const names[] = {"fusedops/attention/bf16_attention_causal",
                                      "fusedops/attention/bf16_attention_gqa"};
  for (int n = 0; n < 2; n++) {
    struct assay_error err = {0};
    struct task t = read_task(names[n], false);
    for (int i = 0; i < t.n_workloads; i++) {
      struct task_cost c;
      double length = (double)workload_value(&t.workloads[i], "S");
      assert_int_equal(task_cost(&t, &t.workloads[i], &c, &err), ASSAY_OK);
      assert_true(length >= 1 && c.least_contraction_flops > 0);
      assert_true(c.least_contraction_flops <= c.contraction_flops * (length + 1) / (2 * length) + 1e-9);
    }
    task_release(&t);
  }
}

static void test_good_text(void **state) {
  (void)state;
  struct task t;
  struct assay_error err = {0};
  if (task_parse(good_text, strlen(good_text), "good.onnxtxt", false, &t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_int_equal(t.n_workloads, 4);
  assert_string_equal(t.workloads[2].name, "ragged9");
  assert_string_equal(t.workloads[3].name, "ragged10");
  assert_true(t.rtol == 1e-3 && t.atol == 2e-4 && t.near_overflow == 1e17);
  assert_int_equal(t.probes, ((1u << PROBE_COUNT) - 1) & ~(1u << PROBE_INTEGERS | 1u << PROBE_SMALL_SPREAD));
  assert_true(t.inputs[1].distribution.is_static && t.inputs[0].distribution.kind == DIST_NORMAL);
  struct arena a = {0};
  struct workload w;
  assert_int_equal(task_parse_workload(&t, "N = 7,M=5,K=6", &a, &w, &err), ASSAY_OK);
  struct array shapes[2];
  assert_int_equal(task_input_shapes(&t, &w, shapes, &err), ASSAY_OK);
  assert_true(shapes[0].shape.dims[0] == 5 && shapes[0].shape.dims[1] == 6 && shapes[1].shape.dims[1] == 7);
  assert_string_equal(w.name, "M=5, K=6, N=7"); // one name, however it was written
  char sizes[128] = "";
  const struct workload *small = task_workload(&t, "small");
  assert_non_null(small);
  for (int i = small->n - 1; i >= 0; i--)
    snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), "%s=%lld%s", small->bindings[i].symbol,
             (long long)small->bindings[i].value, i ? "," : "");
  assert_int_equal(task_parse_workload(&t, sizes, &a, &w, &err), ASSAY_OK);
  assert_string_equal(w.name, "small");
  assert_int_equal(task_parse_workload(&t, "full", &a, &w, &err), ASSAY_OK);
  assert_string_equal(w.name, "full");
  static const char *const bad[] = {"fulll", "M=1", "M=1, K=2, N=3, L=4", "M=0, K=1, N=1", "M=1 K=1", "", "M=1, M=2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (task_parse_workload(&t, bad[i], &a, &w, &err) == ASSAY_OK)
      fail_msg("workload '%s' was read", bad[i]);
    assert_non_null(strstr(err.message, "test/gemm"));
  }
  arena_release(&a);
  task_release(&t);
}

static void test_bad_files(void **state) {
  (void)state;
  // The text that is replaced, its replacement, and what the message must name in addition to the file.
  static const char *const rows[][3] = {
      {"assay.input.a\" : \"normal(0, 1)", "assay.input.a\" : \"normal(0)", "assay.input.a"},
      {"\"assay.input.b\" : \"uniform(-1, 1) static\",\n", "", "assay.input.b"},
      {"assay.input.b", "assay.input.c", "assay.input.c"},
      {"assay.title", "assay.titel", "assay.titel"},
      {"assay.title", "assay.task", "assay.task"},
      {"assay.workload.small\"", "assay.workload.tiny\"", "assay.workload.small"},
      {"assay.workload.full\"", "assay.workload.large\"", "assay.workload.full"},
      {"M=10, K=20, N=30", "M=10, K=20", "assay.workload.full"},
      {"M=10, K=20, N=30", "M=10, K=20, N=30, L=1", "assay.workload.full"},
      {"M=10, K=20, N=30", "M=10, K=20, N=-1", "assay.workload.full"},
      {"M=10, K=20, N=30", "M=10, K=20, N=9999999999999999999", "assay.workload.full"},
      {"M=10, K=20, N=30", "M=1000000, K=10000000, N=1", "assay.workload.full"},
      {"\"assay.contract\" : \"fp32\", ", "", "assay.contract"},
      {"\"fp32\"", "\"fp8\"", "assay.contract"},
      {"\"fp32\"", "\"bf16\"", "assay.contract"},
      {"1e-3, 2e-4", "1e-3", "assay.allclose"},
      {"1e-3, 2e-4", "-1, 0", "assay.allclose"},
      {"-integers", "-intergers", "assay.probes"},
      {"near_overflow(1e17)", "near_overflow", "assay.probes"},
      {"\"assay.contract\"", "\"assay.weight_part\" : \"3/2\", \"assay.contract\"", "assay.weight_part"},
      {"\"assay.contract\"", "\"assay.contraction_part\" : \"0.5\", \"assay.contract\"", "assay.contraction_part"},
      {"zeros: a test", "zeros", "assay.lint.allow"},
      {"zeros: a test", "ones: a test", "assay.lint.allow"},
      {"\"assay.repair\" : \"signed inputs\",", "", "assay.repair"},
      {"\"assay.published.input.a\" : \"uniform(0, 1)\",", "", "assay.published.input"},
      {"normal(0, 1)", "integers(0, Q)", "Q"},
      {"float[M, K] a", "int64[M, K] a", "assay.input.a"},
      {"MatMul", "MatMull", "MatMull"},
      {"(float[M, K] a", "(float[M, K a", "line"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *text = edited(rows[i][0], rows[i][1]);
    struct task t;
    struct assay_error err = {0};
    if (task_parse(text, strlen(text), "dir/bad.onnxtxt", false, &t, &err) == ASSAY_OK)
      fail_msg("'%s' instead of '%s' was read", rows[i][1], rows[i][0]);
    if (!strstr(err.message, "dir/bad.onnxtxt") || !strstr(err.message, rows[i][2]))
      fail_msg("'%s' instead of '%s': the message names neither file nor '%s': %s", rows[i][1], rows[i][0], rows[i][2],
               err.message);
    free(text);
  }
}

// A task whose default form changes constants of the graph; `published` is what the file says of them.
static enum assay_status parse_constants(const char *published, bool as_published, struct task *t,
                                         struct assay_error *err) {
  char text[1024];
  snprintf(text, sizeof text,
           "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"t/c\",\n"
           "\"assay.workload.full\" : \"M=3\", \"assay.workload.small\" : \"M=2\", \"assay.contract\" : \"fp32\",\n"
           "\"assay.input.x\" : \"normal(0, 1)\", %s \"assay.repair\" : \"a test\"]>\n"
           "g (float[M, 4, 5] x) => (float[M, 1, 1] y) <float bound = {0.5}, int64[2] axes = {1, 2}>\n"
           "{ low = Min(x, bound) y = ReduceSum<keepdims = 1>(low, axes) }\n",
           published);
  return task_parse(text, strlen(text), "dir/constants.onnxtxt", as_published, t, err);
}

static const struct tensor *constant_of(const struct graph *g, const char *name) {
  for (int i = 0; i < g->n_values; i++)
    if (strcmp(g->values[i].name, name) == 0)
      return g->values[i].constant;
  return NULL;
}

static void test_published_constants(void **state) {
  (void)state;
  static const char keys[] = "\"assay.published.constant.bound\" : \"-3\", "
                             "\"assay.published.constant.axes\" : \"2 , 1\",";
  for (int as_published = 0; as_published < 2; as_published++) {
    struct task t;
    struct assay_error err = {0};
    if (parse_constants(keys, as_published, &t, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    assert_true(t.repaired);
    const struct graph *graphs[] = {&t.model.graph, &t.model.flat};
    for (int k = 0; k < 2; k++) {
      const float *bound = constant_of(graphs[k], "bound")->data;
      const int64_t *axes = constant_of(graphs[k], "axes")->data;
      assert_true(*bound == (as_published ? -3.0f : 0.5f));
      assert_int_equal(axes[0], as_published ? 2 : 1);
      assert_int_equal(axes[1], as_published ? 1 : 2);
    }
    task_release(&t);
  }
  static const char *const bad[] = {"bound\" : \"\",",       "bound\" : \"x\",",     "bound\" : \"1, 2\",",
                                    "bound\" : \"inf\",",    "axes\" : \"1\",",      "axes\" : \"1, 2.5\",",
                                    "axes\" : \"1, 1e99\",", "axes\" : \"1, 2, \",", "nosuch\" : \"1\","};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[256];
    struct task t;
    struct assay_error err = {0};
    snprintf(text, sizeof text, "\"assay.published.constant.%s", bad[i]);
    if (parse_constants(text, false, &t, &err) == ASSAY_OK)
      fail_msg("'%s' was read", bad[i]);
    assert_non_null(strstr(err.message, "assay.published.constant."));
  }
  enum assay_status status = ASSAY_ERR_NOMEM;
  for (long n = 1; status != ASSAY_OK; n++) {
    struct task t;
    struct assay_error err = {0};
    allocations = 0;
    fail_at = n;
    status = parse_constants(keys, true, &t, &err);
    fail_at = 0;
    if (status == ASSAY_OK)
      task_release(&t);
    else
      assert_int_equal(status, ASSAY_ERR_NOMEM);
  }
}

static void test_truncated(void **state) {
  (void)state;
  for (size_t n = 0; n < strlen(good_text) - 2; n++) {
    struct task t;
    struct assay_error err = {0};
    char *exact = malloc(n + 1); // on the heap, so that a read past the end is seen
    memcpy(exact, good_text, n);
    exact[n] = '\0';
    if (task_parse(exact, n, "cut", false, &t, &err) == ASSAY_OK)
      fail_msg("a file cut after %zu bytes was read", n);
    free(exact);
  }
}

static void test_no_memory(void **state) {
  (void)state;
  enum assay_status status = ASSAY_ERR_NOMEM;
  long n = 0;
  while (status != ASSAY_OK) {
    struct task t;
    struct assay_error err = {0};
    allocations = 0;
    fail_at = ++n;
    status = task_parse(good_text, strlen(good_text), "good.onnxtxt", false, &t, &err);
    if (status == ASSAY_OK) {
      struct task_cost c;
      struct arena a = {0};
      struct workload w;
      allocations = 0;
      fail_at = 1; // each of these needs memory
      assert_int_equal(task_cost(&t, &t.workloads[0], &c, &err), ASSAY_ERR_NOMEM);
      allocations = 0;
      assert_int_equal(task_parse_workload(&t, "M=1, K=1, N=1", &a, &w, &err), ASSAY_ERR_NOMEM);
      arena_release(&a);
      task_release(&t);
    } else {
      assert_int_equal(status, ASSAY_ERR_NOMEM);
    }
    fail_at = 0;
  }
  assert_true(n > 2);
  for (n = 1, status = ASSAY_ERR_NOMEM; status != ASSAY_OK; n++) {
    char **paths = NULL;
    int count = 0;
    struct assay_error err = {0};
    allocations = 0;
    fail_at = n;
    status = task_list(ROOT, "kernelbench/1", &paths, &count, &err);
    fail_at = 0;
    if (status == ASSAY_OK)
      task_list_release(paths, count);
    else
      assert_int_equal(status, ASSAY_ERR_NOMEM);
  }
}

// ---- names, inputs, contracts ---------------------------------------------------------------------------------------

static void test_find(void **state) {
  (void)state;
  static const struct {
    const char *name, *end;
  } good[] = {{"kernelbench/1/19", "level1/019_relu.onnxtxt"},
              {"kernelbench/1/100", "level1/100_hinge_loss.onnxtxt"},
              {"kernelbench/1/relu", "level1/019_relu.onnxtxt"},
              {"kernelbench/1/019_relu", "level1/019_relu.onnxtxt"},
              {"kernelbench/level1/1", "level1/001_square_matmul.onnxtxt"},
              {"KernelBench/1/ReLU", "level1/019_relu.onnxtxt"},
              {"square_matmul", "level1/001_square_matmul.onnxtxt"},
              {"kernelbenchx/Reduce/sum", "kernelbenchx/Reduce/sum.onnxtxt"},
              {"kernelbenchx/activation/GELU_fp16", "kernelbenchx/Activation/gelu_fp16.onnxtxt"},
              {ROOT "/kernelbench/level1/040_layer_norm.onnxtxt", "level1/040_layer_norm.onnxtxt"}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char *path = NULL;
    struct assay_error err = {0};
    if (task_find(ROOT, good[i].name, &path, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    assert_string_equal(path + strlen(path) - strlen(good[i].end), good[i].end);
    base_free(path);
  }
  static const struct {
    const char *name, *why;
  } bad[] = {{"kernelbench/1/101", " tasks are there"},
             {"kernelbench/1/0", " tasks are there"},
             {"kernelbench/9/1", " tasks are there"},
             {"kernelbench", " tasks are there"},
             {"", " tasks are there"},
             {"nothing/1/1", " tasks are there"},
             {"kernelbench/1/", " tasks are there"},
             {"101", " tasks are there"},
             {"kernelbench/1/rel", "did you mean kernelbench/1/19 (relu), kernelbench/1/20 (leaky_relu), "},
             {"relu", "say which: kernelbench/1/19 (relu), kernelbenchx/Activation/relu"},
             {"kernelbenchx/Activation/gelus", "did you mean kernelbench/1/26 (gelu), kernelbenchx/Activation/gelu"},
             {"kernelbenchx/Nothing/gelu", "did you mean kernelbench/1/26 (gelu), kernelbenchx/Activation/gelu"},
             {"sofmax", "did you mean kernelbench/1/23 (softmax)"},
             {"resnet", "did you mean "}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char *path = NULL;
    struct assay_error err = {0};
    assert_int_equal(task_find(ROOT, bad[i].name, &path, &err), ASSAY_ERR_NOT_FOUND);
    assert_null(path);
    if (!strstr(err.message, bad[i].why))
      fail_msg("'%s': \"%s\" does not say \"%s\"", bad[i].name, err.message, bad[i].why);
  }
}

static void test_list(void **state) {
  (void)state;
  static const char *const patterns[] = {"kernelbench/1", "kernelbench/2", "kernelbench", ROOT "/kernelbench"};
  char **paths;
  int count, third, fourth;
  struct assay_error err = {0};
  assert_int_equal(task_list(ROOT, "kernelbench/3", &paths, &third, &err), ASSAY_OK);
  task_list_release(paths, third);
  assert_int_equal(task_list(ROOT, "kernelbench/4", &paths, &fourth, &err), ASSAY_OK);
  task_list_release(paths, fourth);
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    assert_int_equal(task_list(ROOT, patterns[i], &paths, &count, &err), ASSAY_OK);
    assert_int_equal(count, i < 2 ? 100 : 200 + third + fourth);
    for (int k = 0; k < count && k < 200; k++)
      assert_int_equal(strtol(strrchr(paths[k], '/') + 1, NULL, 10), k % 100 + 1);
    task_list_release(paths, count);
  }
  assert_int_equal(task_list(ROOT, NULL, &paths, &count, &err), ASSAY_OK);
  assert_true(count > 200); // and the other suites
  task_list_release(paths, count);
  assert_int_equal(task_list(ROOT, "kernelbenchx/reduce", &paths, &count, &err), ASSAY_OK);
  assert_int_equal(count, 6);
  task_list_release(paths, count);
  assert_int_equal(task_list(ROOT, "kernelbench/1/7", &paths, &count, &err), ASSAY_OK);
  assert_int_equal(count, 1);
  task_list_release(paths, count);
  assert_int_equal(task_list(ROOT, "kernelbench/7", &paths, &count, &err), ASSAY_ERR_NOT_FOUND);
  assert_int_equal(task_list("/nowhere", NULL, &paths, &count, &err), ASSAY_ERR_NOT_FOUND);
}

static void test_make_inputs(void **state) {
  (void)state;
  struct task t = read_task("kernelbench/1/95", false);
  struct assay_error err = {0};
  const struct workload *w = task_workload(&t, "small");
  static float logits[2][128 * 512];
  static int64_t labels[2][128];
  for (int k = 0; k < 2; k++) {
    void *buffers[2] = {logits[k], labels[k]};
    assert_int_equal(task_make_inputs(&t, w, PROBE_DECLARED, 9, 1 + 2 * k, buffers, &err), ASSAY_OK);
  }
  assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
  assert_memory_equal(labels[0], labels[1], sizeof labels[0]);
  int64_t high = 0;
  for (int i = 0; i < 128; i++) {
    assert_in_range(labels[0][i], 0, 511); // labels(C) follows the workload
    high = labels[0][i] > high ? labels[0][i] : high;
  }
  assert_true(high > 400);
  struct array arrays[2] = {{0}}; // the same for the oracle
  assert_int_equal(task_draw_inputs(&t, w, PROBE_DECLARED, 9, 2, arrays, &err), ASSAY_OK);
  for (int i = 0; i < 128 * 512; i++)
    assert_true(arrays[0].f64[i] == (double)logits[0][i]);
  assert_memory_equal(arrays[1].i64, labels[0], sizeof labels[0]);
  array_release(&arrays[0]);
  array_release(&arrays[1]);
  void *buffers[2] = {logits[1], labels[1]};
  assert_int_equal(task_make_inputs(&t, w, PROBE_NEAR_OVERFLOW, 9, 2, buffers, &err), ASSAY_OK);
  assert_memory_equal(labels[0], labels[1], sizeof labels[0]);
  assert_true(fabsf(logits[1][0]) > 30);
  task_release(&t);
}

static void test_contracts(void **state) {
  (void)state;
  struct contract c;
  static const char *const names[] = {"fp32", "tf32", "fp16", "bf16"};
  for (int i = 0; i < 4; i++) {
    assert_true(contract_by_name(names[i], &c));
    assert_string_equal(c.name, names[i]);
    assert_false(c.arith.exact);
    assert_int_equal(c.arith.bits, 24); // accumulation is in fp32 in all of them
    assert_int_equal(c.arith.product_bits, i == 1 ? 11 : 53);
    assert_true((c.arith.cut_bits > 0) == (i > 0)); // single precision rounds
  }
  assert_true(c.u_out == 0x1p-8 && c.eta_out == 0x1p-133);
  assert_true(contract_by_name("fp16", &c) && c.u_out == 0x1p-11 && c.eta_out == 0x1p-24);
  assert_true(contract_by_name("fp32", &c) && c.u_out == 0x1p-24 && c.eta_out == 0x1p-149);
  assert_false(contract_by_name("fp64", &c));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_of_both_levels),
      cmocka_unit_test(test_networks),
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_other_contracts),
      cmocka_unit_test(test_least_work),
      cmocka_unit_test(test_causal_work),
      cmocka_unit_test(test_good_text),
      cmocka_unit_test(test_bad_files),
      cmocka_unit_test(test_published_constants),
      cmocka_unit_test(test_truncated),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_find),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_make_inputs),
      cmocka_unit_test(test_contracts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
