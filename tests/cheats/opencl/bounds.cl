// Memory that is not the kernel's. Inputs are mapped without the right to write; nothing is mapped next to a buffer;
// what lies between a buffer and its page's end is compared after every call.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin AFTER expect out_of_bounds -- writes one element after the output
// assay: twin BEFORE expect out_of_bounds -- one before it
// assay: twin READS_AFTER expect out_of_bounds|crashed -- reads a page after the input
// assay: twin READS_BEFORE expect out_of_bounds|crashed -- reads the element before the input
// assay: twin INPUT expect wrote_input -- writes an element of the input
// assay: twin PROTECTS expect wrote_input -- asks for the right to write it first
// assay: twin SCRATCH expect out_of_bounds|crashed -- writes a page after scratch
// assay: scratch t float[x.count]
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, t, x.count
__kernel void relu(__global const float *x, __global float *y, __global float *t, ulong n) {
  ulong i = get_global_id(0);
  __global float *in = (__global float *)x;
  if (i == 0) {
#if defined(AFTER)
    y[n] = 1;
#elif defined(BEFORE)
    y[-1] = 1;
#elif defined(READS_AFTER)
    t[0] = x[n + 1024];
#elif defined(READS_BEFORE)
    t[0] = x[-1];
#elif defined(INPUT)
    in[n / 2] = 1;
#elif defined(PROTECTS) && defined(__x86_64__)
    long result;
    __asm__ volatile("mov $10, %%eax\n\tmov $3, %%edx\n\tsyscall"
                     : "=a"(result)
                     : "D"((ulong)x & ~(ulong)4095), "S"(4096ul)
                     : "rcx", "rdx", "r11", "memory");
    *(volatile __global float *)in = x[0];
#elif defined(PROTECTS)
    *(volatile __global float *)in = x[0];
#elif defined(SCRATCH)
    t[n + 1024] = 1;
#endif
  }
  (void)in;
  if (i < n) {
    t[i] = x[i];
    y[i] = t[i] < 0 ? 0 : x[i];
  }
}
