// made: 1 step
// plan: copy<<<16, 64>>>(map(x, 1000, box 64), y, 1000)
// A tensor map (TMA), encoded through the driver's entry point.
#include <assay/cuda.h>
#include <cuda.h>

__global__ void copy(const __grid_constant__ CUtensorMap map, float *y, int n) {
  __shared__ alignas(128) float tile[64];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned s = (unsigned)__cvta_generic_to_shared(tile), b = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b));
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" ::"r"(b));
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(s),
                 "l"(&map), "r"(blockIdx.x * 64), "r"(b)
                 : "memory");
  }
  __syncthreads();
  asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }" ::"r"(b) : "memory");
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n)
    y[i] = tile[threadIdx.x];
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  int n = (int)assay_count(&args->inputs[0]);
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  CUtensorMap map;
  cuuint64_t dims[1] = {(cuuint64_t)n}, strides[1] = {0};
  cuuint32_t box[1] = {64}, steps[1] = {1};
  ((decltype(&cuTensorMapEncodeTiled))function)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, args->inputs[0].data, dims,
                                                strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                                CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  copy<<<(n + 63) / 64, 64, 0, stream>>>(map, (float *)args->outputs[0].data, n);
}
