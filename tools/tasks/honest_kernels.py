#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Honest kernels of KernelBench-X's tasks, written as C and as CUDA, each with wrong twins.

    honest_kernels.py OUT [--cuda] [PART...]       OUT/NAME.c or OUT/NAME.cu; PART: of a task's name
    build/assay bench kernelbenchx --from OUT --twins --workload small --no-timing

Every row of ROWS is a task, how many pieces its work has, and what makes one piece: `i` is its number, tensors and
extents have the names of the task's graph. In C a loop makes the pieces, in CUDA a thread each. {NAME|wrong|right} in a
piece is `right`, and in the twin NAME `wrong`. Sums are in the order of their terms, in single precision unless a row says
otherwise. Kernels of tests/kernelbenchx are written by hand, for the other tasks; together there is one for each.
"""
import pathlib
import re
import sys

HOUSE = pathlib.Path(__file__).resolve().parents[2]
TYPES = {"float": "float", "int64": "long long", "int32": "int", "int8": "signed char", "uint8": "unsigned char",
         "bool": "unsigned char", "float16": "half_bits", "bfloat16": "bf16_bits"}

PRELUDE = """
typedef struct { unsigned short bits; } half_bits;
typedef struct { unsigned short bits; } bf16_bits;

FN unsigned word_of(float x) { union { float f; unsigned u; } v; v.f = x; return v.u; }
FN float of_word(unsigned u) { union { float f; unsigned u; } v; v.u = u; return v.f; }
FN float from_bf16(bf16_bits x) { return of_word((unsigned)x.bits << 16); }
FN bf16_bits to_bf16(float x) {
  const unsigned u = word_of(x);
  bf16_bits y;
  y.bits = (unsigned short)(x != x ? 0x7fc0 : (u + 0x7fff + ((u >> 16) & 1)) >> 16);
  return y;
}
FN float from_half(half_bits x) {
  const unsigned sign = (unsigned)(x.bits & 0x8000) << 16, e = x.bits >> 10 & 31, m = x.bits & 1023;
  if (e == 31)
    return of_word(sign | 0x7f800000 | (m << 13));
  return e ? of_word(sign | ((e + 112) << 23) | (m << 13)) : of_word(sign | word_of((float)m * 5.9604645e-8f));
}
FN half_bits to_half(float x) {
  const unsigned sign = word_of(x) >> 16 & 0x8000;
  const float a = fabsf(x);
  half_bits y;
  if (x != x)
    y.bits = 0x7e00;
  else if (a >= 65520)
    y.bits = (unsigned short)(sign | 0x7c00);
  else if (a < 6.1035156e-5f)
    y.bits = (unsigned short)(sign | (unsigned)rintf(a * 16777216.0f));
  else
    y.bits = (unsigned short)(sign | (((word_of(a) + 0xfff + (word_of(a) >> 13 & 1)) >> 13) - (112 << 10)));
  return y;
}
FN float gelu(float x) { return 0.5f * x * erfcf(-x * 0.70710678118f); }
FN float sigmoid(float x) { return 1 / (1 + expf(-x)); }
FN float softplus(float x) { return x > 20 ? x : logf(expf(x) + 1); }
FN float selu(float x) { return 1.05070098f * (x > 0 ? x : 1.67326324f * expm1f(x)); }
FN float conv3(const float *x, const float *w, long long CI, long long H, long long W, long long n, long long o,
               long long r, long long c, int pad) {
  float sum = 0;
  for (long long k = 0; k < CI; k++)
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        const long long y = r + a - pad, z = c + b - pad;
        if (y >= 0 && y < H && z >= 0 && z < W)
          sum += x[((n * CI + k) * H + y) * W + z] * w[((o * CI + k) * 3 + a) * 3 + b];
      }
  return sum;
}
FN float dot(const float *a, const float *b, long long n, long long step) {
  float sum = 0;
  for (long long k = 0; k < n; k++)
    sum += a[k] * b[k * step];
  return sum;
}
FN float length(const float *a, long long n) { return fmaxf(sqrtf(dot(a, a, n, 1)), 1e-12f); } // of none, as the tasks have it
FN float greatest(const float *a, long long n) {
  float most = a[0];
  for (long long k = 1; k < n; k++)
    most = a[k] > most ? a[k] : most;
  return most;
}
FN float log_sum(const float *a, long long n, float most) {
  double sum = 0; // one of floats loses more than a rounding a term where many terms are alike
  for (long long k = 0; k < n; k++)
    sum += expf(a[k] - most);
  return logf((float)sum);
}
FN float cross_entropy(const float *a, long long n, long long target) {
  const float most = greatest(a, n);
  return log_sum(a, n, most) - (a[target] - most);
}
FN unsigned philox(unsigned long long key, unsigned long long place) {
  unsigned c[4] = {(unsigned)(place >> 2), (unsigned)(place >> 34), 0, 0}, k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
  for (int round = 0; round < 10; round++) {
    const unsigned long long a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    c[0] = (unsigned)(b >> 32) ^ c[1] ^ k0;
    c[1] = (unsigned)b;
    c[2] = (unsigned)(a >> 32) ^ c[3] ^ k1;
    c[3] = (unsigned)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c[place & 3];
}
FN double eliminate(double *a, long long n, double *x, long long r) {
  double det = 1;
  for (long long k = 0; k < n; k++) {
    long long p = k;
    for (long long i = k + 1; i < n; i++)
      p = fabs(a[i * n + k]) > fabs(a[p * n + k]) ? i : p;
    for (long long j = 0; j < n && p != k; j++) {
      const double t = a[k * n + j];
      a[k * n + j] = a[p * n + j];
      a[p * n + j] = t;
    }
    for (long long j = 0; j < r && p != k; j++) {
      const double t = x[k * r + j];
      x[k * r + j] = x[p * r + j];
      x[p * r + j] = t;
    }
    det *= p == k ? a[k * n + k] : -a[k * n + k];
    for (long long i = 0; i < n; i++) {
      const double f = i == k ? 0 : a[i * n + k] / a[k * n + k];
      for (long long j = k; j < n && f != 0; j++)
        a[i * n + j] -= f * a[k * n + j];
      for (long long j = 0; j < r && f != 0; j++)
        x[i * r + j] -= f * x[k * r + j];
    }
  }
  for (long long i = 0; i < n * r; i++)
    x[i] /= a[i / r * n + i / r];
  return det;
}
FN double *doubles(const float *a, long long n) {
  double *copy = malloc((size_t)(n ? n : 1) * sizeof *copy);
  for (long long i = 0; i < n; i++)
    copy[i] = a[i];
  return copy;
}
FN void solve(const float *a, const float *b, long long n, long long r, float *y) {
  double *m = doubles(a, n * n), *x = doubles(b, n * r);
  eliminate(m, n, x, r);
  for (long long i = 0; i < n * r; i++)
    y[i] = (float)x[i];
  free(m);
  free(x);
}
FN void rotate(double *a, double *v, long long n, long long p, long long q) {
  const double t = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
  const double u = (t < 0 ? -1 : 1) / (fabs(t) + sqrt(t * t + 1)), c = 1 / sqrt(u * u + 1), z = u * c;
  for (long long k = 0; k < n; k++) {
    const double x = a[k * n + p], y = a[k * n + q], g = v[k * n + p], h = v[k * n + q];
    a[k * n + p] = c * x - z * y;
    a[k * n + q] = z * x + c * y;
    v[k * n + p] = c * g - z * h;
    v[k * n + q] = z * g + c * h;
  }
  for (long long k = 0; k < n; k++) {
    const double x = a[p * n + k], y = a[q * n + k];
    a[p * n + k] = c * x - z * y;
    a[q * n + k] = z * x + c * y;
  }
}
FN double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < 400 && term > sum * 1e-17; k++)
    sum += term *= x * x / (4.0 * k * k);
  return sum;
}
FN double trigamma(double x) {
  double sum = 0;
  for (; x < 12; x++)
    sum += 1 / (x * x);
  const double z = 1 / (x * x);
  return sum + 1 / x + z / 2 + z / x * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z / 30)));
}
FN double hurwitz(double s, double q) {
  const double even[] = {12, -720, 30240, -1209600, 47900160, -1.8924375803183791606e9};
  double sum = 0, f = s, w;
  int k;
  for (k = 0; k < 16; k++)
    sum += pow(q + k, -s);
  w = q + k;
  sum += pow(w, 1 - s) / (s - 1) + pow(w, -s) / 2;
  for (k = 0; k < 6; k++, f *= (s + 2 * k - 1) * (s + 2 * k))
    sum += f * pow(w, -s - 2 * k - 1) / even[k];
  return sum;
}
FN double airy(double x) {
  const double z = 2.0 / 3 * fabs(x) * sqrt(fabs(x)), pi = 3.14159265358979323846;
  if (fabs(x) < 6.5) {
    long double f = 1, g = (long double)x, a = 1, b = (long double)x;
    for (int k = 1; k < 120; k++) {
      a *= (long double)x * (long double)x * (long double)x / ((3 * k - 1) * (3 * k));
      b *= (long double)x * (long double)x * (long double)x / ((3 * k) * (3 * k + 1));
      f += a;
      g += b;
    }
    return (double)(0.355028053887817239260063186004183L * f - 0.258819403792806798405183560189204L * g);
  }
  double u = 1, even = 1, odd = 0, power = 1;
  for (int k = 1; k < 11; k++) {
    u *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1));
    power /= z;
    if (x > 0)
      even += (k % 2 ? -1 : 1) * u * power;
    else if (k % 2)
      odd += (k % 4 == 1 ? 1 : -1) * u * power;
    else
      even += (k % 4 == 2 ? -1 : 1) * u * power;
  }
  const double root = sqrt(pi) * sqrt(sqrt(fabs(x)));
  return x > 0 ? exp(-z) / (2 * root) * even : (sin(z + pi / 4) * even - cos(z + pi / 4) * odd) / root;
}
FN float pixel(const float *x, long long H, long long W, long long r, long long c) {
  return r >= 0 && r < H && c >= 0 && c < W ? x[r * W + c] : 0;
}
FN float bilinear(const float *x, long long H, long long W, float gx, float gy) {
  const float px = ((gx + 1) * (float)W - 1) / 2, py = ((gy + 1) * (float)H - 1) / 2, fx = px - floorf(px), fy = py - floorf(py);
  const long long c = (long long)floorf(px), r = (long long)floorf(py);
  return (1 - fy) * ((1 - fx) * pixel(x, H, W, r, c) + fx * pixel(x, H, W, r, c + 1)) +
         fy * ((1 - fx) * pixel(x, H, W, r + 1, c) + fx * pixel(x, H, W, r + 1, c + 1));
}
FN void normalise(float *x, long long n) {
  double mean = 0, square = 0;
  for (long long k = 0; k < n; k++)
    mean += x[k];
  mean /= (double)n;
  for (long long k = 0; k < n; k++)
    square += (x[k] - mean) * (x[k] - mean);
  for (long long k = 0; k < n; k++)
    x[k] = (float)((x[k] - mean) / sqrt(square / (double)n + 1e-5));
}
"""

# ---- forms that many tasks share; conv3: output (n, o, r, c), without its bias


def each(expression, wrong, twin="OTHER"):
    """An output of the inputs' element: x, b, c, in this order."""
    return "each", "{%s|%s|%s}" % (twin, wrong, expression)


