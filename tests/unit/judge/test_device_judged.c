// SPDX-License-Identifier: Apache-2.0
// Checks of answers that are not unique, on a device: what is judged there is what is judged on the host. Built as
// gpu_judged it runs on a GPU.
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
#include "base/buf.h"
#include "base/clock.h"
#include "compute/nvrtc.h"
#include "host_device.h"
#include "judge/device_judged.h"
#include "judge/draws.h"
#include "oracle/oracle.h"
#include "sanitized.h"
#include "skip.h"
#include "task/device_draw.h"

enum { MOST = 12, POISON = POISON_NAN };

static struct compute *compute;

static enum assay_status open_device(struct compute **out, struct assay_error *err) {
#ifdef GPU_JUDGED_ON_CUDA
  return compute_open_cuda(&(struct compute_options){.nvrtc = getenv("ASSAY_NVRTC")}, out, err);
#else
  struct compute_options o = host_device_options();
  return compute_open_host(&o, out, err);
#endif
}

static int open_compute(void **state) {
  (void)state;
  struct assay_error err = {0};
  if (open_device(&compute, &err) == ASSAY_OK)
    return 0;
  print_error("%s\n", err.message);
  return -1;
}

// Nothing may be left on the device.
static int close_compute(void **state) {
  (void)state;
  struct compute_memory m;
  compute_memory(compute, &m);
  if (m.in_use)
    print_error("%zu bytes of device memory were never freed\n", m.in_use);
  compute_close(compute);
  return m.in_use ? -1 : 0;
}

static void need(enum assay_status status, const struct assay_error *err) {
  if (status != ASSAY_OK)
    fail_msg("%s", err->message);
}

// One call at a workload: its inputs and outputs on both sides, and the host's answer.
struct trial {
  struct task t;
  struct layout layout;
  struct array inputs[MOST];
  struct question q, answered;
  struct device_scales scales;
  device_ptr in[MOST], out[MOST];
  void *bytes[MOST];
  struct assay_check host[MOST], device[MOST];
};

static void *bytes_of(const struct array *a) {
  const int64_t n = shape_count(&a->shape);
  void *bytes = base_calloc((size_t)n + 1, dtype_bytes(a->dtype));
  if (dtype_is_float(a->dtype))
    dtype_from_f64(a->dtype, a->f64, n, bytes);
  else
    dtype_from_i64(a->dtype, a->i64, n, bytes);
  return bytes;
}

// The outputs are the oracle's own.
static void begin(struct trial *c, const char *workload, uint64_t key) {
  struct assay_error err = {0};
  struct array *in = c->inputs, out[MOST] = {{0}};
  need(layout_make(&c->t, task_workload(&c->t, workload), &c->layout, &err), &err);
  assert_true(c->layout.n_in <= MOST && c->layout.n_out <= MOST && c->layout.n_judged <= MOST);
  c->q = (struct question){.layout = &c->layout, .probe = PROBE_DECLARED, .key = key};
  need(task_draw_inputs(&c->t, c->layout.workload, PROBE_DECLARED, c->q.key, 2, in, &err), &err);
  const struct oracle_request r = {.graph = &c->t.model.flat, .inputs = in, .arith = arith_exact(), .threads = 2};
  need(oracle_eval(&r, out, &err), &err);
  for (int i = 0; i < c->layout.n_in; i++)
    need(compute_alloc(compute, tensor_type_bytes(&c->layout.in[i]) + 1, &c->in[i], &err), &err);
  need(task_make_inputs_on_device(&c->t, c->layout.workload, PROBE_DECLARED, c->q.key, compute, c->in, &err), &err);
  for (int i = 0; i < c->layout.n_out; i++) {
    c->bytes[i] = bytes_of(&out[i]);
    need(compute_alloc(compute, (size_t)layout_output_bytes(&c->layout, i) + 1, &c->out[i], &err), &err);
    array_release(&out[i]);
  }
  c->answered = c->q;
  need(question_answer(&c->t, &c->answered, 8, 2, &err), &err);
}

static void begin_task(struct trial *c, const char *name, const char *workload, uint64_t key) {
  struct assay_error err = {0};
  char *path;
  memset(c, 0, sizeof *c);
  need(task_find(ASSAY_SOURCE_DIR "/tasks", name, &path, &err), &err);
  need(task_read(path, false, &c->t, &err), &err);
  base_free(path);
  begin(c, workload, key);
}

static void drop_checks(struct trial *c) {
  for (int i = 0; i < MOST; i++) {
    base_free(c->host[i].description);
    base_free(c->device[i].description);
  }
  memset(c->host, 0, sizeof c->host);
  memset(c->device, 0, sizeof c->device);
}

