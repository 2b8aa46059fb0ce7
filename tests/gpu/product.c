// SPDX-License-Identifier: Apache-2.0
// gpu_product: wide products on tensor cores against those of threads that work alone, on ragged sizes, and how fast
// both are. Exit 0: they agree.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "oracle/cuda/contraction.h"

struct size {
  int64_t batches, m, n, k, splits;
};

static struct compute *compute;
static int failures;

static void need(enum assay_status status, const struct assay_error *err) {
  if (status == ASSAY_OK)
    return;
  fprintf(stderr, "gpu_product: %s\n", err->message);
  exit(1);
}

static device_ptr alloc(int64_t elements) {
  struct assay_error err = {0};
  device_ptr p = 0;
  need(compute_alloc(compute, (size_t)elements * 8, &p, &err), &err);
  return p;
}

static int64_t panels_of(int64_t lines, int width) {
  return (lines + width - 1) / width;
}

// One way to multiply: panels, parts, and their sums on the host.
struct way {
  struct product_panels p;
  device_ptr a, b, y, t2;
  struct product_tile_args args;
};

static device_ptr pack(const struct size *s, device_ptr from, int64_t lines, int width) {
  struct assay_error err = {0};
  device_ptr to = alloc(s->batches * panels_of(lines, width) * width * s->k);
  struct product_source source = {
      .from = {.data = from, .storage = GPU_F64}, .batch = {.stride = lines * s->k}, .line = {.stride = s->k}};
  source.depth.stride = 1;
  struct product_piece all = {.batches = s->batches, .lines = lines, .k = s->k};
  need(product_pack(compute, &source, &all, width, to, &err), &err);
  return to;
}

static struct way way_make(const struct size *s, device_ptr a, device_ptr b, bool mma, bool squares) {
  struct way w = {.p = product_panels_make(mma, squares)};
  int64_t count = s->splits * s->batches * s->m * s->n;
  w.a = pack(s, a, s->m, w.p.a);
  w.b = pack(s, b, s->n, w.p.b);
  w.y = alloc(count);
  w.t2 = squares ? alloc(count) : 0;
  w.args = (struct product_tile_args){.a = w.a,
                                      .b = w.b,
                                      .y = w.y,
                                      .t2 = w.t2,
                                      .m = s->m,
                                      .n = s->n,
                                      .k = s->k,
                                      .a_panels = panels_of(s->m, w.p.a),
                                      .b_panels = panels_of(s->n, w.p.b),
                                      .batches = s->batches,
                                      .splits = s->splits,
                                      .depth = (s->k + s->splits - 1) / s->splits};
  w.args.a_step = w.args.a_panels;
  w.args.b_step = w.args.b_panels;
  return w;
}

static void way_run(const struct way *w) {
  struct assay_error err = {0};
  need(product_tiles(compute, &w->p, &w->args, &err), &err);
}

static void way_release(struct way *w) {
  compute_free(compute, w->a);
  compute_free(compute, w->b);
  compute_free(compute, w->y);
  compute_free(compute, w->t2);
}

// Random elements, with an infinity here and there if `special`.
static device_ptr draw(int64_t n, uint64_t key, bool special) {
  struct assay_error err = {0};
  double *host = base_alloc((size_t)n * 8);
  struct noise noise = noise_at(key, 1);
  device_ptr p = alloc(n);
  for (int64_t i = 0; i < n; i++) {
    uint64_t word = noise_next(&noise);
    host[i] = special && word % 997 == 0 ? INFINITY : 2 * rng_unit(word) - 1;
  }
  need(compute_upload(compute, p, host, (size_t)n * 8, &err), &err);
  base_free(host);
  return p;
}

static double *download(device_ptr p, int64_t n) {
  struct assay_error err = {0};
  double *host = base_alloc((size_t)n * 8);
  need(compute_download(compute, host, p, (size_t)n * 8, &err), &err);
  return host;
}

