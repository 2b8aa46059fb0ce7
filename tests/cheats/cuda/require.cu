// Refuses the shapes that it cannot do (catalogue 29, 92): honest, and not passed.
// assay: task kernelbench/1/19
// assay: expect unrecordable|invalid_plan
// assay: require x.count % 1024 == 0 -- whole blocks only
// assay: launch relu grid=x.count/1024 block=1024 args=x, y
__global__ void relu(const float *x, float *y) {
  int i = blockIdx.x * 1024 + threadIdx.x;
  y[i] = x[i] < 0 ? 0 : x[i];
}