static void end(struct trial *c) {
  drop_checks(c);
  device_scales_release(compute, &c->scales);
  for (int i = 0; i < MOST; i++) {
    compute_free(compute, c->in[i]);
    compute_free(compute, c->out[i]);
    base_free(c->bytes[i]);
    array_release(&c->inputs[i]);
  }
  question_release(&c->answered);
  layout_release(&c->layout);
  task_release(&c->t);
}

// The first lines: which of equally bad elements are listed, and what an error scale is to a digit, is free.
static void same_text(const char *what, const char *host, const char *device) {
  const size_t n = host ? strcspn(host, "\n") : 0;
  if ((host == NULL) != (device == NULL) || (host && (strncmp(host, device, n) != 0 || strcspn(device, "\n") != n)))
    fail_msg("%s on the host: %s\non the device: %s", what, host ? host : "nothing", device ? device : "nothing");
}

static struct device_check_request request_of(struct trial *c, const struct assay_judge_options *o) {
  return (struct device_check_request){.compute = compute,
                                       .task = &c->t,
                                       .question = &c->q,
                                       .in = c->in,
                                       .out = c->out,
                                       .poison = POISON,
                                       .options = o,
                                       .scales = &c->scales};
}

// Judges the outputs on both sides, whose checks must be the same, and says what the first one that fails found.
static enum assay_reason ask(struct trial *c, enum question_scale scale) {
  struct assay_error err = {0};
  struct assay_judge_options o = {.rule = ASSAY_RULE_CONTRACT, .threads = 2};
  uint64_t rows[64] = {0}, wanted[64] = {0};
  enum assay_reason reason = ASSAY_REASON_PASS;
  drop_checks(c);
  assert_true(draws_rows(&c->layout) <= 64);
  for (int i = 0; i < c->layout.n_out; i++)
    need(compute_upload(compute, c->out[i], c->bytes[i], (size_t)layout_output_bytes(&c->layout, i), &err), &err);
  need(question_check(&c->t, &c->answered, (const void *const *)c->bytes, POISON, &o, c->host, &err), &err);
  c->q.scale = scale;
  c->q.rows = rows;
  const struct device_check_request r = request_of(c, &o);
  need(device_check(&r, c->device, &err), &err);
  draws_hash(&c->layout, (const void *const *)c->bytes, wanted);
  assert_memory_equal(rows, wanted, sizeof rows);
  for (int i = 0; i < c->layout.n_judged; i++) {
    const struct assay_check *h = &c->host[i], *d = &c->device[i];
    assert_int_equal(h->reason, d->reason);
    assert_int_equal(h->n, d->n);
    assert_int_equal(h->wrong, d->wrong);
    assert_int_equal(h->output, d->output);
    same_text("description", h->description, d->description);
    same_text("hint", h->hint, d->hint);
    reason = reason == ASSAY_REASON_PASS ? d->reason : reason;
  }
  return reason;
}

enum harm { NOTHING, UNSEEDED, OTHER_PLACE, NAN_IN_IT, LAST_UNWRITTEN, ALL_UNWRITTEN, ONE_TRIAL_OFF, CONSTANT, HARMS };

// Output 0 has rows of floats.
static void harm_outputs(struct trial *c, enum harm harm) {
  const struct shape *s = &c->layout.out[0].shape;
  const int64_t rows = s->dims[0], columns = s->dims[1], n = rows * columns;
  const uint32_t poison = POISON;
  float *y = c->bytes[0];
  for (int64_t i = columns; i < n && harm == UNSEEDED; i++)
    y[i] = y[i % columns];
  for (int64_t i = 0; i < n && harm == CONSTANT; i++)
    y[i] = 0.5f;
  if (harm == OTHER_PLACE)
    y[0] = y[1] = 0.75f;
  if (harm == NAN_IN_IT)
    y[n / 2] = NAN;
  if (harm == LAST_UNWRITTEN)
    memcpy(&y[n - 1], &poison, sizeof poison);
  for (int o = 0; o < c->layout.n_out && harm == ALL_UNWRITTEN; o++)
    for (size_t i = 0; i < tensor_type_bytes(&c->layout.out[o]) / sizeof poison; i++)
      memcpy((char *)c->bytes[o] + i * sizeof poison, &poison, sizeof poison);
  if (harm == ONE_TRIAL_OFF && c->layout.n_out > 1)
    ((int32_t *)c->bytes[1])[7] ^= 1;
}