static void compare(const struct size *s, device_ptr mine, device_ptr theirs, bool squares, const char *what) {
  int64_t n = s->splits * s->batches * s->m * s->n, wrong = 0;
  double *a = download(mine, n), *b = download(theirs, n), worst = 0;
  for (int64_t i = 0; i < n; i++) {
    bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
    double off = same ? 0 : fabs(a[i] - b[i]);
    wrong += !same && !(off <= 1e-13 * sqrt((double)s->k) + 1e-13 * fabs(b[i]));
    worst = off > worst ? off : worst;
  }
  if (wrong)
    printf("batches %lld, %lld x %lld x %lld, splits %lld%s: %s: %lld elements differ, by up to %g\n",
           (long long)s->batches, (long long)s->m, (long long)s->n, (long long)s->k, (long long)s->splits,
           squares ? ", with squares" : "", what, (long long)wrong, worst);
  failures += wrong > 0;
  base_free(a);
  base_free(b);
}

static void check(const struct size *s, bool squares, bool special) {
  device_ptr a = draw(s->batches * s->m * s->k, 1, special), b = draw(s->batches * s->n * s->k, 2, special);
  struct way fast = way_make(s, a, b, true, squares), slow = way_make(s, a, b, false, squares);
  way_run(&fast);
  way_run(&slow);
  compare(s, fast.y, slow.y, squares, "sums");
  if (squares)
    compare(s, fast.t2, slow.t2, squares, "sums of squares");
  way_release(&fast);
  way_release(&slow);
  compute_free(compute, a);
  compute_free(compute, b);
}

static void speed(const struct size *s, bool mma, bool squares) {
  struct assay_error err = {0};
  device_ptr a = draw(s->batches * s->m * s->k, 1, false), b = draw(s->batches * s->n * s->k, 2, false);
  struct way w = way_make(s, a, b, mma, squares);
  enum { TIMES = 5 };
  way_run(&w);
  need(compute_sync(compute, &err), &err);
  int64_t start = clock_monotonic_ns();
  for (int i = 0; i < TIMES; i++)
    way_run(&w);
  need(compute_sync(compute, &err), &err);
  double seconds = (double)(clock_monotonic_ns() - start) / 1e9 / TIMES;
  double flops = 2.0 * (double)s->batches * (double)s->m * (double)s->n * (double)s->k * (squares ? 2 : 1);
  printf("%-13s %-13s batches %4lld, %5lld x %5lld x %6lld, splits %3lld: %8.2f ms, %6.2f TFLOP/s\n",
         mma ? "tensor cores" : "single", squares ? "with squares" : "", (long long)s->batches, (long long)s->m,
         (long long)s->n, (long long)s->k, (long long)s->splits, seconds * 1e3, flops / seconds / 1e12);
  way_release(&w);
  compute_free(compute, a);
  compute_free(compute, b);
  compute_trim(compute);
}

int main(void) {
  static const struct size ragged[] = {{1, 1, 1, 1, 1},      {1, 64, 128, 16, 1},   {1, 64, 64, 32, 1},
                                       {2, 65, 130, 37, 1},  {1, 5, 200, 129, 2},   {3, 130, 70, 300, 3},
                                       {1, 33, 65, 50, 1},   {3, 96, 129, 15, 1},   {1, 257, 511, 1000, 7},
                                       {7, 127, 127, 17, 1}, {1, 1111, 999, 77, 1}, {1, 64, 64, 100000, 50}};
  static const struct size large[] = {
      {1, 4096, 4096, 4096, 1}, {16, 512, 2048, 1024, 1}, {1, 256, 256, 131072, 64}, {1, 8192, 8192, 64, 1}};
  struct assay_error err = {0};
  need(compute_open_cuda(&(struct compute_options){.nvrtc = getenv("ASSAY_NVRTC")}, &compute, &err), &err);
  for (size_t i = 0; i < sizeof ragged / sizeof *ragged; i++)
    for (int way = 0; way < 4; way++)
      check(&ragged[i], way & 1, way & 2);
  printf("%d of %zu comparisons failed\n", failures, 6 * sizeof ragged / sizeof *ragged);
  for (size_t i = 0; i < sizeof large / sizeof *large; i++)
    for (int way = 0; way < 4; way++)
      speed(&large[i], way & 1, way & 2);
  compute_close(compute);
  return failures ? 1 : 0;
}