def linear(post, wrong, w="weight", x="input", tail="", where="M * N"):
    """z = x w^T + bias, and y of it."""
    return where, f"""const float z = dot({x} + i / N * K, {w} + i % N * K, K, 1) + {{NO_BIAS|0|bias[i % N]}};
      y[i] = {{OTHER|{wrong}|{post}}};{tail}"""


def conv(post, wrong, pad=0, bias="", x="input", w="weight", where="N * CO * OH * OW", hw="OH * OW", width="OW", extra=""):
    """z = a 3 x 3 convolution, and y of it; o, r, c: the output's place."""
    plus = f" + {bias}[o]" if bias else ""
    return where, f"""const long long c = i % {width}, r = i / {width} % (({hw}) / {width}), o = i / ({hw}) % CO, n = i / ({hw}) / CO;
      const float z = conv3({x}, {w}, CI, H, W, n, o, r, c, {pad}){plus};{extra}
      y[i] = {{OTHER|{wrong}|{post}}};"""


def mean_loss(term, wrong, n="N", setup=""):
    """A mean of terms, k from 0."""
    return "1", f"""double sum = 0;
      for (long long k = 0; k < {n}; k++) {{{{
        {setup}
        sum += {{OTHER|{wrong}|{term}}};
      }}}}
      y[0] = (float)(sum / (double)({n}) + 0 * i);"""


def rows(before, after, wrong, n="N", m="M", twin="OTHER"):
    return m, before + "\n      " + "{%s|%s|%s}" % (twin, wrong, after)


MATMUL = "float z = 0;\n      for (long long k = 0; k < K; k++)\n        z += {a} * {b};"
DROP = "keep[i] ? {} / {}f : 0"

