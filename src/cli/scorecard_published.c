// SPDX-License-Identifier: Apache-2.0
// What the published comparison (Red Hat's article, from KernelGeneration at 4c6e8f0) says in figures, next to what its
// own tables say, if they were imported (assay trials --read), and to what this comparison has at the same shape. Rates
// count work as the article does.
#include <math.h>
#include <string.h>

#include "cli/json.h"
#include "cli/side.h"

struct claim {
  const char *said;
  double value; // in the unit: TFLOP/s or GB/s
  const char *unit, *task, *workload;
  const char *device, *shape, *maker; // of the published table
  double work;                        // FLOP or bytes, as counted there
  const char *ours;                   // the maker here; NULL: none
  const char *measured;
};

#define H100 "NVIDIA_H100"
#define MI300X "AMD_Instinct_MI300X"
#define RTX5090 "NVIDIA_GeForce_RTX_5090"
#define MATMUL "fusedops/matmul/bf16_matmul"
#define LAYERNORM "fusedops/layernorm/bf16_layernorm"
#define GELU "fusedops/gemm_gelu/bf16_gemm_gelu"
#define GELU_FLOPS (2.0 * 512 * 2048 * 4096 + 5.0 * 512 * 4096)
#define LAYERNORM_BYTES (2.0 * 2048 * 2048 * 2)

static const struct claim claims[] = {
    {"Inductor peaks at 706 TFLOP/s", 706, "TFLOP/s", MATMUL, "size19", H100, "2688x2816x2944", "inductor_default",
     2.0 * 2688 * 2816 * 2944, "inductor",
     "the default mode, which calls the library's product, at one of the first 20 shapes; its most is at another"},
    {"Helion's layer normalisation reaches 1949 GB/s", 1949, "GB/s", LAYERNORM, "size03", H100, "2048x2048", "helion",
     LAYERNORM_BYTES, "helion", "x and y alone, of a size that fits the cache; the kernel leaves scale and shift out"},
    {"and is about 60 % faster than Triton", 1949 / 1.6, "GB/s", LAYERNORM, "size03", H100, "2048x2048", "triton",
     LAYERNORM_BYTES, "triton", "the same"},
    {"Makora's layer normalisation reaches 982 GB/s", 982, "GB/s", LAYERNORM, "size03", MI300X, "2048x2048", "mako",
     LAYERNORM_BYTES, NULL, "the host's part of a launch: other makers' times do not grow with the bytes there"},
    {"Inductor leads GEMM + GELU with about 380 TFLOP/s", 380, "TFLOP/s", GELU, "size05", H100, "512x2048x4096",
     "inductor_max", GELU_FLOPS, "max-autotune",
     "one shape of five; the other four are as short as a launch. Inputs where GELU is the identity"},
    {"Helion follows with about 375", 375, "TFLOP/s", GELU, "size05", H100, "512x2048x4096", "helion", GELU_FLOPS,
     "helion", "the same"},
    {"KernelLLM's fused kernel is best with 215", 215, "TFLOP/s", GELU, "size05", MI300X, "512x2048x4096", "kernelllm",
     GELU_FLOPS, NULL, "not fused: the library's product and an elementwise kernel"},
    {"Helion has 27 where others have 150", 27, "TFLOP/s", GELU, "size05", RTX5090, "512x2048x4096", "helion",
     GELU_FLOPS, NULL, "right; but Makora's 135 there is eager's own time"},
};
enum { N_CLAIMS = sizeof claims / sizeof *claims };

// The rate of work in ns, in the claim's unit.
static double rate_of(const struct claim *c, double ns) {
  return c->unit[0] == 'T' ? c->work / ns / 1e3 : c->work / ns;
}

static const struct side_shape *claimed_shape(const struct side *s, const struct claim *c) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->shapes[i].task, c->task) == 0 && strcmp(s->shapes[i].workload, c->workload) == 0)
      return &s->shapes[i];
  return NULL;
}

// That of the same maker here, whatever stands after its name ("triton:DIR"); NaN: it is not there, or not right.
static double own_rate(const struct side *s, const struct claim *c) {
  const struct side_shape *shape = c->ours ? claimed_shape(s, c) : NULL;
  for (int m = 0; shape && m < s->n_makers; m++)
    if (strcmp(s->makers[m].maker->name, c->ours) == 0)
      return rate_of(c, shape->results[m].time_ns);
  return NAN;
}

struct looking {
  const struct claim *claim;
  double ns;
};

static bool look(void *arg, const struct store_trial *t) {
  struct looking *l = arg;
  const struct claim *c = l->claim;
  if (strcmp(t->maker, c->maker) == 0 && strcmp(t->workload, c->shape) == 0 && strcmp(t->task, c->task) == 0 &&
      strncmp(t->device, c->device, strlen(c->device)) == 0 && t->bench_ns == 0 && isnan(t->time_ns))
    l->ns = t->tuner_ns;
  return true;
}

static double published_rate(const struct side *s, const struct claim *c) {
  struct looking l = {.claim = c, .ns = NAN};
  struct assay_error ignored = {0};
  (void)store_each_trial(s->store, NULL, look, &l, &ignored);
  return rate_of(c, l.ns);
}

// The claims about tasks that are compared here.
static bool is_about(const struct side *s, const struct claim *c) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->shapes[i].task, c->task) == 0)
      return true;
  return false;
}

static void rate_text(double rate, char text[32]) {
  snprintf(text, 32, isnan(rate) ? "-" : "%.4g", rate);
}

void scorecard_published_print(const struct side *s, FILE *to) {
  static const char *const headers[] = {"published", "its tables say", "here",
                                        "unit",      "task, shape",    "what it measured"};
  struct table *t = NULL;
  for (int i = 0; i < N_CLAIMS; i++) {
    const struct claim *c = &claims[i];
    char tables[32], own[32], place[160];
    if (!is_about(s, c) || (!t && !(t = table_create(headers, 6, "lrrlll"))))
      continue;
    rate_text(published_rate(s, c), tables);
    rate_text(own_rate(s, c), own);
    snprintf(place, sizeof place, "%s %s, %s", strrchr(c->task, '/') + 1, c->workload, c->device);
    table_row(t, (const char *const[]){c->said, tables, own, c->unit, place, c->measured});
  }
  if (!t)
    return;
  fprintf(to, "\nthe published comparison's figures (work counted as there; tables: assay trials --read)\n");
  table_print(t, to);
  table_destroy(t);
}

json_t *scorecard_published_json(const struct side *s) {
  json_t *rows = json_array();
  for (int i = 0; i < N_CLAIMS; i++) {
    const struct claim *c = &claims[i];
    if (!is_about(s, c))
      continue;
    json_array_append_new(rows,
                          json_pack("{s:s, s:f, s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:s}", "said", c->said, "value",
                                    c->value, "tables", cli_json_real(published_rate(s, c)), "here",
                                    cli_json_real(own_rate(s, c)), "unit", c->unit, "task", c->task, "workload",
                                    c->workload, "device", c->device, "maker", c->maker, "measured", c->measured));
  }
  return rows;
}
