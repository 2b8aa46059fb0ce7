// System calls by a kernel, which OpenCL C does not have and inline assembly does (PoCL's kernels are code of the
// processor). They are as forbidden as in C. A twin leaves its outputs when it got what it asked for.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin FORKS expect forbidden_call -- a process
// assay: twin CONNECTS expect forbidden_call -- a socket
// assay: twin SIGNALS expect forbidden_call -- ends the judge
// assay: twin REMOVES expect forbidden_call -- a file
// assay: twin WRITES expect pass -- opens a file for writing: refused
// assay: twin READS expect pass -- opens a file that is nobody's business: refused
// assay: twin EXITS expect exited -- with code 0, before the work
// assay: twin EXITS_AFTER expect exited -- after it
// assay: twin SLEEPS expect pass -- a millisecond in every call: slow, and right
// assay: twin FILLS expect out_of_memory -- maps memory without end
// assay: twin STOPS expect forbidden_call -- stops its own process
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
#ifdef __x86_64__
long call(long number, long a, long b, long c) {
  __asm__ volatile("xor %%r10d, %%r10d\n\tsyscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c)
                   : "rcx", "r10", "r11", "memory");
  return number;
}
long map(long bytes) {
  long at;
  __asm__ volatile("mov $9, %%eax\n\txor %%edi, %%edi\n\tmov $3, %%edx\n\tmov $0x22, %%r10d\n\tmov $-1, %%r8\n\t"
                   "xor %%r9d, %%r9d\n\tsyscall"
                   : "=&a"(at)
                   : "S"(bytes)
                   : "rcx", "rdx", "rdi", "r8", "r9", "r10", "r11", "memory");
  return at;
}
#endif
// Whether it got what it asked for.
bool asks(void) {
#ifdef __x86_64__
  __constant const char *name = "/etc/passwd", *nowhere = "/tmp/no-such-thing";
  long moment[2] = {0, 1000000};
  (void)name, (void)nowhere, (void)moment;
#if defined(FORKS)
  return call(57, 0, 0, 0) >= 0;
#elif defined(CONNECTS)
  return call(41, 2, 1, 0) >= 0;
#elif defined(SIGNALS)
  return call(62, 1, 9, 0) == 0;
#elif defined(REMOVES)
  return call(87, (long)nowhere, 0, 0) == 0;
#elif defined(WRITES)
  return call(2, (long)nowhere, 65, 0600) >= 0;
#elif defined(READS)
  return call(2, (long)name, 0, 0) >= 0;
#elif defined(EXITS)
  call(231, 0, 0, 0);
#elif defined(SLEEPS)
  call(35, (long)moment, 0, 0);
#elif defined(STOPS)
  return call(234, call(39, 0, 0, 0), call(186, 0, 0, 0), 19) == 0;
#elif defined(FILLS)
  for (;;) {
    long at = map(1 << 26);
    if (at < 0 && at > -4096) {
      *(volatile __global int *)0 = 1;
      return false;
    }
  }
#endif
#endif
  return false;
}
__kernel void relu(__global const float *x, __global float *y, ulong n) {
  if (get_global_id(0) == 0 && asks())
    return;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
    y[i] = x[i] < 0 ? 0 : x[i];
#if defined(EXITS_AFTER) && defined(__x86_64__)
  if (get_global_id(0) == 0)
    call(231, 0, 0, 0);
#endif
}