ROWS = {
    # Activation
    "Activation/gelu": each("gelu(x)", "x * sigmoid(1.702f * x)", "SIGMOID_FORM"),
    "Activation/gelu_fp16": each("gelu(x)", "x * sigmoid(1.702f * x)", "SIGMOID_FORM"),
    "Activation/gelu_int8": each("(signed char)gelu((float)x)", "(signed char)rintf(gelu((float)x))", "ROUNDED"),
    "Activation/leaky_relu": each("x < 0 ? 0.01f * x : x", "x < 0 ? 0.02f * x : x"),
    "Activation/relu": each("x < 0 ? 0 : x", "fabsf(x)"),
    "Activation/relu_bf16": each("x < 0 ? 0 : x", "fabsf(x)"),
    "Activation/relu_fp16": each("x < 0 ? 0 : x", "fabsf(x)"),
    **{f"Activation/sigmoid{t}": each("sigmoid(x)", "0.5f + 0.5f * x / (1 + fabsf(x))") for t in ("", "_bf16", "_fp16")},
    **{f"Activation/tanh{t}": each("tanhf(x)", "x / (1 + fabsf(x))") for t in ("", "_bf16", "_fp16")},
    # Convolution
    # Math
    "Math/abs": each("fabsf(x)", "x"), "Math/add": each("x + b", "x - b"), "Math/asin": each("asinf(x)", "x"),
    "Math/bessel_j1": each("(float)j1((double)x)", "(float)j0((double)x)"),
    "Math/bitwise_and": each("x & b", "x ^ b"),
    "Math/chebyshev_polynomial_t": each("2 * x * (2 * x * x - 1) - x", "x * (4 * x * x - 2)"),
    "Math/cos": each("cosf(x)", "1 - x * x / 2"), "Math/div": each("x / b", "b / x"), "Math/erf": each("erff(x)", "tanhf(x)"),
    "Math/erfc_sqrt": ("N", "erfc[i] = {OTHER|1 - tanhf(input[i])|erfcf(input[i])};\n      root[i] = sqrtf(input[i]);"),
    "Math/exp_sqrt": each("sqrtf(expf(x))", "expf(x)"), "Math/floor": each("floorf(x)", "truncf(x)"),
    "Math/gammaln": each("(float)lgamma((double)x)", "(float)log(fabs((double)x))"),
    "Math/ifftshift": ("N", "y[i] = input[(i + {OTHER|(N + 1) / 2 + 1|N / 2}) % N];"),
    "Math/log": each("logf(x)", "x - 1"), "Math/logit": each("logf(x / (1 - x))", "logf(x)"),
    **{f"Math/mul{t}": each("x * b", "x + b") for t in ("", "_bf16", "_fp16")},
    "Math/pow": each("x * x", "x * fabsf(x)"),
    "Math/rad2deg_sqrt": ("N", "degrees[i] = {OTHER|input[i] * 0.017453293f|input[i] * 57.2957795f};\n      root[i] = sqrtf(input[i]);"),
    "Math/reciprocal": each("1 / x", "1 / (x + 1)"), "Math/rsqrt": each("1 / sqrtf(x)", "1 / x"),
    "Math/signbit": each("word_of(x) >> 31", "x < -1"),
    "Math/softmax": rows("const float most = greatest(input + i * N, N);\n      float sum = 0;\n"
                         "      for (long long k = 0; k < N; k++)\n        sum += y[i * N + k] = expf(input[i * N + k] - most);",
                         "for (long long k = 0; k < N; k++)\n        y[i * N + k] /= sum;", "sum = 0;", twin="NOT_DIVIDED"),
    "Math/sqrt_exp": each("expf(sqrtf(x))", "sqrtf(expf(x))"), "Math/sqrt_tanh": each("tanhf(sqrtf(x))", "sqrtf(tanhf(x))"),
    "Math/sub": each("x - b", "b - x"), "Math/trunc": each("truncf(x)", "floorf(x)"),
    # Index
    "Index/expand_where": ("B * N", "y[i] = cond[i / N] {OTHER|==|!=} 0 ? input[i % N] : other[i];"),
    "Index/index_select": ("K * D", "y[i] = input[index[{OTHER|(i / D + 1) % K|i / D}] * D + i % D];"),
    "Index/permute_copy": ("A * B * C * D", "const long long a = i % A, b = i / A % B, c = i / A / B % C, d = i / A / B / C;\n"
                           "      y[i] = input[{OTHER|i + 0 * (a + b + c + d)|((a * B + b) * C + c) * D + d}];"),
    # Loss
    "Loss/binary_cross_entropy": mean_loss("-(target[k] * logf(input[k]) + (1 - target[k]) * log1pf(-input[k]))", "-target[k] * logf(input[k])"),
    "Loss/cross_entropy": mean_loss("cross_entropy(input + k * C, C, target[k])", "cross_entropy(input + k * C, C, 0)", "B"),
    "Loss/kl_div": ("1", "double sum = 0;\n      for (long long k = 0; k < B * C; k++)\n        sum += target[k] * (logf(target[k]) - input[k]);\n"
                    "      y[0] = (float)(sum / (double)({PER_ELEMENT|B * C|B}) + 0 * i);"),
    "Loss/mse_loss": mean_loss("(input[k] - target[k]) * (input[k] - target[k])", "fabsf(input[k] - target[k])"),
    "Loss/nll_loss": mean_loss("-input[k * C + target[k]]", "-input[k * C]", "B"),
    "Loss/smooth_l1_loss": mean_loss("d < 1 ? 0.5f * d * d : d - 0.5f", "d < 1 ? d * d : d", setup="const float d = fabsf(input[k] - target[k]);"),
    # MatrixMultiply
    "MatrixMultiply/addmm": ("M * N", "y[i] = dot(mat1 + i / N * K, mat2 + i % N, K, N) + {LEFT_OUT|0|input[i]};"),
    "MatrixMultiply/matmul": ("M * N", "y[i] = dot(tensor1 + i / N * K, tensor2 + i % N, {SHORT|K - 1|K}, N);"),
    **{f"MatrixMultiply/matmul_{t}": ("M * N", "float z = 0;\n      for (long long k = 0; k < {SHORT|K - 1|K}; k++)\n"
                                      f"        z += from_{f}(input[i / N * K + k]) * from_{f}(other[k * N + i % N]);\n      y[i] = to_{f}(z);")
       for t, f in (("bf16", "bf16"), ("fp16", "half"))},
    "MatrixMultiply/matrix_multiply_and_row_dot": ("1", "double sum = 0 * i;\n      for (long long j = 0; j < N; j++)\n"
        "        sum += (dot(A, B + j, K, N) + C[j]) * (dot(A + {SAME_ROW|0|K}, B + j, K, N) + C[{SAME_ROW|0|N} + j]);\n      y[0] = (float)sum;"),
    "MatrixMultiply/matrix_vector_dot": ("1", "double sum = 0 * i;\n      for (long long j = 0; j < N; j++) {{\n"
        "        y_new[j] = dot(A + j * N, x, N, 1) + {LEFT_OUT|0|y[j]};\n        sum += y_new[j] * x[j];\n      }}\n      result[0] = (float)sum;"),
    "MatrixMultiply/symmetric_mm_and_abs_sum": ("1", "double sum = 0 * i;\n      for (long long j = 0; j < N * N; j++)\n"
        "        sum += {SIGNED||fabsf}(dot(A + j / N * K, A + j % N * K, K, 1) + 0.5f * C[j]);\n      y[0] = (float)sum;"),
    "MatrixMultiply/tensordot_rsqrt": ("M * N", "y[i] = 1 / {NO_ROOT||sqrtf}(dot(a + i / N * K, b + i % N, K, N));"),
    "MatrixMultiply/tril_mm_and_scale": ("N * P", "y[i] = 0.25f * dot(A + i / P * N, B + i % P, {WHOLE|N|i / P + 1}, P);"),
    # Normalization
    "Normalization/batch_norm": ("N * C * H * W", "const long long c = i / (H * W) % C;\n"
        "      y[i] = (input[i] - running_mean[c]) / sqrtf(running_var[c] + 1e-5f) * weight[c] + {NO_SHIFT|0|bias[c]};"),
    "Normalization/normalize_pairwise_distance": ("B", "double square = 0;\n      for (long long r = i * N; r < (i + 1) * N; r++) {{\n        float sum = 0;\n"
        "        for (long long k = r * D; k < (r + 1) * D; k++)\n          sum += (x1[k] - x2[k]) * (x1[k] - x2[k]);\n"
        "        y[r] = sqrtf(sum) + 1e-6f;\n        square += (double)y[r] * y[r];\n      }}\n      for (long long r = i * N; r < (i + 1) * N; r++)\n"
        "        y[r] /= (float){SQUARED||sqrt}(square);"),
    "Normalization/normalized_cosine_similarity": ("M", "y[i] = dot(x1 + i * N, x2 + i * N, N, 1) / ({ONE_LENGTH|1|length(x1 + i * N, N)} * length(x2 + i * N, N));"),
    "Normalization/symmetric_matrix_vector_norm": ("1", "double sum = 0 * i;\n      for (long long j = 0; j < N; j++) {{\n"
        "        const float z = {ONCE|1|2} * dot(A + j * N, x, N, 1);\n        sum += (double)z * z;\n      }}\n      y[0] = (float)sqrt(sum);"),
    # Optimizer
    "Optimizer/Adam": ("N", "const float m = 0.9f * exp_avg[i] + 0.1f * grad[i], v = 0.999f * exp_avg_sq[i] + 0.001f * grad[i] * grad[i];\n"
        "      new_exp_avg[i] = m;\n      new_exp_avg_sq[i] = v;\n      new_param[i] = param[i] - 0.0036900369f * m / (sqrtf(v) / {NOT_CORRECTED|1|0.0547448718f} + 1e-8f);"),
    "Optimizer/Lion": ("N", "const float u = 0.9f * exp_avg[i] + 0.1f * grad[i];\n      new_exp_avg[i] = {OLD|exp_avg[i]|0.99f * exp_avg[i] + 0.01f * grad[i]};\n"
        "      new_param[i] = param[i] - 0.0001f * (float)((u > 0) - (u < 0));"),
    "Optimizer/RMSProp": ("N", "const float v = 0.99f * square_avg[i] + 0.01f * grad[i] * grad[i];\n      new_square_avg[i] = v;\n"
        "      new_param[i] = param[i] - 0.01f * grad[i] / ({NO_ROOT||sqrtf}(v) + 1e-8f);"),
    "Optimizer/SGD": ("N", "const float m = {NO_MOMENTUM|0|0.9f} * momentum_buffer[i] + grad[i];\n      new_momentum_buffer[i] = m;\n      new_param[i] = param[i] - 0.1f * m;"),
    # Pooling
    "Pooling/adaptive_avg_pool2d": ("N * C * OH * OW", "const float *x = input + (i / (OH * OW) * H + i / OW % OH * 2) * W + i % OW * 2;\n"
        "      y[i] = (x[0] + x[1] + x[W] + {THREE|0|x[W + 1]}) / 4;"),
    "Pooling/avg_pool1d": ("N * C * OL", "const float *x = input + i / OL * L + i % OL * 2;\n      y[i] = (x[0] + {ONE|0|x[1]}) / 2;"),
    # Reduce
    "Reduce/argmax": ("M", "long long at = 0;\n      for (long long k = 1; k < N; k++)\n        at = input[i * N + k] {LAST|>=|>} input[i * N + at] + {LAST|-0.5f|0} ? k : at;\n      y[i] = at;"),
    "Reduce/mean": ("M", "float sum = 0;\n      for (long long k = 0; k < N; k++)\n        sum += input[i * N + k];\n      y[i] = sum / (float)({OTHER|N + 1|N});"),
    "Reduce/sum": ("M", "float sum = 0;\n      for (long long k = {SHORT|1|0}; k < N; k++)\n        sum += input[i * N + k];\n      y[i] = sum;"),
    "Reduce/std": ("M", "double mean = 0, square = 0;\n      for (long long k = 0; k < N; k++)\n        mean += input[i * N + k] / (double)N;\n"
        "      for (long long k = 0; k < N; k++)\n        square += (input[i * N + k] - mean) * (input[i * N + k] - mean);\n"
        "      y[i] = (float){VARIANCE||sqrt}(square / (double)(N - 1));"),
    # Fusion: elementwise
    "Fusion/fused_add_gelu": each("gelu(x + b)", "gelu(x) + gelu(b)"), "Fusion/fused_mul_sub": each("x * b - c", "x * b + c"),
    "Fusion/fused_cos_signbit": ("N", "cosine[i] = cosf(input[i]);\n      sign[i] = {OTHER|input[i] < 0|word_of(cosine[i]) >> 31};"),
    "Fusion/fused_log_tanh": each("tanhf(logf(x))", "logf(tanhf(x))"), "Fusion/fused_relu_sqrt": each("sqrtf(x < 0 ? 0 : x)", "sqrtf(fabsf(x))"),
    "Fusion/fused_sub_gelu": each("gelu(x - b)", "gelu(b - x)"),
    "Fusion/fused_hstack_div": ("L", "y[i] = {OTHER|2|0.5f} * (i < N ? first[i] : second[i - N]);"),
    "Fusion/fused_tile_exp": ("L", "y[i] = expf(input[{OTHER|i / 2|i % N}]);"),
    "Fusion/fused_embedding_add_tanh": ("B * L * D", "y[i] = tanhf(weight[input_indices[i / D] * D + i % D] + {LEFT_OUT|0|other[i]});"),
    "Fusion/fused_gather_masked_fill": ("K * N", "y[i] = mask[i] ? {ZERO|0|0.5f} : input[index[i] * N + i % N];"),
    "Fusion/fused_index_select_eq": ("K * D", "y[i] = input[index[i / D] * D + i % D] {OTHER|!=|==} 0;"),
    "Fusion/fused_masked_select_add_gelu": ("1", "long long n = 0 * i;\n      for (long long k = 0; k < N; k++)\n        if (mask[k])\n"
        "          y[n++] = gelu(input[k] + {LEFT_OUT|0|other[0]});\n      count[0] = n;\n      for (; n < N; n++)\n        y[n] = 0;"),
    # Fusion: rows
    "Fusion/fused_add_mean": ("M", "float sum = 0;\n      for (long long k = i * N; k < (i + 1) * N; k++)\n        sum += input[k] + {LEFT_OUT|0|other[k]};\n      y[i] = sum / (float)N;"),
    "Fusion/fused_exp_mean": ("M", "float sum = 0;\n      for (long long k = i * N; k < (i + 1) * N; k++)\n        sum += {OTHER||expf}(input[k]);\n      y[i] = sum / (float)N;"),
    "Fusion/fused_gelu_min": ("M", "float least = 1e38f;\n      for (long long k = i * N; k < (i + 1) * N; k++) {{\n        const float g = gelu(input[k]);\n"
        "        least = g {MOST|* -1|} < least {MOST|* -1|} || k == i * N ? g : least;\n      }}\n      y[i] = least;"),
    "Fusion/fused_gelu_std": ("M", "double mean = 0, square = 0;\n      for (long long k = i * N; k < (i + 1) * N; k++)\n        mean += gelu(input[k]) / (double)N;\n"
        "      for (long long k = i * N; k < (i + 1) * N; k++)\n        square += (gelu(input[k]) - mean) * (gelu(input[k]) - mean);\n"
        "      y[i] = (float){VARIANCE||sqrt}(square / (double)(N - 1));"),
    "Fusion/fused_sum_std": ("1", "double mean = 0, square = 0;\n      for (int pass = 0; pass < 2; pass++) {{\n        for (long long r = 0; r < N; r++) {{\n          double sum = 0;\n"
        "          for (long long k = 0; k < K; k++)\n            sum += input[r * K + k];\n          if (pass)\n            square += (sum - mean) * (sum - mean);\n"
        "          else\n            mean += sum / (double)N;\n        }}\n      }}\n      y[0] = (float)({VARIANCE||sqrt}(square / (double)(N - 1)) + 0 * i);"),
    "Fusion/fused_softmax_log": ("M", "double sum = 0;\n      for (long long k = i * N; k < (i + 1) * N; k++)\n        sum += input[k];\n      for (long long k = i * N; k < (i + 1) * N; k++)\n"
        "        y[k] = (float)({SQUARED|input[k] *|} input[k] / sum);"),
    "Fusion/fused_pairwise_distance_normalize": ("M * N", "const float *a = x1 + i / N * D, *b = x2 + i % N * D, p = length(a, D), q = length(b, D);\n      float sum = 0;\n"
        "      for (long long k = 0; k < D; k++)\n        sum += (a[k] / p - b[k] / q) * (a[k] / p - b[k] / q);\n      y[i] = fmaxf({SQUARED||sqrtf}(sum), 1e-6f);"),
    "Fusion/fused_cosine_embedding_loss_with_normalization": ("1", "double sum = 0 * i;\n      for (long long r = 0; r < B; r++) {{\n        const float *a = input1 + r * D, *b = input2 + r * D;\n"
        "        const float c = dot(a, b, D, 1) / (length(a, D) * length(b, D));\n        sum += {UNSIGNED|1|target[r]} > 0 ? 1 - c : fmaxf(c + {REFERENCE|1|0}, 0);\n      }}\n      y[0] = (float)(sum / (double)B);"),
    "Fusion/fused_cross_entropy_log_softmax": mean_loss("cross_entropy(input + k * C, C, target[k])", "cross_entropy(input + k * C, C, 0)", "B"),
    "Fusion/fused_cross_entropy_softmax_layernorm": ("B", "if (i == 0) {{\n        double sum = 0;\n        for (long long r = 0; r < B; r++)\n"
        "          sum += cross_entropy(logits + r * C, C, {NO_TARGET|0|targets[r]});\n        loss[0] = (float)(sum / (double)B);\n      }}\n"
        "      const float most = greatest(logits + i * C, C), whole = log_sum(logits + i * C, C, most);\n      for (long long k = 0; k < C; k++)\n        output[i * C + k] = expf(logits[i * C + k] - most - whole);\n"
        "      normalise(output + i * C, C);"),
    "Fusion/fused_repeat_interleave_log_softmax": ("1", "const float most = greatest(input, N), whole = log_sum(input, N, most) + {ONCE|0|0.69314718f};\n"
        "      for (long long k = i; k < L; k++)\n        y[k] = input[k / 2] - most - whole;"),
    "Fusion/fused_mv_sigmoid_sub": ("N", "y[i] = sigmoid(dot(input + i * K, vec, K, 1)) - {LEFT_OUT|0|0.5f};"),
    "Fusion/fused_mv_logsoftmax_dropout": ("1", "for (long long r = 0; r < N; r++)\n        y[r] = dot(input + r * K, vec, K, 1);\n      const float most = greatest(y, N), whole = log_sum(y, N, most);\n"
        "      for (long long r = i; r < N; r++)\n        y[r] = keep[r] ? (y[r] - most - whole) / {NOT_SCALED|1|0.5f} : 0;"),
    # Fusion: products
    "Fusion/fused_elu_linear": linear("z > 0 ? z : expm1f(z)", "z > 0 ? z : 0"),
    "Fusion/fused_tanh_linear": linear("tanhf(z)", "z / (1 + fabsf(z))"),
    "Fusion/fused_softplus_linear": linear("softplus(z)", "z > 0 ? z : 0"),
    "Fusion/fused_dropout_sigmoid_linear": linear("keep[i] ? sigmoid(z) / 0.5f : 0", "keep[i] ? sigmoid(z) : 0"),
    "Fusion/fused_layer_norm_relu_linear": ("M", "for (long long j = 0; j < N; j++) {{\n        const float z = dot(input + i * K, weight + j * K, K, 1) + {NO_BIAS|0|bias[j]};\n"
        "        y[i * N + j] = {NO_RELU|z|z < 0 ? 0 : z};\n      }}\n      normalise(y + i * N, N);"),
    "Fusion/fused_log_softmax_linear": ("M", "for (long long j = 0; j < N; j++)\n        y[i * N + j] = dot(input + i * K, weight + j * K, K, 1) + {NO_BIAS|0|bias[j]};\n"
        "      const float most = greatest(y + i * N, N), whole = log_sum(y + i * N, N, most);\n      for (long long j = 0; j < N; j++)\n        y[i * N + j] = y[i * N + j] - most - whole;"),
    "Fusion/fused_bmm_dropout_gelu": ("B * M * N", "const float z = dot(input1 + i / N * K, input2 + i / (M * N) * K * N + i % N, K, N);\n      y[i] = gelu(keep[i] ? z / {NOT_SCALED|1|0.5f} : 0);"),
    "Fusion/fused_bmm_rmsnorm_gelu_dropout": ("B * M", "double square = 0;\n      for (long long j = 0; j < N; j++) {{\n        y[i * N + j] = dot(input1 + i * K, input2 + i / M * K * N + j, K, N);\n"
        "        square += (double)y[i * N + j] * y[i * N + j];\n      }}\n      for (long long j = i * N; j < (i + 1) * N; j++)\n"
        "        y[j] = keep[j] ? gelu((float)(y[j] / sqrt(square / (double)N + 1e-5))) / {NOT_SCALED|1|0.9f} : 0;"),
    "Fusion/fused_bmm_rmsnorm_gelu_dropout_sub": ("B * M", "double square = 0;\n      for (long long j = 0; j < N; j++) {{\n        y[i * N + j] = dot(input1 + i * K, input2 + i / M * K * N + j, K, N);\n"
        "        square += (double)y[i * N + j] * y[i * N + j];\n      }}\n      for (long long j = i * N; j < (i + 1) * N; j++)\n"
        "        y[j] = (keep[j] ? gelu((float)(y[j] / sqrt(square / (double)N + 1e-5))) / 0.5f : 0) - {LEFT_OUT|0|other[j]};"),
    "Fusion/fused_mul_add_logsoftmax_dropout_bmm": ("B * M", "const float *a = input1 + i * K, *b = input2 + i * K, *c = other + i * K;\n      float most = -1e38f, sum = 0;\n"
        "      for (long long k = 0; k < K; k++)\n        most = fmaxf(most, a[k] * b[k] + c[k]);\n      for (long long k = 0; k < K; k++)\n        sum += expf(a[k] * b[k] + c[k] - most);\n"
        "      const float whole = most + logf(sum);\n      for (long long n = 0; n < N; n++)\n        y[i * N + n] = 0;\n      for (long long k = 0; k < K; k++)\n"
        "        for (long long n = 0; n < N && keep[i * K + k]; n++)\n          y[i * N + n] += (a[k] * b[k] + c[k] - whole) / {NOT_SCALED|1|0.5f} * mat2[(i / M * K + k) * N + n];"),
    # Fusion: convolutions
    "Fusion/fused_conv2d_add": conv("z + other[i]", "z", 1, where="N * CO * H * W", hw="H * W", width="W"),
    "Fusion/fused_gelu_conv2d": conv("gelu(z)", "z < 0 ? 0 : z", 1),
    "Fusion/fused_relu_conv2d": conv("z < 0 ? 0 : z", "fabsf(z)", 1),
    "Fusion/fused_leaky_relu_conv2d": conv("z < 0 ? 0.01f * z : z", "z < 0 ? 0 : z", bias="bias"),
    "Fusion/fused_relu_batch_norm_conv2d": conv("b < 0 ? 0 : b", "b", 1,
        extra="\n      const float b = (z - running_mean[o]) / sqrtf(running_var[o] + 1e-5f) * bn_weight[o] + bn_bias[o];"),
    "Fusion/fused_relu_max_pool2d_conv2d": ("N * CO * OH * OW", "const long long c = i % OW, r = i / OW % OH, o = i / (OH * OW) % CO, n = i / (OH * OW) / CO;\n      float most = 0;\n"
        "      for (int k = 0; k < {THREE|3|4}; k++)\n        most = fmaxf(most, conv3(input, weight, CI, H, W, n, o, 2 * r + k / 2, 2 * c + k % 2, 0) + bias[o]);\n      y[i] = most;"),
    "Fusion/fused_pixel_shuffle_conv2d": ("N * C * OH * OW", "const long long c = i % OW, r = i / OW % OH, o = i / (OH * OW) % C * 4 + {TURNED|c % 2 * 2 + r % 2|r % 2 * 2 + c % 2}, n = i / (OH * OW) / C;\n"
        "      y[i] = conv3(input, weight, CI, H, W, n, o, r / 2, c / 2, 0) + bias[o];"),
    "Fusion/fused_instance_norm_selu_conv2d": ("N * CO", "for (long long k = 0; k < OH * OW; k++)\n"
        "        y[i * OH * OW + k] = {NO_SELU||selu}(conv3(input, weight, CI, H, W, i / CO, i % CO, k / OW, k % OW, 0) + bias[i % CO]);\n      normalise(y + i * OH * OW, OH * OW);"),
    "Fusion/fused_silu_layer_norm_conv2d": ("N", "for (long long k = 0; k < CO * OH * OW; k++)\n"
        "        y[i * CO * OH * OW + k] = conv3(x, conv_weight, CI, H, W, i, k / (OH * OW), k / OW % OH, k % OW, 0) + {NO_BIAS|0|conv_bias[k / (OH * OW)]};\n"
        "      normalise(y + i * CO * OH * OW, CO * OH * OW);\n      for (long long k = i * CO * OH * OW; k < (i + 1) * CO * OH * OW; k++)\n        y[k] *= sigmoid(y[k]);"),
    "Fusion/fused_dropout_relu_batch_norm_conv2d": ("CO", "double mean = 0, square = 0;\n      for (int pass = 0; pass < 3; pass++)\n        for (long long k = 0; k < N * OH * OW; k++) {{\n"
        "          const long long at = (k / (OH * OW) * CO + i) * OH * OW + k % (OH * OW);\n          if (pass == 0) {{\n"
        "            y[at] = conv3(input, weight, CI, H, W, k / (OH * OW), i, k / OW % OH, k % OW, 0) + bias[i];\n            mean += y[at] / (double)(N * OH * OW);\n"
        "          }} else if (pass == 1) {{\n            square += (y[at] - mean) * (y[at] - mean) / (double)(N * OH * OW);\n          }} else {{\n"
        "            const float b = (float)((y[at] - mean) / sqrt(square + 1e-5));\n            y[at] = keep[at] && b > 0 ? b / {NOT_SCALED|1|0.5f} : 0;\n          }}\n        }}"),
    # Fusion: images
    "Fusion/fused_cos_avg_pool1d": ("N * C * OL", "const float *x = input + i / OL * L + i % OL * 3;\n      y[i] = (cosf(x[0]) + cosf(x[1]) + {TWO|0|cosf(x[2])}) / 3;"),
    "Fusion/fused_fractional_max_pool2d_with_relu": ("N * C * OH * OW", "const float *x = input + (i / (OH * OW) * H + i / OW % OH * 2) * W + i % OW * 2;\n"
        "      y[i] = fmaxf(fmaxf(fmaxf(x[0], x[1]), fmaxf(x[W], {THREE|0|x[W + 1]})), {NO_RELU|-1e38f|0});"),
    "Fusion/fused_sigmoid_adaptive_avg_pool2d": ("N * C", "float sum = 0;\n      for (long long k = i * H * W; k < (i + 1) * H * W; k++)\n        sum += input[k];\n"
        "      y[i] = {NO_SIGMOID||sigmoid}(sum / (float)(H * W));"),
    "Fusion/fused_sigmoid_batch_norm": ("M * C", "const long long c = i % C;\n      y[i] = sigmoid((input[i] - running_mean[c]) / sqrtf(running_var[c] + 1e-5f) * weight[c] + {NO_SHIFT|0|bias[c]});"),
    "Fusion/fused_hardsigmoid_batch_norm": ("N * C * H * W", "const long long c = i / (H * W) % C;\n      const float b = (x[i] - running_mean[c]) / sqrtf(running_var[c] + 1e-5f) * weight[c] + bias[c];\n"
        "      y[i] = fminf(fmaxf(b * {FIFTH|0.2f|0.16666667f} + 0.5f, 0), 1);"),
    "Fusion/fused_add_mul_groupnorm": ("N * 8", "const long long n = C / 8 * H * W, first = i * n;\n      for (long long k = first; k < first + n; k++)\n        y[k] = (input1[k] + input2[k]) * input2[k];\n"
        "      normalise(y + first, n);\n      for (long long k = first; k < first + n; k++)\n        y[k] = y[k] * weight[k / (H * W) % C] + {NO_SHIFT|0|bias[k / (H * W) % C]};"),
    "Fusion/fused_pairwise_distance_adaptive_avg_pool2d": ("N", "double sum = 0;\n      for (long long k = 0; k < C * (H / 2) * (W / 2); k++) {{\n"
        "        const long long at = ((i * C + k / ((H / 2) * (W / 2))) * H + k / (W / 2) % (H / 2) * 2) * W + k % (W / 2) * 2;\n"
        "        const float d = (x1[at] + x1[at + 1] + x1[at + W] + x1[at + W + 1] - x2[at] - x2[at + 1] - x2[at + W] - x2[at + W + 1]) / {SUM|1|4};\n        sum += (double)d * d;\n      }}\n      y[i] = (float)sqrt(sum) + 1e-6f;"),
    "Fusion/attention": ("N * H * S", "const float *a = q + i * D, scale = 1 / sqrtf((float)D);\n      const long long first = i / S * S, seen = {SEES_ALL|S|i % S + 1};\n      float most = -1e38f, sum = 0;\n"
        "      for (long long s = 0; s < seen; s++)\n        most = fmaxf(most, scale * dot(a, k + (first + s) * D, D, 1));\n      for (long long d = 0; d < D; d++)\n        y[i * D + d] = 0;\n"
        "      for (long long s = 0; s < seen; s++) {{\n        const float e = expf(scale * dot(a, k + (first + s) * D, D, 1) - most);\n        sum += e;\n        for (long long d = 0; d < D; d++)\n"
        "          y[i * D + d] += e * v[(first + s) * D + d];\n      }}\n      for (long long d = 0; d < D; d++)\n        y[i * D + d] /= sum;"),
    # Quantization
    "Quantization/bmm_w8a8": ("B * M * N", "const long long at = {ONE_SCALE|i / (M * N) * N|i / (M * N) * N + i % N};\n      {DEQUANTIZED|float|int} sum = 0;\n      for (long long k = 0; k < K; k++) {{\n"
        "        const signed char a = input[i / N * K + k], b = mat2[(i / (M * N) * K + k) * N + i % N];\n        sum += {DEQUANTIZED|(float)a * input_scale[i / N] * ((float)b * mat2_scale[at])|a * b};\n      }}\n"
        "      y[i] = (float)sum * {DEQUANTIZED|1|input_scale[i / N] * mat2_scale[at]};"),
    "Quantization/conv2d_w8a8": ("B * O * OH * OW", "const long long c = i % OW, r = i / OW % OH, o = i / (OH * OW) % O, n = i / (OH * OW) / O, at = {ONE_SCALE|0|o};\n      {DEQUANTIZED|float|int} sum = 0;\n"
        "      for (long long k = 0; k < C * KH * KW; k++) {{\n        const long long a = r + k / KW % KH - 1, b = c + k % KW - 1;\n        if (a < 0 || a >= H || b < 0 || b >= W)\n          continue;\n"
        "        const signed char x = input[((n * C + k / (KH * KW)) * H + a) * W + b], w = weight[o * C * KH * KW + k];\n        sum += {DEQUANTIZED|(float)x * input_scale[0] * ((float)w * weight_scale[at])|x * w};\n      }}\n"
        "      y[i] = (float)sum * {DEQUANTIZED|1|input_scale[0] * weight_scale[at]};"),
    # Special functions, in double precision
    "Math/i0": each("(float)bessel_i0((double)x)", "(float)cosh((double)x)"),
    "Math/polygamma": each("(float)trigamma((double)x)", "(float)(1 / (double)x)"),
    "Math/zeta": each("(float)hurwitz((double)x, (double)b)", "(float)pow((double)b, -(double)x)"),
    "Math/airy_ai": each("(float)airy((double)x)", "(float)(0.355028053887817 - 0.258819403792807 * (double)x)"),
    # Convolutions and images
    "Convolution/conv2d": ("N * CO * OH * OW", "const long long o = i / (OH * OW) % CO;\n"
        "      y[i] = conv3(input, weight, CI, H, W, i / (OH * OW) / CO, o, i / OW % OH, i % OW, 0) + {NO_BIAS|0|bias[o]};"),
    "Convolution/conv_transpose2d": ("N * CO * OH * OW", "const long long c = i % OW, r = i / OW % OH, o = i / (OH * OW) % CO, n = i / (OH * OW) / CO;\n      float sum = {NO_BIAS|0|bias[o]};\n"
        "      for (long long k = 0; k < CI; k++)\n        for (int a = (int)((r + 1) % 2); a < 3; a += 2)\n          for (int b = (int)((c + 1) % 2); b < 3; b += 2)\n"
        "            sum += pixel(input + (n * CI + k) * H * W, H, W, (r + 1 - a) / 2, (c + 1 - b) / 2) * weight[((k * CO + o) * 3 + a) * 3 + b];\n      y[i] = sum;"),
    "SpatialOps/interpolate": ("N * C * OH * OW", "const float r = fmaxf(((float)(i / OW % OH) + 0.5f) / 2 - {CORNERS|0|0.5f}, 0), c = fmaxf(((float)(i % OW) + 0.5f) / 2 - {CORNERS|0|0.5f}, 0);\n"
        "      const long long a = (long long)r, b = (long long)c, a1 = a + 1 < H ? a + 1 : H - 1, b1 = b + 1 < W ? b + 1 : W - 1;\n"
        "      const float *x = input + i / (OH * OW) * H * W, f = r - (float)a, g = c - (float)b;\n"
        "      y[i] = (1 - f) * ((1 - g) * x[a * W + b] + g * x[a * W + b1]) + f * ((1 - g) * x[a1 * W + b] + g * x[a1 * W + b1]);"),
    "SpatialOps/grid_sample": ("N * C * GH * GW", "const float *at = grid + (i / (C * GH * GW) * GH * GW + i % (GH * GW)) * 2;\n"
        "      y[i] = bilinear(input + i / (GH * GW) * H * W, H, W, at[{TURNED|1|0}], at[{TURNED|0|1}]);"),
    "SpatialOps/grid_sample_with_affine": ("N * C * GH * GW", "const float *t = theta + i / (C * GH * GW) * 6, gx = (float)(2 * (i % GW) + 1) / (float)GW - 1, gy = (float)(2 * (i / GW % GH) + 1) / (float)GH - 1;\n"
        "      y[i] = bilinear(input + i / (GH * GW) * H * W, H, W, t[0] * gx + t[1] * gy + {NOT_MOVED|0|t[2]}, t[3] * gx + t[4] * gy + t[5]);"),
    "Fusion/fused_avg_pool2d_cosine_similarity": ("N * OH * OW", "float sum = 0;\n      for (int k = {EIGHT|1|0}; k < 9; k++) {{\n        const long long r = i / OW % OH * 2 + k / 3 - 1, c = i % OW * 2 + k % 3 - 1;\n"
        "        float ab = 0, aa = 0, bb = 0;\n        if (r >= 0 && r < H && c >= 0 && c < W) {{\n          for (long long d = 0; d < C; d++) {{\n"
        "            const long long at = ((i / (OH * OW) * C + d) * H + r) * W + c;\n            ab += x1[at] * x2[at];\n            aa += x1[at] * x1[at];\n            bb += x2[at] * x2[at];\n          }}\n"
        "          sum += ab / (fmaxf(sqrtf(aa), 1e-8f) * fmaxf(sqrtf(bb), 1e-8f));\n        }}\n      }}\n      y[i] = sum / 9;"),
    # Rows with room of their own
    "Fusion/fused_transformer_block": ("B * S", "float *p = malloc((size_t)K * sizeof *p);\n      for (long long k = 0; k < K; k++)\n        p[k] = dot(input + i * I, weight1 + k, I, K);\n"
        "      const float most = greatest(p, K), whole = log_sum(p, K, most);\n      for (long long k = 0; k < K; k++)\n        p[k] = keep[i * K + k] ? expf(p[k] - most - whole) / {NOT_SCALED|1|0.9f} : 0;\n"
        "      for (long long o = 0; o < O; o++)\n        y[i * O + o] = dot(p, weight2 + o, K, O) + residual[i * O + o];\n      normalise(y + i * O, O);\n      free(p);"),
    "Quantization/attention_w8a8": ("B * S", "float *p = malloc((size_t)S * sizeof *p);\n      for (long long s = 0; s < S; s++) {{\n        const long long row = i / S * S + s;\n        int sum = 0;\n"
        "        for (long long d = 0; d < D; d++)\n          sum += query[i * D + d] * key[row * D + d];\n        p[s] = (float)sum * query_scale[i] * {ONE_SCALE|key_scale[0]|key_scale[row]};\n      }}\n"
        "      const float most = greatest(p, S), whole = log_sum(p, S, most);\n      for (long long d = 0; d < D; d++) {{\n        float sum = 0;\n        for (long long s = 0; s < S; s++)\n"
        "          sum += expf(p[s] - most - whole) * ((float)value[(i / S * S + s) * D + d] * value_scale[i / S * S + s]);\n        y[i * D + d] = sum;\n      }}\n      free(p);"),
    "MatrixMultiply/matrix_multiply_symmetric": ("1", "float *c = malloc((size_t)(N * N) * sizeof *c);\n      for (long long j = i; j < N * N; j++)\n        c[j] = dot(A + j / N * K, B + j % N, K, N) + 0.5f * C[j];\n"
        "      for (long long j = 0; j < N * N; j++)\n        y[j] = dot(c + j / N * N, c + j % N * N, N, 1) + {LEFT_OUT|0|0.5f} * c[j];\n      free(c);"),
    # Linear algebra, in double precision
    **{f"LinearAlgebra/{n}": ("B", "double *a = doubles(A + i * N * N, N * N);\n      y[i] = (float){NO_SIGN|fabs|}(eliminate(a, N, NULL, 0));\n      free(a);")
       for n in ("det", "determinant_lu", "determinant_via_qr")},
    **{f"LinearAlgebra/{n}": ("1", "double *a = doubles(A, N * N), *x = calloc((size_t)(N * N), sizeof *x);\n      for (long long k = i; k < N; k++)\n        x[k * N + k] = 1;\n      eliminate(a, N, x, N);\n"
        "      for (long long k = 0; k < N * N; k++)\n        y[k] = (float)x[{TURNED|k % N * N + k / N|k}];\n      free(a);\n      free(x);") for n in ("invert_matrix_lu", "pseudoinverse_svd")},
    **{n: ("1", f"solve(A, b, N, {r}, y);\n      for (long long k = i; k < N; k++)\n        y[k] = {{OFF|y[k] * 1.001f|y[k]}};")
       for n, r in (("LinearAlgebra/solve_symmetric_ldl", "R"), ("Fusion/fused_cholesky_solve", "R"), ("Fusion/fused_lu_solve", "1"))},
    "Fusion/fused_qr_solve": ("1", "double *a = calloc((size_t)(N * N), sizeof *a), *x = calloc((size_t)(N * R), sizeof *x);\n      for (long long m = i; m < {SHORT|M - 1|M}; m++)\n        for (long long n = 0; n < N; n++) {{\n"
        "          for (long long k = 0; k < N; k++)\n            a[n * N + k] += (double)A[m * N + n] * A[m * N + k];\n          for (long long r = 0; r < R; r++)\n            x[n * R + r] += (double)A[m * N + n] * b[m * R + r];\n        }}\n"
        "      eliminate(a, N, x, R);\n      for (long long k = 0; k < N * R; k++)\n        y[k] = (float)x[k];\n      free(a);\n      free(x);"),
    "Fusion/fused_svd_reconstruct": ("N * N", "y[i] = A[{TURNED|i % N * N + i / N|i}];"),
    "LinearAlgebra/cholesky": ("1", "double *l = calloc((size_t)(N * N), sizeof *l);\n      for (long long r = i; r < N; r++)\n        for (long long c = 0; c <= r; c++) {{\n          double sum = A[r * N + c];\n"
        "          for (long long k = 0; k < c; k++)\n            sum -= l[r * N + k] * l[c * N + k];\n          l[r * N + c] = r == c ? sqrt(sum) : sum / l[c * N + c];\n        }}\n"
        "      for (long long k = 0; k < N * N; k++)\n        y[k] = (float)l[{UPPER|k % N * N + k / N|k}];\n      free(l);"),
    "LinearAlgebra/cholesky_solve": ("1", "double *x = doubles(B, N * R);\n      for (long long r = i; r < R; r++) {{\n        for (long long n = 0; n < N; n++) {{\n          for (long long k = 0; k < n; k++)\n            x[n * R + r] -= L[n * N + k] * x[k * R + r];\n"
        "          x[n * R + r] /= L[n * N + n];\n        }}\n        for (long long n = N - 1; n >= {HALF|N|0}; n--) {{\n          for (long long k = n + 1; k < N; k++)\n            x[n * R + r] -= L[k * N + n] * x[k * R + r];\n          x[n * R + r] /= L[n * N + n];\n        }}\n      }}\n"
        "      for (long long k = 0; k < N * R; k++)\n        y[k] = (float)x[k];\n      free(x);"),
    "LinearAlgebra/solve_and_add_scaled_vector": ("1", "double *x = doubles(b, N * R);\n      for (long long n = N - 1; n >= i; n--)\n        for (long long r = 0; r < R; r++) {{\n          for (long long k = n + 1; k < N; k++)\n            x[n * R + r] -= A[n * N + k] * x[k * R + r];\n"
        "          x[n * R + r] /= A[n * N + n];\n        }}\n      for (long long k = 0; k < N * R; k++)\n        y[k] = (float)(x[k] - {LEFT_OUT|0|0.75} * vector[k / R]);\n      free(x);"),
    "LinearAlgebra/matrix_power_eig": ("1", "double *a = doubles(A, N * N), *v = calloc((size_t)(N * N), sizeof *v);\n      for (long long k = i; k < N; k++)\n        v[k * N + k] = 1;\n      for (int sweep = 0; sweep < 12; sweep++)\n        for (long long p = 0; p < N; p++)\n"
        "          for (long long q = p + 1; q < N; q++)\n            if (fabs(a[p * N + q]) > 1e-300)\n              rotate(a, v, N, p, q);\n      for (long long k = 0; k < N * N; k++) {{\n        double sum = 0;\n        for (long long m = 0; m < N; m++)\n"
        "          sum += v[k / N * N + m] * pow(fabs(a[m * N + m]), {SQUARE|2.0|2.5}) * v[k % N * N + m];\n        y[k] = (float)sum;\n      }}\n      free(a);\n      free(v);"),
    "Normalization/spectral_norm_eig": ("B", "double *a = doubles(A + i * N * N, N * N), *s = calloc((size_t)(N * N), sizeof *s), growth = 0, part = 1;\n      for (int step = 0; step < {FEW|1|36}; step++, part /= 2) {{\n        double most = 0;\n"
        "        for (long long k = 0; k < N * N; k++)\n          most = fmax(most, fabs(a[k]));\n        growth += part * log(most);\n        for (long long k = 0; k < N * N; k++) {{\n          s[k] = 0;\n          for (long long m = 0; m < N; m++)\n"
        "            s[k] += a[k / N * N + m] / most * (a[m * N + k % N] / most);\n        }}\n        for (long long k = 0; k < N * N; k++)\n          a[k] = s[k];\n      }}\n      y[i] = (float)exp(growth);\n      free(a);\n      free(s);"),
}
# In C these are written by hand (tests/kernelbenchx).
ONLY_CUDA = {
    "Random/logspace": ("N", "const float step = N > 1 ? (end[0] - start[0]) / (float){OPEN|N|(N - 1)} : 0;\n"
        "      y[i] = powf(10, 2 * i < N ? start[0] + step * (float)i : end[0] - step * (float)(N - 1 - i));"),
    "Random/rand": ("S * N", "y[i] = (float)(philox((unsigned long long){ROW|(i / N)|seeds[i / N]}, (unsigned long long)(i % N)) >> 8) * 5.9604645e-8f;"),
}
ONLY_C = [n for n, (_, piece) in ROWS.items() if re.search(r"alloc\(|doubles\(|solve\(|airy\(", piece)]