static void check_task(const char *name, enum harm harm, bool wrong, enum assay_reason reason) {
  for (int scale = SCALE_OWN; scale <= SCALE_FEW; scale++) {
    struct trial c;
    begin_task(&c, name, "ragged3", 11);
    harm_outputs(&c, harm);
    const enum assay_reason found = ask(&c, (enum question_scale)scale);
    assert_int_equal(found != ASSAY_REASON_PASS, wrong);
    if (wrong)
      assert_int_equal(found, reason);
    if (scale == SCALE_KEEP)
      assert_int_equal(ask(&c, SCALE_BORROW), found);
    end(&c);
  }
}

static void test_same_checks(void **state) {
  (void)state;
  static const char rand[] = "kernelbenchx/Random/rand", binomial[] = "kernelbenchx/Math/bitwise_and_binomial";
  const enum assay_reason value = ASSAY_REASON_WRONG_VALUE, unwritten = ASSAY_REASON_UNWRITTEN;
  check_task(rand, NOTHING, false, 0);
  check_task(rand, UNSEEDED, true, value);
  check_task(rand, NAN_IN_IT, true, value);
  check_task(rand, LAST_UNWRITTEN, true, unwritten);
  check_task(rand, ALL_UNWRITTEN, true, unwritten);
  check_task(rand, CONSTANT, true, value);
  check_task(binomial, NOTHING, false, 0);
  check_task(binomial, OTHER_PLACE, true, value);
  check_task(binomial, NAN_IN_IT, true, value);
  check_task(binomial, LAST_UNWRITTEN, true, unwritten);
  check_task(binomial, ALL_UNWRITTEN, true, unwritten);
  check_task(binomial, ONE_TRIAL_OFF, true, value);
}

// A check that cannot take the outputs is wrong in every element, whatever the answer's are; and values of many types.
static void test_check_refuses(void **state) {
  (void)state;
  static const char text[] =
      "<ir_version: 10, opset_import: [\"\" : 23, \"ai.assay\" : 1, \"local\" : 1], metadata_props: ["
      "\"assay.task\" : \"t\", \"assay.contract\" : \"fp32\", \"assay.workload.small\" : \"N=50\", "
      "\"assay.workload.full\" : \"N=50\", \"assay.input.x\" : \"normal(0, 1)\", \"assay.check\" : \"f\"]>\n"
      "g (float[N] x) => (float[N] y, int64[2] i) { y = Neg(x) i = Constant<value_ints = [3, 4]>() }\n"
      "<domain: \"local\", opset_import: [\"\" : 23, \"ai.assay\" : 1]>\n"
      "f (y, i) => (a, b, c, d, less, yes, no, top, nan) { b = Identity(i) a = Gather(y, i) c = Cast<to = 10>(y) "
      "d = Cast<to = 3>(i) z = Sub(i, i) less = BitwiseNot(z) yes = Equal(i, b) no = Not(yes) top = Cast<to = 2>(less) "
      "w = Sub(y, y) nan = Div(w, w) }\n";
  for (int kind = 0; kind < 3; kind++) {
    struct trial c = {0};
    struct assay_error err = {0};
    need(task_parse(text, strlen(text), "t.onnxtxt", false, &c.t, &err), &err);
    begin(&c, "small", 11);
    assert_true(device_judged_can(&c.t, &c.layout));
    if (kind == 1)
      ((int64_t *)c.bytes[1])[1] = 5;
    if (kind == 2)
      ((int64_t *)c.bytes[1])[0] = 5000; // no element of y
    const enum assay_reason reason = ask(&c, SCALE_OWN);
    assert_int_equal(reason == ASSAY_REASON_PASS, kind == 0);
    for (int i = 0; i < c.layout.n_judged && kind == 2; i++) {
      assert_int_not_equal(c.device[i].reason, ASSAY_REASON_PASS);
      if (!dtype_is_float(c.layout.judged[i].dtype))
        assert_int_equal(c.device[i].wrong, c.device[i].n);
    }
    end(&c);
  }
}

