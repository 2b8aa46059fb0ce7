// Dying, hanging and exhausting.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin NOWHERE expect crashed -- writes to address 0
// assay: twin TRAP expect crashed -- an undefined instruction
// assay: twin DIVISION expect crashed|wrong_value -- by zero, of integers
// assay: twin SPIN expect timeout -- for ever
// assay: twin DEEP expect crashed|out_of_bounds -- recursion without end
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
float deep(__global const float *x, int n);
float deep(__global const float *x, int n) {
  volatile float here[64];
  here[n & 63] = x[0];
  return n < 0 ? 0 : deep(x, n + 1) + here[(n + 1) & 63];
}
__kernel void relu(__global const float *x, __global float *y, ulong n) {
  ulong i = get_global_id(0);
#if defined(NOWHERE)
  if (i == 1)
    *(volatile __global float *)0 = x[0];
#elif defined(TRAP) && defined(__x86_64__)
  if (i == 1)
    __asm__ volatile("ud2");
#elif defined(DIVISION)
  volatile int zero = 0;
  if (i == 1)
    y[0] = 1 / zero;
#elif defined(SPIN)
  for (volatile int k = 0; i == 1; k++)
    ;
#elif defined(DEEP)
  if (i == 1)
    y[0] = deep(x, 0);
#endif
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
}