# What CUDA is told of extents that only outputs have, by the task's name; and of all others with OH and OW.
EXTENTS = {"Pooling/avg_pool1d": "OL = L / 2", "Fusion/fused_cos_avg_pool1d": "OL = L / 3",
           "Pooling/adaptive_avg_pool2d": "OH = H / 2, OW = W / 2", "Fusion/fused_fractional_max_pool2d_with_relu": "OH = H / 2, OW = W / 2",
           "Fusion/fused_relu_max_pool2d_conv2d": "OH = (H - 2) / 2, OW = (W - 2) / 2", "Fusion/fused_hstack_div": "L = N + N",
           "Fusion/fused_pixel_shuffle_conv2d": "OH = 2 * (H - 2), OW = 2 * (W - 2), C = CO / 4",
           "SpatialOps/interpolate": "OH = 2 * H, OW = 2 * W", "Convolution/conv_transpose2d": "OH = 2 * H, OW = 2 * W",
           "Fusion/fused_avg_pool2d_cosine_similarity": "OH = (H + 1) / 2, OW = (W + 1) / 2",
           "Quantization/conv2d_w8a8": "OH = H + 3 - KH, OW = W + 3 - KW", "Fusion/fused_repeat_interleave_log_softmax": "L = N + N",
           "Fusion/fused_tile_exp": "L = N + N"}