// The check itself errs in no pass, whatever the contract: its products and functions would hide what is wrong.
static void test_check_is_exact(void **state) {
  (void)state;
  static const char *const checks[] = {"w = CastLike(m, y) s = MatMul(y, w)",
                                       "k = Constant<value_float = 1000.0>() a = Add(y, k) s = Sub(a, k)"};
  for (int i = 0; i < 2; i++)
    for (int off = 0; off < 2; off++) {
      struct trial c = {0};
      struct assay_error err = {0};
      struct buf text = {0};
      buf_printf(&text,
                 "<ir_version: 10, opset_import: [\"\" : 23, \"local\" : 1], metadata_props: [\"assay.task\" : \"t\", "
                 "\"assay.contract\" : \"tf32\", \"assay.workload.small\" : \"N=64\", \"assay.workload.full\" : "
                 "\"N=64\", \"assay.input.x\" : \"uniform(0.5, 2)\", \"assay.input.m\" : \"uniform(0.5, 1.5)\", "
                 "\"assay.check\" : \"f\"]>\n"
                 "g (float[N,N] x, float[N,N] m) => (float[N,N] y) { y = Mul(x, x) }\n"
                 "<domain: \"local\", opset_import: [\"\" : 23]>\n"
                 "f (x, m, y) => (s) { %s }\n",
                 checks[i]);
      need(task_parse(buf_str(&text), text.len, "t.onnxtxt", false, &c.t, &err), &err);
      begin(&c, "small", 11);
      assert_true(device_judged_can(&c.t, &c.layout));
      for (int k = 0; k < 64 * 64 && off; k++)
        ((float *)c.bytes[0])[k] *= 1 + 0x1p-15F;
      assert_int_equal(ask(&c, SCALE_OWN) == ASSAY_REASON_PASS, off == 0);
      end(&c);
      buf_release(&text);
    }
}

// ---- numbers of other distributions than the task's, and honest ones that are not the oracle's

static double hash_of(int64_t seed, int64_t place, int64_t trial) {
  const uint64_t row = rng_mix64((uint64_t)seed), at = rng_mix64(row + (uint64_t)place);
  return rng_unit(rng_mix64(at + (uint64_t)trial));
}

static double cut(double u, int bits) {
  return ldexp(floor(ldexp(u, bits)), -bits);
}

static double uniform(int64_t seed, int64_t place) {
  return cut(hash_of(seed, place, 0), 24);
}

// What a kernel knows of one number. n, p: of binomial ones.
struct place {
  int64_t seed, row, at, n;
  double p;
};

typedef double number_fn(const struct place *k);

static double u_honest(const struct place *k) {
  return uniform(k->seed, k->at);
}
static double u_23_bits(const struct place *k) {
  return cut(hash_of(k->seed, k->at, 0), 23);
}
static double u_biased(const struct place *k) {
  return pow(u_honest(k), 1.03);
}
static double u_narrow(const struct place *k) {
  return 0.5 + 0.98 * (u_honest(k) - 0.5);
}
static double u_half(const struct place *k) {
  return u_honest(k) / 2;
}
static double u_20_bits(const struct place *k) {
  return cut(u_honest(k), 20);
}
static double u_8_bits(const struct place *k) {
  return cut(u_honest(k), 8);
}
static double u_constant(const struct place *k) {
  (void)k;
  return 0.5;
}
static double u_blocks(const struct place *k) {
  return uniform(k->seed, k->at % 16384);
}
static double u_short_blocks(const struct place *k) {
  return uniform(k->seed, k->at % 64);
}
static double u_stutters(const struct place *k) {
  return uniform(k->seed, k->at - (k->at > 0 && hash_of(~k->seed, k->at, 1) < 0.01));
}
static double u_pairs(const struct place *k) {
  return uniform(k->seed, k->at / 2);
}
static double u_mixed(const struct place *k) { // one in 20 is a mean of two
  return k->at % 20 ? u_honest(k) : (u_honest(k) + uniform(k->seed, k->at + 1)) / 2;
}
static double u_mirrored(const struct place *k) {
  return k->at % 2 ? 1 - 0x1p-24 - uniform(k->seed, k->at - 1) : u_honest(k);
}
static double u_sorted(const struct place *k) {
  return (double)k->at / 32768;
}
static double u_even(const struct place *k) {
  return fmod((double)(k->seed % 1000) + (double)k->at * 0.6180339887498949, 1);
}
static double u_unseeded(const struct place *k) {
  return uniform(5, k->at);
}
static double u_shifted(const struct place *k) {
  return uniform(5, k->seed % 1000000 + k->at);
}
static double u_seeds_of_32_bits(const struct place *k) {
  return uniform((int64_t)(uint32_t)k->seed, k->at);
}
static double u_no_replay(const struct place *k) {
  return uniform(k->row, k->at);
}

