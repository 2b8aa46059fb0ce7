// Gated linear unit; a tuner chooses the group's size and how many elements a work item does.
// assay: task fusedops/swiglu/fp32_swiglu
// assay: tune GROUP 64,16,128
// assay: tune EACH 1,4
// assay: constraint GROUP * EACH <= 256
// assay: launch swiglu grid=ceil_div(y.count, GROUP * EACH) block=GROUP args=g, u, y, y.count
#ifndef GROUP
#define GROUP 64
#define EACH 1
#endif

kernel void swiglu(global const float *g, global const float *u, global float *y, long count) {
  long first = (long)get_group_id(0) * GROUP * EACH + get_local_id(0);
  for (int e = 0; e < EACH; e++) {
    long i = first + e * GROUP;
    if (i < count)
      y[i] = g[i] / (1 + exp(-g[i])) * u[i];
  }
}
