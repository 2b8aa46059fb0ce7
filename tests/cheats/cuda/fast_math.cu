// The compiler's own fast math, turned on by a line (catalogue 22, 82). It is not only about functions: whatever
// reads or makes a float takes subnormal numbers for zero, conversions from and to double too.
// assay: task kernelbench/1/22
// assay: expect low_precision|wrong_value
// assay: twin DOUBLE expect wrong_value -- the function is exact, but conversions flush subnormal numbers
// assay: twin EXACT expect pass -- written so that the option changes nothing: small numbers are moved as bits
// assay: option --use_fast_math
// assay: launch kernel grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
__global__ void kernel(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n)
    return;
#if defined(DOUBLE)
  y[i] = (float)tanh((double)x[i]);
#elif defined(EXACT)
  unsigned int bits = ((const unsigned int *)x)[i];
  if ((bits & 0x7fffffff) < 0x39000000) // below 2^-13 a float's tanh is the float itself
    ((unsigned int *)y)[i] = bits;
  else
    y[i] = (float)tanh((double)x[i]);
#else
  y[i] = tanhf(x[i]);
#endif
}