static double b_counts(const struct place *k, int64_t n, double p) {
  int64_t sum = 0;
  for (int64_t t = 0; t < n; t++)
    sum += hash_of(k->seed, k->at, t) < p;
  return (double)sum;
}
static double b_honest(const struct place *k) {
  return b_counts(k, k->n, k->p);
}
static double b_failures(const struct place *k) {
  return k->p > 0.5 ? (double)k->n - b_counts(k, k->n, 1 - k->p) : b_honest(k);
}
static double b_more_likely(const struct place *k) {
  return b_counts(k, k->n, 1.01 * k->p);
}
static double b_less_likely(const struct place *k) {
  return b_counts(k, k->n, 0.99 * k->p);
}
static double b_five_bits(const struct place *k) {
  return b_counts(k, k->n, cut(k->p, 5));
}
static double b_one_less(const struct place *k) {
  return b_counts(k, k->n - (k->n > 0), k->p);
}
static double b_one_more(const struct place *k) {
  return b_counts(k, k->n + 1, k->p);
}
static double b_from_three(const struct place *k) {
  return fmin(fmax(b_honest(k), 3), (double)k->n);
}
static double b_three_less(const struct place *k) {
  return fmin(b_honest(k), fmax((double)k->n - 3, 0));
}
static double b_poisson(const struct place *k) {
  const double u = hash_of(k->seed, k->at, 0);
  double chance = exp(-(double)k->n * k->p), below = 0;
  int64_t x = 0;
  for (; x < k->n && below + chance <= u; x++) {
    below += chance;
    chance *= (double)k->n * k->p / (double)(x + 1);
  }
  return (double)x;
}
static double b_normal(const struct place *k) {
  const double z = sqrt(-2 * log(1 - hash_of(k->seed, k->at, 0))) * cos(6.283185307179586 * hash_of(k->seed, k->at, 1));
  const double n = (double)k->n;
  return fmin(fmax(rint(n * k->p + z * sqrt(n * k->p * (1 - k->p))), 0), n);
}
static double b_expected(const struct place *k) {
  return rint((double)k->n * k->p);
}
static double b_all_or_nothing(const struct place *k) {
  return hash_of(k->seed, k->at, 0) < k->p ? (double)k->n : 0;
}
static double b_zero(const struct place *k) {
  (void)k;
  return 0;
}
static double b_unseeded(const struct place *k) {
  const struct place same = {.seed = 7, .at = k->at};
  return b_counts(&same, k->n, k->p);
}
static double b_shifted(const struct place *k) {
  const struct place on = {.seed = 7, .at = k->seed % 1000000 + k->at};
  return b_counts(&on, k->n, k->p);
}
static double b_pairs(const struct place *k) {
  const struct place pair = {.seed = k->seed, .at = k->at / 2};
  return b_counts(&pair, k->n, k->p);
}
static double b_blocks(const struct place *k) {
  const struct place block = {.seed = k->seed, .at = k->at % 4096};
  return b_counts(&block, k->n, k->p);
}
static double b_no_replay(const struct place *k) {
  const struct place row = {.seed = k->row, .at = k->at};
  return b_counts(&row, k->n, k->p);
}
static double b_half_more(const struct place *k) { // no whole numbers
  return b_honest(k) + 0.5;
}

struct mutant {
  const char *name;
  number_fn *number;
  bool passes;
  float one; // with `alone` this is the last number but one of the first row, and of those with its seed
  bool alone;
};