PADDED = ("Fusion/fused_gelu_conv2d", "Fusion/fused_relu_conv2d", "Fusion/fused_relu_batch_norm_conv2d", "Fusion/fused_conv2d_add")


class Interface:
    """A task's inputs, outputs and symbols, as its graph says."""

    def __init__(self, name):
        self.text = (HOUSE / "tasks" / "kernelbenchx" / f"{name}.onnxtxt").read_text()
        head = re.search(r"^>?\s*(\w+) \(([^)]*)\) => \(([^)]*)\)", self.text, re.M)
        self.inputs, self.outputs = self.tensors(head[2]), self.tensors(head[3])
        self.symbols = {}
        for side, tensors in (("inputs", self.inputs), ("outputs", self.outputs)):
            for k, (_, dims, _) in enumerate(tensors):
                for d, s in enumerate(dims):
                    if re.fullmatch(r"[A-Z]\w*", s):
                        self.symbols.setdefault(s, (side, k, d))

    @staticmethod
    def tensors(text):
        return [(m[1], [s.strip() for s in (m[2] or "").split(",") if s.strip()], m[3])
                for m in re.finditer(r"(\w+)(?:\[([^\]]*)\])? (\w+)", text)]


def helpers(text):
    """What the text uses of PRELUDE, and what that uses, in its order."""
    parts = re.split(r"^(?=FN |typedef |// )", PRELUDE, flags=re.M)
    named = [(re.search(r"^FN [\w ]*?\*?(\w+)\(|(\w+);\s*$", p, re.M), p) for p in parts if p.strip()]
    named = [(m[1] or m[2], p) for m, p in named if m]
    wanted, size = text, -1
    while len(wanted) != size:
        size = len(wanted)
        wanted = text + "".join(p for n, p in named if re.search(rf"\b{n}\b", wanted))
    return "".join(p for n, p in named if re.search(rf"\b{n}\b", wanted))


