#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Honest kernels in C for 43 tasks of half precision and integers, in other ways than those of honest_kernels.py.

usage: honest_half.py FOLDER        FOLDER/kernelbenchx, FOLDER/fusedops and FOLDER/contracts

    bench/gpu/seeds.py build/assay OUT.json FOLDER/kernelbenchx kernelbenchx --seeds 6 --device cpu

Attention, softmax and cross entropy go over their terms once, moments are Welford's, products have blocks of 32 terms,
GELU is by erfc and tanh by expm1, sums of integers are exact. Each kernel has a twin LOWER, whose factors or results have
the next lower precision (bf16 for fp16, four bits for bf16, three for fp8, tf32 for integers), most a twin ACC, whose
accumulator is of the task's own type.
"""
import pathlib
import sys

SAID = {"LOWER": "factors or results of the next lower precision", "ACC": "the accumulator is of the task's own type"}
PREAMBLE = r'''
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define FN static __attribute__((unused))
FN float word(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
FN uint32_t bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
// A float with so many significant bits, to nearest even.
FN float keep(float x, int n) {
  if (!isfinite(x) || x == 0) return x;
  int e; const double m = frexp((double)x, &e);
  return (float)ldexp(nearbyint(ldexp(m, n)), e - n);
}
FN float ld_bf(const uint16_t *p) { return word((uint32_t)*p << 16); }
FN void st_bf(uint16_t *p, float x) {
  const uint32_t u = bits(x);
  *p = x != x ? 0x7fc0 : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
FN float ld_hf(const uint16_t *p) { _Float16 h; memcpy(&h, p, 2); return (float)h; }
FN void st_hf(uint16_t *p, float x) { const _Float16 h = (_Float16)x; memcpy(p, &h, 2); }
#if BF
#define LD ld_bf
#define ST st_bf
#define BITS 4
#define OWN 8
#else
#define LD ld_hf
#define ST st_hf
#define BITS 8
#define OWN 11
#endif
#ifdef LOWER
#define LOW(x) keep((x), BITS)
#else
#define LOW(x) (x)
#endif
#ifdef ACC
#define ADD(s, x) keep((s) + (x), OWN)
#else
#define ADD(s, x) ((s) + (x))
#endif
FN double pairs(const float *x, int64_t n) { return n == 1 ? x[0] : n <= 0 ? 0 : (double)(float)(pairs(x, n / 2) + pairs(x + n / 2, n - n / 2)); }
'''

kernels = {}  # (suite, file's name): source


def put(task, bfloat, body, twins=("LOWER",)):
    suite = task.partition("/")[0]
    lines = "".join(f"// assay: twin {twin} expect wrong_value|low_precision|wrong_class -- {SAID[twin]}\n" for twin in twins)
    kernels[suite, task.replace("/", "_") + ".c"] = (
        f"// assay: task {task}\n// assay: expect pass\n{lines}#define BF {bfloat}\n{PREAMBLE}\n{body}")


POINT = '''
void assay_kernel(const struct assay_args *a) {
  const uint16_t *x = a->inputs[0].data;
  uint16_t *y = a->outputs[0].data;
  for (int64_t i = assay_count(&a->inputs[0]) - 1; i >= 0; i--) {
    const float v = LOW(LD(x + i)); (void)v;
    EXPR
  }
}
'''
EXPRESSIONS = {"gelu":"ST(y + i, LOW((float)(0.5 * v * erfc(-(double)v * 0.70710678118654752))));",
 "relu":"ST(y + i, v > 0 || v != v ? LOW(v) : 0);",
 "sigmoid":"const float e = expf(-fabsf(v)); ST(y + i, LOW(v < 0 ? e / (1 + e) : 1 / (1 + e)));",
 "tanh":"const float e = expm1f(-2 * fabsf(v)); ST(y + i, LOW(copysignf(-e / (e + 2), v)));"}
for name, expression in EXPRESSIONS.items():
    for bfloat, kind in ((1, "bf16"), (0, "fp16")):
        put(f"kernelbenchx/Activation/{name}_{kind}", bfloat, POINT.replace("EXPR", expression))
for bfloat, kind in ((1, "bf16"), (0, "fp16")):
    put(f"kernelbenchx/Math/mul_{kind}", bfloat, POINT.replace("EXPR", "const uint16_t *o = a->inputs[1].data; ST(y + i, LOW((float)((double)v * (double)LOW(LD(o + i)))));"))
# products: rows of y in float, k in the middle; eight lanes are summed at the end
GEMM = '''
static void product(const uint16_t *x, const uint16_t *w, int64_t M, int64_t K, int64_t N, float *row, int64_t i) {
  memset(row, 0, sizeof *row * (size_t)N);
  for (int64_t b = 0; b < K; b += 32)
    for (int64_t n = 0; n < N; n++) {
      float s = 0;
      for (int64_t k = b; k < K && k < b + 32; k++)
        s = ADD(s, LOW(LD(x + i * K + k)) * LOW(LD(w + k * N + n)));
      row[n] = ADD(row[n], s);
    }
  (void)M;
}
'''
MM = GEMM + '''
void assay_kernel(const struct assay_args *a) {
  const int r = a->inputs[0].rank;
  const int64_t E = r == 3 ? a->inputs[0].dims[0] : 1, M = a->inputs[0].dims[r - 2], K = a->inputs[0].dims[r - 1], N = a->inputs[1].dims[r - 1];
  float *row = malloc(sizeof *row * (size_t)N);
  for (int64_t e = 0; e < E; e++)
    for (int64_t i = 0; i < M; i++) {
      product((const uint16_t *)a->inputs[0].data + e * M * K, (const uint16_t *)a->inputs[1].data + e * K * N, M, K, N, row, i);
      for (int64_t n = 0; n < N; n++)
        ST((uint16_t *)a->outputs[0].data + (e * M + i) * N + n, row[n]);
    }
  free(row);
}
'''
for task, bfloat in (("kernelbenchx/MatrixMultiply/matmul_bf16", 1), ("kernelbenchx/MatrixMultiply/matmul_fp16", 0),
                     ("fusedops/matmul/bf16_matmul", 1), ("fusedops/matmul/fp16_matmul", 0),
                     ("fusedops/grouped_gemm/bf16_batched_gemm", 1), ("contracts/1/3", 0), ("contracts/1/4", 1),
                     ("contracts/1/7", 0), ("contracts/1/8", 1)):
    put(task, bfloat, MM, ("LOWER", "ACC"))
GG = GEMM + '''
void assay_kernel(const struct assay_args *a) {
  const int64_t M = a->inputs[0].dims[0], K = a->inputs[0].dims[1], N = a->inputs[1].dims[1];
  const uint16_t *b = a->inputs[2].data;
  float *row = malloc(sizeof *row * (size_t)N);
  for (int64_t i = 0; i < M; i++) {
    product(a->inputs[0].data, a->inputs[1].data, M, K, N, row, i);
    for (int64_t n = 0; n < N; n++) {
      const double v = (double)row[n] + LD(b + n);
      ST((uint16_t *)a->outputs[0].data + i * N + n, (float)(0.5 * v * erfc(-v * 0.70710678118654752)));
    }
  }
  free(row);
}
'''
for bfloat, kind in ((1, "bf16"), (0, "fp16")):
    put(f"fusedops/gemm_gelu/{kind}_gemm_gelu", bfloat, GG, ("LOWER", "ACC"))
put("fusedops/grouped_gemm/bf16_grouped_gemm", 1, GEMM + '''
void assay_kernel(const struct assay_args *a) {
  for (int g = 3; g >= 0; g--) {
    const int64_t M = a->inputs[2 * g].dims[0], K = a->inputs[2 * g].dims[1], N = a->inputs[2 * g + 1].dims[1];
    float *row = malloc(sizeof *row * (size_t)N);
    for (int64_t i = 0; i < M; i++) {
      product(a->inputs[2 * g].data, a->inputs[2 * g + 1].data, M, K, N, row, i);
      for (int64_t n = 0; n < N; n++) ST((uint16_t *)a->outputs[g].data + i * N + n, row[n]);
    }
    free(row);
  }
}
''', ("LOWER", "ACC"))
put("fusedops/grouped_gemm/bf16_routed_gemm", 1, GEMM + '''
void assay_kernel(const struct assay_args *a) {
  const int64_t T = a->inputs[0].dims[0], K = a->inputs[0].dims[1], E = a->inputs[1].dims[0], N = a->inputs[1].dims[2];
  const int32_t *ends = a->inputs[2].data;
  float *row = malloc(sizeof *row * (size_t)N);
  for (int64_t i = 0; i < T; i++) {
    int64_t e = 0;
    while (e < E - 1 && i >= ends[e]) e++;
    product(a->inputs[0].data, (const uint16_t *)a->inputs[1].data + e * K * N, T, K, N, row, i);
    for (int64_t n = 0; n < N; n++) ST((uint16_t *)a->outputs[0].data + i * N + n, row[n]);
  }
  free(row);
}
''', ("LOWER", "ACC"))
# attention: streams over keys
ATT = '''
void assay_kernel(const struct assay_args *a) {
  const int64_t B = a->inputs[0].dims[0], H = a->inputs[0].dims[1], S = a->inputs[0].dims[2], D = a->inputs[0].dims[3];
  const int64_t G = a->inputs[1].dims[1], T = a->inputs[1].dims[2];
  float *acc = malloc(sizeof *acc * (size_t)D);
  for (int64_t bh = 0; bh < B * H; bh++)
    for (int64_t i = 0; i < S; i++) {
      const int64_t g = bh / H * G + bh % H / (H / G);
      const uint16_t *q = (const uint16_t *)a->inputs[0].data + (bh * S + i) * D, *k = (const uint16_t *)a->inputs[1].data + g * T * D, *v = (const uint16_t *)a->inputs[2].data + g * T * D;
      float most = -INFINITY, sum = 0;
      memset(acc, 0, sizeof *acc * (size_t)D);
      for (int64_t t = 0; t < (CAUSAL ? i + 1 : T); t++) {
        float s = 0;
        for (int64_t d = 0; d < D; d++) s += LOW(LD(q + d)) * LOW(LD(k + t * D + d));
        s /= sqrtf((float)D);
        const float m = fmaxf(most, s), old = most == m ? 1 : expf(most - m), p = expf(s - m);
        sum = ADD(sum * old, p);
        for (int64_t d = 0; d < D; d++) acc[d] = ADD(acc[d] * old, LOW(p) * LOW(LD(v + t * D + d)));
        most = m;
      }
      for (int64_t d = 0; d < D; d++) ST((uint16_t *)a->outputs[0].data + (bh * S + i) * D + d, acc[d] / sum);
    }
  free(acc);
}
'''
for name, causal in (("", 0), ("_causal", 1), ("_gqa", 1)):
    put(f"fusedops/attention/bf16_attention{name}", 1, f"#define CAUSAL {causal}\n" + ATT, ("LOWER", "ACC"))
SUM_OF_ROW = '''    float most = -INFINITY, sum = 0;
    for (int64_t d = 0; d < D; d++) {
      const float v = LOW(LD(x + d)), m = fmaxf(most, v);
      sum = ADD(most == m ? sum : sum * expf(most - m), expf(v - m));
      most = m;
    }
'''
put("fusedops/cross_entropy/bf16_cross_entropy", 1, '''
void assay_kernel(const struct assay_args *a) {
  const int64_t R = a->inputs[0].dims[0], D = a->inputs[0].dims[1];
  const int64_t *t = a->inputs[1].data;
  for (int64_t r = 0; r < R; r++) {
    const uint16_t *x = (const uint16_t *)a->inputs[0].data + r * D;
SUM_OF_ROW
    ST((uint16_t *)a->outputs[0].data + r, logf(sum) + (most - LOW(LD(x + t[r]))));
  }
}
'''.replace("SUM_OF_ROW\n", SUM_OF_ROW), ("LOWER", "ACC"))
LN = '''
void assay_kernel(const struct assay_args *a) {
  const int64_t R = a->inputs[0].dims[0], D = a->inputs[0].dims[1];
  const uint16_t *w = a->inputs[1].data, *b = a->inputs[2].data;
  for (int64_t r = 0; r < R; r++) {
    const uint16_t *x = (const uint16_t *)a->inputs[0].data + r * D;
    uint16_t *y = (uint16_t *)a->outputs[0].data + r * D;
    float mean = 0, m2 = 0;
    for (int64_t d = 0; d < D; d++) { // Welford
      const float v = LOW(LD(x + d)), delta = v - mean;
      mean = ADD(mean, delta / (float)(d + 1));
      m2 = ADD(m2, delta * (v - mean));
    }
    const float scale = 1 / sqrtf(m2 / (float)D + 1e-5f);
    for (int64_t d = 0; d < D; d++) ST(y + d, LOW((LOW(LD(x + d)) - mean) * scale) * LD(w + d) + LD(b + d));
  }
}
'''
for name, bfloat in (("bf16_layernorm", 1), ("fp16_layernorm", 0), ("bf16_layernorm_far", 1)):
    put(f"fusedops/layernorm/{name}", bfloat, LN, ("LOWER", "ACC"))
put("fusedops/rms_norm/bf16_rms_norm", 1, '''
void assay_kernel(const struct assay_args *a) {
  const int64_t R = a->inputs[0].dims[0], D = a->inputs[0].dims[1];
  const uint16_t *w = a->inputs[1].data;
  float *sq = malloc(sizeof *sq * (size_t)D);
  for (int64_t r = 0; r < R; r++) {
    const uint16_t *x = (const uint16_t *)a->inputs[0].data + r * D;
    float acc = 0;
    for (int64_t d = 0; d < D; d++) { const float v = LOW(LD(x + d)); sq[d] = v * v; acc = ADD(acc, sq[d]); }
#ifdef ACC
    const double sum = acc;
#else
    const double sum = pairs(sq, D); (void)acc;
#endif
    const float scale = (float)(1 / sqrt(sum / (double)D + 1e-5));
    for (int64_t d = 0; d < D; d++) ST((uint16_t *)a->outputs[0].data + r * D + d, LOW(LD(x + d)) * scale * LD(w + d));
  }
  free(sq);
}
''', ("LOWER", "ACC"))
put("fusedops/softmax/bf16_softmax", 1, '''
void assay_kernel(const struct assay_args *a) {
  const int64_t R = a->inputs[0].dims[0], D = a->inputs[0].dims[1];
  for (int64_t r = 0; r < R; r++) {
    const uint16_t *x = (const uint16_t *)a->inputs[0].data + r * D;
SUM_OF_ROW
    const float scale = 1 / sum;
    for (int64_t d = 0; d < D; d++) ST((uint16_t *)a->outputs[0].data + r * D + d, LOW(expf(LOW(LD(x + d)) - most) * scale));
  }
}
'''.replace("SUM_OF_ROW\n", SUM_OF_ROW), ("LOWER", "ACC"))
put("fusedops/swiglu/bf16_swiglu", 1, POINT.replace("EXPR", "const uint16_t *u = a->inputs[1].data; const float e = expf(-fabsf(v)), s = v < 0 ? e / (1 + e) : 1 / (1 + e); ST(y + i, LOW(v * s * LOW(LD(u + i))));"))
put("fusedops/rotary/bf16_rotary", 1, '''
void assay_kernel(const struct assay_args *a) {
  const int64_t B = a->inputs[0].dims[0], H = a->inputs[0].dims[1], S = a->inputs[0].dims[2];
  for (int64_t r = 0; r < B * H * S; r++) {
    const int64_t t = r / (H * S) * S + r % S;
    const uint16_t *x = (const uint16_t *)a->inputs[0].data + r * 128, *c = (const uint16_t *)a->inputs[1].data + t * 64, *s = (const uint16_t *)a->inputs[2].data + t * 64;
    uint16_t *y = (uint16_t *)a->outputs[0].data + r * 128;
    for (int d = 0; d < 64; d++) {
      const float p = LOW(LD(x + d)), q = LOW(LD(x + 64 + d)), co = LOW(LD(c + d)), si = LOW(LD(s + d));
      ST(y + d, fmaf(p, co, -(q * si)));
      ST(y + 64 + d, fmaf(p, si, q * co));
    }
  }
}
''')
# integers: LOWER = products of numbers of 11 bits (tf32) and single sums
INTPRE = '''
#ifdef LOWER
#define TF(x) keep((x), 11)
#endif
'''
MMI = INTPRE + '''
void assay_kernel(const struct assay_args *a) {
  const int r = a->inputs[0].rank;
  const int64_t E = r == 3 ? a->inputs[0].dims[0] : 1, M = a->inputs[0].dims[r - 2], K = a->inputs[0].dims[r - 1], N = a->inputs[2].dims[r - 1];
  for (int64_t e = 0; e < E; e++)
    for (int64_t i = 0; i < M; i++)
      for (int64_t n = 0; n < N; n++) {
        const int8_t *x = (const int8_t *)a->inputs[0].data + (e * M + i) * K, *w = (const int8_t *)a->inputs[2].data + e * K * N + n;
        const float sx = ((const float *)a->inputs[1].data)[e * M + i], sw = ((const float *)a->inputs[3].data)[e * N + n];
        float *y = (float *)a->outputs[0].data + (e * M + i) * N + n;
#ifdef LOWER
        float s = 0;
        for (int64_t k = 0; k < K; k++) s += TF(x[k] * sx) * TF(w[k * N] * sw);
        *y = s;
#else
        int64_t even = 0, odd = 0;
        for (int64_t k = 0; k < K; k++) *(k % 2 ? &odd : &even) += (int)x[k] * w[k * N];
        *y = (float)((double)(even + odd) * (double)sx * (double)sw);
#endif
      }
}
'''
put("kernelbenchx/Quantization/matmul_w8a8", 1, MMI)
put("kernelbenchx/Quantization/bmm_w8a8", 1, MMI)
put("kernelbenchx/Quantization/conv2d_w8a8", 1, INTPRE + '''
void assay_kernel(const struct assay_args *a) {
  const int64_t *d = a->inputs[0].dims, *f = a->inputs[2].dims, *o = a->outputs[0].dims;
  const int8_t *x = a->inputs[0].data, *w = a->inputs[2].data;
  const float sx = *(const float *)a->inputs[1].data, *sw = a->inputs[3].data;
  float *y = a->outputs[0].data;
  int32_t *plane = malloc(sizeof *plane * (size_t)(o[2] * o[3]));
  float *fp = malloc(sizeof *fp * (size_t)(o[2] * o[3]));
  for (int64_t b = 0; b < d[0]; b++)
    for (int64_t c = 0; c < f[0]; c++) {
      memset(plane, 0, sizeof *plane * (size_t)(o[2] * o[3]));
      memset(fp, 0, sizeof *fp * (size_t)(o[2] * o[3]));
      for (int64_t i = 0; i < d[1]; i++) // a tap at a time over the plane
        for (int64_t p = 0; p < f[2]; p++)
          for (int64_t q = 0; q < f[3]; q++)
            for (int64_t u = 0; u < o[2]; u++)
              for (int64_t v = 0; v < o[3]; v++) {
                const int64_t h = u + p - 1, l = v + q - 1;
                if (h < 0 || h >= d[2] || l < 0 || l >= d[3]) continue;
                const int8_t xv = x[((b * d[1] + i) * d[2] + h) * d[3] + l], wv = w[((c * f[1] + i) * f[2] + p) * f[3] + q];
                plane[u * o[3] + v] += (int)xv * wv;
                fp[u * o[3] + v] += keep(xv * sx, 11) * keep(wv * sw[c], 11);
              }
      for (int64_t k = 0; k < o[2] * o[3]; k++)
#ifdef LOWER
        y[(b * f[0] + c) * o[2] * o[3] + k] = fp[k];
#else
        y[(b * f[0] + c) * o[2] * o[3] + k] = (float)plane[k] * (sx * sw[c]);
#endif
    }
  free(plane);
  free(fp);
}
''')
put("kernelbenchx/Quantization/layernorm_w8a8", 1, '''
#ifdef LOWER
#define CUT(x) keep((x), 11)
#else
#define CUT(x) (x)
#endif
void assay_kernel(const struct assay_args *a) {
  const int64_t M = a->inputs[0].dims[0], N = a->inputs[0].dims[1];
  const float *w = a->inputs[2].data, *b = a->inputs[3].data;
  for (int64_t i = 0; i < M; i++) {
    const int8_t *x = (const int8_t *)a->inputs[0].data + i * N;
    const double s = ((const float *)a->inputs[1].data)[i];
    int64_t sum = 0, squares = 0; // exact
    for (int64_t n = 0; n < N; n++) { sum += x[n]; squares += (int)x[n] * x[n]; }
    const double mean = (double)sum / (double)N, var = ((double)squares * (double)N - (double)sum * (double)sum) / ((double)N * (double)N);
    const double scale = s / sqrt(var * s * s + 1e-5);
    float most = 0, *y = (float *)a->outputs[0].data + i * N;
    for (int64_t n = 0; n < N; n++) {
      y[n] = fmaf(CUT((float)((x[n] - mean) * scale)), w[n], b[n]);
      most = fmaxf(most, fabsf(y[n]));
    }
    ((float *)a->outputs[1].data)[i] = most / 127;
  }
}
''')
put("kernelbenchx/Quantization/attention_w8a8", 1, '''
#ifdef LOWER
#define CUT(x) keep((x), 11)
#else
#define CUT(x) (x)
#endif
void assay_kernel(const struct assay_args *a) {
  const int64_t B = a->inputs[0].dims[0], S = a->inputs[0].dims[1], D = a->inputs[0].dims[2];
  const int8_t *q = a->inputs[0].data, *k = a->inputs[2].data, *v = a->inputs[4].data;
  const float *sq = a->inputs[1].data, *sk = a->inputs[3].data, *sv = a->inputs[5].data;
  float *acc = malloc(sizeof *acc * (size_t)D);
  for (int64_t r = 0; r < B * S; r++) {
    float most = -INFINITY, sum = 0;
    memset(acc, 0, sizeof *acc * (size_t)D);
    for (int64_t t = r / S * S; t < r / S * S + S; t++) {
      int32_t dot = 0;
      for (int64_t d = 0; d < D; d++) dot += (int)q[r * D + d] * k[t * D + d];
      const float s = (float)dot * (sq[r] * sk[t]), m = fmaxf(most, s), old = most == m ? 1 : expf(most - m), p = expf(s - m);
      sum = sum * old + p;
      for (int64_t d = 0; d < D; d++) acc[d] = acc[d] * old + CUT(p) * CUT(v[t * D + d] * sv[t]);
      most = m;
    }
    for (int64_t d = 0; d < D; d++) ((float *)a->outputs[0].data)[r * D + d] = acc[d] / sum;
  }
  free(acc);
}
''')
put("kernelbenchx/Quantization/linear_w4a16", 0, '''
void assay_kernel(const struct assay_args *a) {
  const int64_t M = a->inputs[0].dims[0], K = a->inputs[0].dims[1], N = a->inputs[1].dims[0], H = a->inputs[1].dims[1];
  const uint16_t *x = a->inputs[0].data, *scale = a->inputs[2].data, *bias = a->inputs[3].data;
  const uint8_t *w = a->inputs[1].data;
  static const int value[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
  for (int64_t i = 0; i < M; i++)
    for (int64_t n = 0; n < N; n++) {
      float low = 0, high = 0;
      for (int64_t h = 0; h < H; h++) {
        low = ADD(low, LOW(LD(x + i * K + 2 * h)) * (float)value[w[n * H + h] & 15]);
        high = ADD(high, LOW(LD(x + i * K + 2 * h + 1)) * (float)value[w[n * H + h] >> 4]);
      }
      ST((uint16_t *)a->outputs[0].data + i * N + n, fmaf(low + high, LD(scale + n), LD(bias + n)));
    }
}
''', ("LOWER", "ACC"))
put("kernelbenchx/Activation/gelu_int8", 1, '''
void assay_kernel(const struct assay_args *a) {
  const int8_t *x = a->inputs[0].data;
  int8_t *y = a->outputs[0].data, table[256];
  for (int v = -128; v < 128; v++) {
    const float g = (float)(0.5 * v * erfc(-v * 0.70710678118654752));
#ifdef LOWER
    table[v + 128] = (int8_t)keep(g, 8);
#else
    table[v + 128] = (int8_t)g;
#endif
  }
  for (int64_t i = 0, n = assay_count(&a->inputs[0]); i < n; i++) y[i] = table[x[i] + 128];
}
''')
put("kernelbenchx/Math/signbit_bitwise_and", 1, '''
void assay_kernel(const struct assay_args *a) {
  const float *x = a->inputs[0].data;
  const int8_t *o = a->inputs[1].data;
  for (int64_t i = 0, n = assay_count(&a->inputs[0]); i < n; i++) {
    ((uint8_t *)a->outputs[0].data)[i] = copysignf(1, x[i]) < 0;
#ifdef LOWER
    const float v = keep(x[i], 8);
#else
    const float v = x[i];
#endif
    ((int8_t *)a->outputs[1].data)[i] = (int8_t)((int)truncf(v) & o[i]);
  }
}
''')
put("fusedops/matmul/fp8_matmul", 1, '''
static float e4m3(uint8_t u) {
  const int e = u >> 3 & 15, m = u & 7;
  const float v = (u & 127) == 127 ? NAN : e ? ldexpf(8 + m, e - 10) : ldexpf(m, -9);
  return u & 128 ? -v : v;
}
#undef LOW
#ifdef LOWER
#define LOW(x) keep((x), 3)
#else
#define LOW(x) (x)
#endif
void assay_kernel(const struct assay_args *a) {
  const int64_t M = a->inputs[0].dims[0], K = a->inputs[0].dims[1], N = a->inputs[1].dims[1];
  const uint8_t *x = a->inputs[0].data, *w = a->inputs[1].data;
  float table[256];
  for (int u = 0; u < 256; u++) table[u] = LOW(e4m3((uint8_t)u));
  for (int64_t i = 0; i < M; i++)
    for (int64_t n = 0; n < N; n++) {
      float s[4] = {0};
      for (int64_t k = 0; k < K; k++) s[k & 3] = ADD(s[k & 3], table[x[i * K + k]] * table[w[k * N + n]]);
      ST((uint16_t *)a->outputs[0].data + i * N + n, ADD(ADD(s[0], s[1]), ADD(s[2], s[3])));
    }
}
''', ("LOWER", "ACC"))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for (suite, name), source in kernels.items():
        folder = pathlib.Path(sys.argv[1], suite)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source)
    print(f"{len(kernels)} kernels in {sys.argv[1]}")


if __name__ == "__main__":
    main()