#define ONE(value, number)                                                                                             \
  { #value " in one place", number, false, value, true }
static const struct mutant of_uniform[] = {
    {"honest", u_honest, true, 0, false},
    {"honest, 23 bits", u_23_bits, true, 0, false},
    {"0 in one place", u_honest, true, 0, true},
    {"-0 in one place", u_honest, true, -0.0f, true},
    {"biased", u_biased, false, 0, false},
    {"narrow", u_narrow, false, 0, false},
    {"halves", u_half, false, 0, false},
    {"20 bits", u_20_bits, false, 0, false},
    {"8 bits", u_8_bits, false, 0, false},
    {"constant", u_constant, false, 0, false},
    {"repeated blocks", u_blocks, false, 0, false},
    {"short blocks", u_short_blocks, false, 0, false},
    {"1 % are those before", u_stutters, false, 0, false},
    {"pairs", u_pairs, false, 0, false},
    {"one in 20 a mean of two", u_mixed, false, 0, false},
    {"every second one mirrored", u_mirrored, false, 0, false},
    {"sorted", u_sorted, false, 0, false},
    {"too even", u_even, false, 0, false},
    {"no seed", u_unseeded, false, 0, false},
    {"the next seed is one place on", u_shifted, false, 0, false},
    {"32 bits of seeds", u_seeds_of_32_bits, false, 0, false},
    {"no replay", u_no_replay, false, 0, false},
    ONE(1.0f, u_honest),
    ONE(-0x1p-24f, u_honest),
    ONE(NAN, u_honest),
    ONE(INFINITY, u_honest),
    ONE(-INFINITY, u_honest),
};
static const struct mutant of_binomial[] = {
    {"honest", b_honest, true, 0, false},
    {"honest, failures", b_failures, true, 0, false},
    {"likelier", b_more_likely, false, 0, false},
    {"less likely", b_less_likely, false, 0, false},
    {"chances of five bits", b_five_bits, false, 0, false},
    {"one trial less", b_one_less, false, 0, false},
    {"one trial more", b_one_more, false, 0, false},
    {"at least three", b_from_three, false, 0, false},
    {"at most three less than all", b_three_less, false, 0, false},
    {"Poisson's", b_poisson, false, 0, false},
    {"rounded normal", b_normal, false, 0, false},
    {"expected", b_expected, false, 0, false},
    {"all or nothing", b_all_or_nothing, false, 0, false},
    {"zeros", b_zero, false, 0, false},
    {"no seed", b_unseeded, false, 0, false},
    {"the next seed is one place on", b_shifted, false, 0, false},
    {"pairs", b_pairs, false, 0, false},
    {"repeated blocks", b_blocks, false, 0, false},
    {"no replay", b_no_replay, false, 0, false},
    {"halves between", b_half_more, false, 0, false},
    ONE(-1.0f, b_honest),
    ONE(24.0f, b_honest), // there are 23 trials at most
    ONE(0.5f, b_honest),
    ONE(0x1p31f, b_honest),
    ONE(NAN, b_honest),
    ONE(INFINITY, b_honest),
    ONE(-INFINITY, b_honest),
};

// Inputs by their place in the task; -1: none.
struct inputs_of {
  int seeds, chances, trials;
};
enum { ENOUGH = 12 }; // trials: of few a chance that is somewhat too large hardly shows

static void draw_mutant(struct trial *c, const struct inputs_of *in, const struct mutant *m) {
  const struct shape *s = &c->layout.out[0].shape;
  float *y = c->bytes[0];
  for (int64_t i = 0; i < s->dims[0] * s->dims[1]; i++) {
    struct place k = {.row = i / s->dims[1], .at = i % s->dims[1]};
    k.seed = c->inputs[in->seeds].i64[k.row];
    if (in->chances >= 0) {
      k.n = ((const int32_t *)c->bytes[1])[k.at];
      k.p = c->inputs[in->chances].f64[k.at];
    }
    y[i] = m->alone && k.seed == c->inputs[in->seeds].i64[0] && k.at + 2 == s->dims[1] ? m->one : (float)m->number(&k);
  }
}

static void check_mutants(const char *name, const struct inputs_of *in, const struct mutant *m, size_t n) {
  struct trial c;
  begin_task(&c, name, "small", 11);
  for (uint64_t key = 12; in->trials >= 0 && c.inputs[in->trials].i64[0] < ENOUGH; key++) {
    end(&c);
    begin_task(&c, name, "small", key);
  }
  for (size_t i = 0; i < n; i += SANITIZED ? 3 : 1) {
    draw_mutant(&c, in, &m[i]);
    const enum assay_reason found = ask(&c, SCALE_OWN);
    if ((found == ASSAY_REASON_PASS) != m[i].passes)
      fail_msg("%s: %s: %s", name, m[i].name, assay_reason_code(found));
  }
  end(&c);
}

static void test_mutants(void **state) {
  (void)state;
  check_mutants("kernelbenchx/Random/rand", &(struct inputs_of){0, -1, -1}, of_uniform,
                sizeof of_uniform / sizeof *of_uniform);
  check_mutants("kernelbenchx/Math/bitwise_and_binomial", &(struct inputs_of){4, 3, 2}, of_binomial,
                sizeof of_binomial / sizeof *of_binomial);
}

// What else a candidate may tell: trials that are not those, or so many that nobody would draw them.
static void test_trials(void **state) {
  (void)state;
  static const int32_t told[] = {-1, 24, 257, INT32_MAX, INT32_MIN};
  struct trial c;
  begin_task(&c, "kernelbenchx/Math/bitwise_and_binomial", "ragged3", 11);
  int32_t *trials = c.bytes[1];
  float *y = c.bytes[0];
  const int32_t before = trials[9];
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    for (int drawn = 0; drawn < 2; drawn++) {
      const float y_before = y[9];
      trials[9] = told[i];
      y[9] = drawn ? (float)told[i] : y[9];
      assert_int_not_equal(ask(&c, SCALE_OWN), ASSAY_REASON_PASS);
      trials[9] = before;
      y[9] = y_before;
    }
  assert_int_equal(ask(&c, SCALE_OWN), ASSAY_REASON_PASS);
  end(&c);
}

// ---- sizes that the host would take too long for: nothing of them is made there

// What a check takes whatever the size is: counters and sums of the tests, and the first numbers.
enum { FIXED_BYTES = 25 << 20 };

static void begin_large(struct trial *c, const char *name, const char *workload) {
  struct assay_error err = {0};
  struct gpu_array in[MOST] = {{0}}, y[MOST] = {{0}};
  char *path;
  memset(c, 0, sizeof *c);
  need(task_find(ASSAY_SOURCE_DIR "/tasks", name, &path, &err), &err);
  need(task_read(path, false, &c->t, &err), &err);
  base_free(path);
  need(layout_make(&c->t, task_workload(&c->t, workload), &c->layout, &err), &err);
  c->q = (struct question){.layout = &c->layout, .probe = PROBE_DECLARED, .key = 11};
  for (int i = 0; i < c->layout.n_in; i++) {
    const struct tensor_type *type = &c->layout.in[i];
    need(compute_alloc(compute, tensor_type_bytes(type) + 1, &c->in[i], &err), &err);
    in[i] = (struct gpu_array){.dtype = type->dtype, .shape = type->shape, .data = c->in[i]};
    need(gpu_storage_of(type->dtype, &in[i].storage, &err), &err);
  }
  need(task_make_inputs_on_device(&c->t, c->layout.workload, PROBE_DECLARED, c->q.key, compute, c->in, &err), &err);
  const struct gpu_request r = {.compute = compute, .graph = &c->t.model.flat, .inputs = in, .arith = arith_exact()};
  need(gpu_oracle_eval(&r, y, &err), &err);
  for (int i = 0; i < c->layout.n_out; i++) {
    need(compute_alloc(compute, (size_t)layout_output_bytes(&c->layout, i) + 1, &c->out[i], &err), &err);
    need(gpu_array_store(compute, &y[i], false, &c->layout.out[i], c->out[i], &err), &err);
    gpu_array_release(compute, &y[i]);
  }
}

// What the device finds of its outputs, and in how many seconds.
static enum assay_reason ask_device(struct trial *c, double *seconds) {
  struct assay_error err = {0};
  struct assay_judge_options o = {.rule = ASSAY_RULE_CONTRACT, .threads = 2};
  uint64_t rows[64] = {0};
  enum assay_reason reason = ASSAY_REASON_PASS;
  drop_checks(c);
  c->q.rows = rows;
  const struct device_check_request r = request_of(c, &o);
  const int64_t start = clock_monotonic_ns();
  need(device_check(&r, c->device, &err), &err);
  *seconds = (double)(clock_monotonic_ns() - start) * 1e-9;
  for (int i = 0; i < c->layout.n_judged; i++)
    reason = reason == ASSAY_REASON_PASS ? c->device[i].reason : reason;
  return reason;
}

static void check_size(const char *name, const char *workload) {
  struct trial c;
  struct compute *usual = compute;
  struct compute_memory m;
  struct assay_error err = {0};
  struct assay_judge_options o;
  double first, again;
  const float wrong = -1;
  uint32_t word;
  memcpy(&word, &wrong, sizeof word);
  need(open_device(&compute, &err), &err); // its peak is this size's
  begin_large(&c, name, workload);
  const int64_t n = tensor_type_count(&c.layout.out[0]);
  assert_int_equal(ask_device(&c, &first), ASSAY_REASON_PASS);
  assert_int_equal(ask_device(&c, &again), ASSAY_REASON_PASS);
  compute_memory(compute, &m);
  assay_judge_defaults(&o);
  o.timing = false;
  o.declared_checks = 1;
  // On a GPU memory that is used again is up to an eighth larger than what was asked for.
  const double part = compute_is_cuda(compute) ? 1.125 : 1;
  const double most = part * ((double)layout_judging_bytes(&c.layout, &o) + FIXED_BYTES);
  print_message("%s, %s: %lld numbers, %.3f s and %.3f s, %.2f GB of %.2f GB\n", name, workload, (long long)n, first,
                again, (double)m.peak / 1e9, most / 1e9);
  assert_true((double)m.peak <= most);
  need(compute_set32(compute, c.out[0] + (uint64_t)(n - 1) * sizeof word, word, 1, &err), &err);
  assert_int_equal(ask_device(&c, &first), ASSAY_REASON_WRONG_VALUE); // the last number
  need(compute_set32(compute, c.out[0], 0, (size_t)n, &err), &err);
  assert_int_equal(ask_device(&c, &first), ASSAY_REASON_WRONG_VALUE); // all are 0
  end(&c);
  assert_int_equal(close_compute(NULL), 0);
  compute = usual;
}

static void test_sizes(void **state) {
  (void)state;
#ifdef GPU_JUDGED_ON_CUDA
  static const char *const sizes[] = {"size11", "size14", "size16"};
#else
  static const char *const sizes[] = {"size05"};
#endif
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_size("kernelbenchx/Math/bitwise_and_binomial", sizes[i]);
    check_size("kernelbenchx/Random/rand", sizes[i]);
  }
}

