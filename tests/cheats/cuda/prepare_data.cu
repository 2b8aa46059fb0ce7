// Asks for data before they are there (catalogue 53): the lines above `prepare` may name weights and scratch only.
// assay: task kernelbench/1/87
// assay: expect unrecordable|invalid_plan
// assay: scratch kept float[N * CO * H * W]
// assay: launch conv grid=ceil_div(H * W, 64),CO,N block=64 args=x, w, kept, CI, H * W
// assay: prepare
// assay: copy y kept count=N * CO * H * W
__global__ void conv(const float *x, const float *w, float *y, long long ci, long long area) {
  long long p = blockIdx.x * 64ll + threadIdx.x;
  float s = 0;
  if (p >= area)
    return;
  for (long long c = 0; c < ci; c++)
    s += x[(blockIdx.z * ci + c) * area + p] * w[blockIdx.y * ci + c];
  y[(blockIdx.z * gridDim.y + blockIdx.y) * area + p] = s;
}
