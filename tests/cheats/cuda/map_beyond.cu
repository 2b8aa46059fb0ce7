// A descriptor for the copy engine that describes more than its buffer (catalogue 11, 25).
// assay: task kernelbench/1/19
// assay: expect unrecordable|invalid_plan
// assay: tensor_map tiles of=x type=float dims=x.count,2 box=64,1
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=tiles, x, y, x.count
struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};
__global__ void relu(const __grid_constant__ CUtensorMap tiles, const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
}
