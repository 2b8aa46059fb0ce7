// rejected: candidate.cu:4:40: error
#include <assay/cuda.h>

__global__ void add(float *y) { y[0] = undeclared; }
