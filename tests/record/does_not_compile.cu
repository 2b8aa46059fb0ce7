// rejected: candidate.cu(
#include <assay/cuda.h>

__global__ void add(float *y) { y[0] = undeclared; }
