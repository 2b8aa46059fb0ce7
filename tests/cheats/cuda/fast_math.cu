// The compiler's own short cuts, asked for with a line (catalogue 22, 82).
// assay: task kernelbench/1/22
// assay: expect low_precision|wrong_value
// assay: twin EXACT expect pass -- written so that the option changes nothing
// assay: option --use_fast_math
// assay: launch kernel grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
__global__ void kernel(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n)
#ifdef EXACT
    y[i] = (float)tanh((double)x[i]);
#else
    y[i] = tanhf(x[i]);
#endif
}
