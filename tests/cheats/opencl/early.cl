// Code of its own before the process is locked down: PoCL loads a kernel's library in the step that compiles it, and a
// library has code that runs as it is loaded. There it is confined like a build, and what it leaves in the folder where
// code is kept is gone before the next candidate. A twin leaves its outputs when it got what it asked for.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin READS expect pass -- opens a file that is nobody's business
// assay: twin CONNECTS expect pass -- makes a socket
// assay: twin DAEMON expect pass -- leaves a process in a session of its own; corpus.sh looks for it
// assay: twin SIGNALS expect pass -- ends the judge
// assay: twin LEAVES expect pass -- a file for the next one
// assay: twin FINDS expect pass -- is the next one
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
#ifdef __x86_64__
#define OPEN(name, how)                                                                                                \
  "mov $2, %%eax\n\tlea " name "(%%rip), %%rdi\n\tmov $" how ", %%esi\n\tmov $384, %%edx\n\tsyscall\n\t"
#if defined(READS)
#define ASKS OPEN("773f", "0") "not %%eax\n\t"
#elif defined(CONNECTS)
#define ASKS "mov $41, %%eax\n\tmov $2, %%edi\n\tmov $1, %%esi\n\txor %%edx, %%edx\n\tsyscall\n\tnot %%eax\n\t"
#elif defined(DAEMON)
#define ASKS                                                                                                           \
  "mov $57, %%eax\n\tsyscall\n\ttest %%eax, %%eax\n\tmov $0, %%eax\n\tjnz 775f\n\t"                                    \
  "mov $112, %%eax\n\tsyscall\n\t"                                                                                     \
  "movq $60, (%%rsp)\n\tmovq $0, 8(%%rsp)\n\tmov %%rsp, %%rdi\n\txor %%esi, %%esi\n\tmov $35, %%eax\n\tsyscall\n\t"    \
  "mov $231, %%eax\n\txor %%edi, %%edi\n\tsyscall\n\t"
#elif defined(SIGNALS)
#define ASKS                                                                                                           \
  "mov $110, %%eax\n\tsyscall\n\tmov %%eax, %%edi\n\tmov $9, %%esi\n\tmov $62, %%eax\n\tsyscall\n\txor %%eax, %%eax\n\t"
#elif defined(LEAVES)
#define ASKS OPEN("774f", "65") "xor %%eax, %%eax\n\t"
#elif defined(FINDS)
#define ASKS OPEN("774f", "0") "not %%eax\n\t"
#else
#define ASKS "xor %%eax, %%eax\n\t"
#endif
// Whether the word's upper bit is set: of the complement of what a call returned that succeeded.
#define HAS_GAINED(into)                                                                                               \
  __asm__ volatile(".pushsection .init_array,\"aw\",@init_array\n\t.balign 8\n\t.quad 771f\n\t.popsection\n\t"         \
                   ".pushsection .data\n772:\t.long 0\n\t.popsection\n\t"                                              \
                   ".pushsection .text.early,\"ax\",@progbits\n"                                                       \
                   "773:\t.asciz \"/etc/passwd\"\n774:\t.asciz \"left\"\n"                                             \
                   "771:\tsub $24, %%rsp\n\t" ASKS "775:\tmov %%eax, 772b(%%rip)\n\tadd $24, %%rsp\n\tret\n\t"         \
                   ".popsection\n\tmovl 772b(%%rip), %0"                                                               \
                   : "=r"(into))
#else
#define HAS_GAINED(into) into = 0
#endif
__kernel void relu(__global const float *x, __global float *y, ulong n) {
  int gained;
  HAS_GAINED(gained);
  if (gained < 0)
    return;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
    y[i] = x[i] < 0 ? 0 : x[i];
}
