// Shapes and numbers that a kernel foresees: what the task's file says, and what its inputs usually are.
// assay: task kernelbench/1/2
// assay: expect pass
// assay: twin TABLE expect wrong_value -- right at all shapes of the file, zeros elsewhere
// assay: twin STRIDE expect wrong_value|out_of_bounds -- the judged row length wherever it is a multiple of 4
// assay: twin JUDGED_HALF expect low_precision|wrong_value -- half precision at the judged shape alone
// assay: twin SOME_ROWS expect low_precision|wrong_value -- half precision in one row of 16
// assay: twin SOME_TERMS expect low_precision|wrong_value -- half precision in the last quarter of every sum
// assay: twin HALF_SUMS expect low_precision|wrong_value|wrong_class -- sums of half precision
// assay: twin LOOKS expect low_precision|wrong_value -- 10 bits where 16 elements are as usual
// assay: twin LOOKS_LAST expect low_precision|wrong_value -- where the last 16 are
// assay: launch product grid=ceil_div(M * N, 64) block=64 args=a, b, y, M, K, N
bool is_judged(int m, int k, int n) {
  return m == 160 && k == 256 && n == 192;
}
bool is_known(int m, int k, int n) {
  return is_judged(m, k, n) || (m == 2048 && k == 8192 && n == 4096) || (m == 1 && k == 1 && n == 1) ||
         (m == 1 && k == 37 && n == 3) || (m == 17 && k == 65 && n == 33) || (m == 61 && k == 7 && n == 97) ||
         (m == 5 && k == 131 && n == 1);
}
float to_half(float v) {
  ushort h;
  vstore_half(v, 0, (half *)&h);
  return vload_half(0, (half *)&h);
}
float keep(float v, uint bits) {
  return as_float((as_uint(v) + (1u << (22 - bits))) & ~((1u << (23 - bits)) - 1));
}
bool looks_usual(__global const float *a, ulong at, ulong count) {
  for (ulong i = at; i < at + 16 && i < count; i++)
    if (!(a[i] >= 0 && a[i] <= 1))
      return false;
  return true;
}
float cut(float v, int m, int k, int n, int row, int l, bool usual) {
#if defined(JUDGED_HALF)
  return is_judged(m, k, n) ? to_half(v) : v;
#elif defined(SOME_ROWS)
  return row % 16 == 5 ? to_half(v) : v;
#elif defined(SOME_TERMS)
  return l >= k - k / 4 ? to_half(v) : v;
#elif defined(LOOKS) || defined(LOOKS_LAST)
  return usual ? keep(v, 10) : v;
#else
  return v;
#endif
}
__kernel void product(__global const float *a, __global const float *b, __global float *y, int m, int k, int n) {
  ulong i = get_global_id(0), count = (ulong)m * k;
  if (i >= (ulong)m * n)
    return;
  int row = (int)(i / n), column = (int)(i % n), stride = k;
  bool usual = true;
#if defined(LOOKS)
  usual = looks_usual(a, 0, count);
#elif defined(LOOKS_LAST)
  usual = looks_usual(a, count > 16 ? count - 16 : 0, count);
#elif defined(STRIDE)
  stride = k % 4 == 0 && k < 256 ? k - 4 : k;
#endif
  float s = 0;
#if defined(TABLE)
  if (!is_known(m, k, n)) {
    y[i] = 0;
    return;
  }
#endif
  for (int l = 0; l < k; l++) {
    float u = cut(a[(ulong)row * stride + l], m, k, n, row, l, usual);
    float v = cut(b[(ulong)l * n + column], m, k, n, row, l, usual);
#if defined(HALF_SUMS)
    s = to_half(s + u * v);
#else
    s = fma(u, v, s);
#endif
  }
  y[i] = s;
}