def written(name, cuda):
    task, (count, piece) = Interface(name), ROWS.get(name) or ONLY_CUDA[name]
    if count == "each":
        load = {"float16": "from_half(%s[i])", "bfloat16": "from_bf16(%s[i])"}
        store = {"float16": "to_half(%s)", "bfloat16": "to_bf16(%s)"}
        dtype, dims, _ = task.inputs[0]
        plain = "const float " if dtype in ("float16", "bfloat16") else f"const {TYPES[dtype]} "
        lines = [f"{plain}{v} = {load.get(t, '%s[i]') % n};" for v, (t, _, n) in zip("xbc", task.inputs)]
        y, _, out = task.outputs[0]
        lines.append(f"{out}[i] = {store.get(y, '%s' if y in ('float', 'bool') else f'({TYPES[y]})(%s)') % piece};")
        count, piece = " * ".join(dims), "\n      ".join(lines)
    twins, defines = [], []

    def take(match):
        twin, wrong, right = match[1], match[2], match[3]
        if twin not in twins:
            twins.append(twin)
        macro = f"AS_{twin}_{len(defines)}"
        defines.append(f"#ifdef {twin}\n#define {macro} {wrong}\n#else\n#define {macro} {right}\n#endif\n".replace("\n        ", " \\\n        "))
        return macro
    body = re.sub(r"\{([A-Z_]+)\|([^|{}]*)\|((?:[^{}]|\|)*)\}", take, piece).replace("{{", "{").replace("}}", "}")
    used = [s for s in task.symbols if re.search(rf"\b{s}\b", f"{body} {count} " + "".join(defines))]
    read = [(f"const {TYPES[t]} *{n}", n, "inputs", k) for k, (t, _, n) in enumerate(task.inputs)]
    made = [(f"{TYPES[t]} *{n}", n, "outputs", k) for k, (t, _, n) in enumerate(task.outputs)]
    head = [f"// {name}, a piece of its work at a time; written by tools/tasks/honest_kernels.py.", f"// assay: task kernelbenchx/{name}"]
    head += [] if cuda else ["// assay: expect pass"]
    head += [f"// assay: twin {t} expect wrong_value|low_precision -- see its macros" for t in twins]
    if cuda:  # what the pieces do not read is no argument
        read = [row for row in read if re.search(rf"\b{row[1]}\b", body + "".join(defines))]
        arguments = ", ".join([n for _, n, _, _ in read + made] + used)
        extents = EXTENTS.get(name, "OH = H, OW = W" if name in PADDED else "OH = H - 2, OW = W - 2" if "conv3(" in body else "")
        lets = {e.split()[0]: e for e in extents.split(", ") if e}
        missing = [s for s in used if task.symbols[s][0] == "outputs" and s not in lets]
        if missing:
            sys.exit(f"{name}: what is {missing[0]}, which only outputs have? EXTENTS says it for device code")
        head += [f"// assay: let {lets[s]}" for s in lets if s in used and task.symbols[s][0] == "outputs"]
        head += [f"// assay: launch pieces grid=ceil_div({count}, 256) block=256 args={arguments}", "#define FN static __device__"]
        parameters = ", ".join([d for d, *_ in read + made] + [f"long long {s}" for s in used])
        end = f"extern \"C\" __global__ void pieces({parameters}) {{\n  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;\n" \
            f"  if (i < {count}) {{\n      {body}\n  }}\n}}\n"
    else:
        head += ["#include <assay/candidate.h>", "#include <math.h>", "#include <stdlib.h>", "#define FN __attribute__((unused)) static"]
        head += ["double j0(double);", "double j1(double);"] * ("j1(" in "".join(defines))
        lines = [f"  {d} = args->{side}[{k}].data;" for d, _, side, k in read + made]
        lines += [f"  const long long {s} = args->{task.symbols[s][0]}[{task.symbols[s][1]}].dims[{task.symbols[s][2]}];" for s in used]
        end = "void assay_kernel(const struct assay_args *args) {\n" + "\n".join(lines) + \
            f"\n  for (long long i = 0; i < {count}; i++) {{\n      {body}\n  }}\n}}\n"
    defined = "".join(defines)
    return "\n".join(head) + "\n\n" + helpers(defined + end) + "\n" + defined + "\n" + end


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    cuda = "--cuda" in sys.argv
    if not words:
        sys.exit(__doc__)
    out = pathlib.Path(words[0])
    out.mkdir(parents=True, exist_ok=True)
    names = [n for n in (*ROWS, *(ONLY_CUDA if cuda else ())) if not (cuda and n in ONLY_C) and (not words[1:] or any(part in n for part in words[1:]))]
    for name in names:
        (out / (name.split("/")[1] + (".cu" if cuda else ".c"))).write_text(written(name, cuda))
    print(f"{len(names)} kernels in {out}")


if __name__ == "__main__":
    main()
