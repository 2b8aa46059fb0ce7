// Sources that want something of their compiler. It is run twice: to check the source, and for the device.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin SHADOW expect build_failed -- includes a file that is nobody's business
// assay: twin ENVIRON expect build_failed -- includes the compiler's own environment
// assay: twin EMBEDS expect pass|build_failed|crashed -- has the assembler read one; leaves its outputs if it did
// assay: twin ENDLESS expect build_failed|build_limit|build_timeout -- includes itself without end
// assay: twin HUGE expect build_limit|build_failed -- a constant array of 8 GiB
// assay: twin CONSTRUCTOR expect crashed|build_failed -- a constructor, by attribute
// assay: twin IMAGE expect build_failed -- takes a buffer for an image
// assay: twin IMAGE_BY_NAME expect build_failed -- the same, by a name of its own
// assay: twin SAMPLER expect build_failed -- takes a number for a sampler
// assay: twin SAMPLER_BY_NAME expect build_failed -- the same, by a name of its own
// assay: twin WARNS expect pass -- an error message in a warning, and a verdict
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
#if defined(SHADOW)
#include "/etc/shadow"
#elif defined(ENVIRON)
#include "/proc/self/environ"
#elif defined(ENDLESS)
#include __FILE__
#elif defined(CONSTRUCTOR)
__attribute__((constructor)) void early(void);
__attribute__((constructor)) void early(void) {
  *(volatile __global int *)0 = 1;
}
#elif defined(WARNS)
#warning error: relu.cl pass 0.00 us
#elif defined(HUGE)
__constant int huge[1u << 31] = {1, [(1u << 31) - 1] = 2};
#endif
#if defined(IMAGE) || defined(IMAGE_BY_NAME)
#ifdef IMAGE_BY_NAME
typedef image2d_t picture;
#else
#define picture image2d_t
#endif
__kernel void relu(read_only picture x, __global float *y, ulong n) {
  size_t i = get_global_id(0);
  if (i < n)
    y[i] = read_imagef(x, (int2)((int)i, 0)).x;
}
#elif defined(SAMPLER) || defined(SAMPLER_BY_NAME)
#ifdef SAMPLER_BY_NAME
typedef sampler_t filter;
#else
#define filter sampler_t
#endif
__kernel void relu(__global const float *x, __global float *y, filter n) {
  y[get_global_id(0)] = x[get_global_id(0)];
}
#else
__kernel void relu(__global const float *x, __global float *y, ulong n) {
  ulong i = get_global_id(0);
#if defined(EMBEDS) && defined(__x86_64__)
  uint first;
  __asm__ volatile(".pushsection .data\n772:\t.incbin \"/etc/passwd\"\n\t.long 0\n\t.popsection\n\tmovl 772b(%%rip), %0"
                   : "=r"(first));
  if (first != 0)
    return;
#elif defined(HUGE)
  n -= huge[n] > 5;
#endif
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
}
#endif