static void test_hashes(void **state) {
  (void)state;
  static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_FLOAT16, DTYPE_DOUBLE, DTYPE_FLOAT8E5M2, DTYPE_INT32};
  static const int64_t columns[] = {63, 64, 65, 1023, 1024, 1025, 5001};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
      struct assay_error err = {0};
      struct tensor_type types_of[2] = {{types[t], {.rank = 2, .dims = {3, columns[k]}}},
                                        {types[t], {.rank = 2, .dims = {2, columns[k]}}}};
      const struct layout l = {.n_out = 2, .out = types_of};
      const bool noted = types[t] != DTYPE_INT32 && columns[k] >= 64;
      unsigned char *bytes[2];
      device_ptr out[2];
      uint64_t host[5] = {0}, device[5] = {0};
      for (int o = 0; o < 2; o++) {
        const size_t n = tensor_type_bytes(&types_of[o]);
        bytes[o] = base_alloc(n);
        for (size_t i = 0; i < n; i++)
          bytes[o][i] = (unsigned char)rng_mix64(i + 7 * k);
        need(compute_alloc(compute, n, &out[o], &err), &err);
        need(compute_upload(compute, out[o], bytes[o], n, &err), &err);
      }
      assert_int_equal(draws_rows(&l), noted ? 5 : 0);
      draws_hash(&l, (const void *const *)bytes, host);
      need(device_judged_hash(compute, &l, out, device, &err), &err);
      assert_memory_equal(host, device, sizeof host);
      assert_true(!noted || (host[0] != host[1] && host[0] == host[3])); // the second output begins with the same bytes
      for (int o = 0; o < 2; o++) {
        base_free(bytes[o]);
        compute_free(compute, out[o]);
      }
    }
}

