// What the test of kernels must see: products that the compiler makes one after another, as they add to registers that
// are touched in between.
// assay: task kernelbench/1/19
// assay: launch serialised grid=1 block=128 args=x, y
__global__ void serialised(const unsigned *x, float *y) {
  float d[4] = {};
  unsigned long long tile = 1ull << 62 | x[0];
  for (int i = 0; i < 4; i++) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(tile), "l"(tile));
    d[0] += 1;
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