static void test_what_is_judged_where(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool device;
  } tasks[] = {{"kernelbenchx/Random/rand", true},
               {"kernelbenchx/Math/bitwise_and_binomial", true},
               {"kernelbenchx/LinearAlgebra/qr", false},
               {"kernelbenchx/LinearAlgebra/svd", false},
               {"kernelbenchx/LinearAlgebra/eig", false},
               {"kernelbenchx/LinearAlgebra/ldl_factor", false},
               {"kernelbench/1/40", true}};
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
    struct task t;
    struct layout l;
    struct assay_error err = {0};
    char *path;
    need(task_find(ASSAY_SOURCE_DIR "/tasks", tasks[i].name, &path, &err), &err);
    need(task_read(path, false, &t, &err), &err);
    need(layout_make(&t, task_workload(&t, "full"), &l, &err), &err);
    assert_int_equal(device_judged_can(&t, &l), tasks[i].device);
    if (!tasks[i].device || strncmp(tasks[i].name, "kernelbenchx", 12) == 0)
      assert_int_equal(device_check_worth(&t, &l), tasks[i].device);
    base_free(path);
    layout_release(&l);
    task_release(&t);
  }
}

#ifndef GPU_JUDGED_ON_CUDA
static void test_compiles_for_a_gpu(void **state) {
  (void)state;
  extern const char code_dialect[];
  static const char *const options[] = {"--gpu-architecture=sm_90", "--std=c++17", "--disable-warnings", NULL};
  struct assay_error err = {0};
  struct nvrtc *n = NULL;
  struct nvrtc_result r = {0};
  struct buf text = {0};
  if (nvrtc_open(getenv("ASSAY_NVRTC"), &n, &err) != ASSAY_OK) {
    SKIP_BECAUSE("no NVRTC: %s", err.message);
  }
  buf_puts(&text, code_dialect);
  for (const char *const *one = device_judged_code.texts; *one; one++)
    buf_puts(&text, *one);
  const struct nvrtc_request q = {.source = buf_str(&text), .name = "judged.cu", .options = options};
  need(nvrtc_compile(n, &q, &r, &err), &err);
  if (!r.compiled)
    fail_msg("%s", r.log);
  nvrtc_result_release(&r);
  nvrtc_close(n);
  buf_release(&text);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_judged_where),
      cmocka_unit_test(test_hashes),
      cmocka_unit_test(test_same_checks),
      cmocka_unit_test(test_check_refuses),
      cmocka_unit_test(test_check_is_exact),
      cmocka_unit_test(test_mutants),
      cmocka_unit_test(test_trials),
      cmocka_unit_test(test_sizes),
#ifndef GPU_JUDGED_ON_CUDA
      cmocka_unit_test(test_compiles_for_a_gpu),
#endif
  };
  return cmocka_run_group_tests(tests, open_compute, close_compute);
}
