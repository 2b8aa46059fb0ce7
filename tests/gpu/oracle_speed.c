// gpu_oracle_speed [GPU]: what answers at the published shapes cost on a GPU, in time and memory. Not a test.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "onnx/onnx.h"
#include "oracle/cuda/gpu.h"

enum { REPLICAS = 8, BLOCK_BYTES = 64 << 20 };

static const struct {
  const char *name, *text;
} graphs[] = {
    {"small add", "(float[17,33] a, float[33] b) => (float[17,33] c) { c = Add(a, b) }"},
    {"relu 4096 x 393216", "(float[4096,393216] a) => (float[4096,393216] b) { b = Relu(a) }"},
    {"gelu 4096 x 393216", "(float[4096,393216] a) => (float[4096,393216] b) { b = Gelu(a) }"},
    {"softmax 4096 x 393216", "(float[4096,393216] a) => (float[4096,393216] b) { b = Softmax(a) }"},
    {"matmul 4096^3", "(float[4096,4096] a, float[4096,4096] b) => (float[4096,4096] c) { c = MatMul(a, b) }"},
    {"conv 16x64x512x1024", "(float[16,64,512,1024] a, float[128,64,3,3] w) => (float[16,128,510,1022] b)"
                            " { b = Conv(a, w) }"},
    {"sum 128x4096x4095 axis 1", "(float[128,4096,4095] a) => (float[128,1,4095] b)"
                                 " { k = Constant<value = int64[1] {1}>() b = ReduceSum(a, k) }"},
    {"cumsum 32768 x 32768", "(float[32768,32768] a) => (float[32768,32768] b)"
                             " { k = Constant<value_int = 1>() b = CumSum(a, k) }"},
    {"layernorm 16x64x256x256", "(float[16,64,256,256] a, float[64,256,256] s, float[64,256,256] t) =>"
                                " (float[16,64,256,256] b) { b = LayerNormalization<axis = 1>(a, s, t) }"},
};

// An input of pseudo-random floats in (0, 1): one block from the host, repeated on the device.
static enum assay_status make_input(struct compute *c, const struct value *v, const float *block, struct gpu_array *out,
                                    struct assay_error *err) {
  struct gpu_array a = {.dtype = v->dtype, .storage = GPU_F32, .owned = true, .shape = {.rank = v->rank}};
  for (int d = 0; d < v->rank; d++)
    a.shape.dims[d] = v->dims[d].value;
  size_t bytes = (size_t)shape_count(&a.shape) * sizeof(float), first = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
  enum assay_status status = compute_alloc(c, bytes, &a.data, err);
  if (!status)
    status = compute_upload(c, a.data, block, first, err);
  for (size_t at = first; at < bytes && !status; at += first)
    status = compute_copy(c, a.data + at, a.data, bytes - at < first ? bytes - at : first, err);
  *out = a;
  return status;
}

static enum assay_status run(struct compute *c, const struct graph *g, const float *block, const char *name,
                             struct assay_error *err) {
  struct gpu_array in[4] = {0};
  struct gpu_answer answer;
  struct compute_memory m;
  enum assay_status status = ASSAY_OK;
  const struct arith fp32 = {
      .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1, .key = 1};
  double ms[3] = {0};
  for (int i = 0; i < g->n_inputs && !status; i++)
    status = make_input(c, &g->values[g->inputs[i]], block, &in[i], err);
  for (int round = 0; round < 2 && !status; round++) { // the first compiles and allocates
    int64_t start = clock_monotonic_ns();
    status = gpu_answer_make(c, g, in, &fp32, REPLICAS, &answer, err);
    ms[round] = (double)(clock_monotonic_ns() - start) / 1e6;
    if (!status)
      gpu_answer_release(c, &answer);
  }
  struct gpu_array y[4];
  struct gpu_request r = {.compute = c, .graph = g, .inputs = in};
  r.arith = arith_exact();
  int64_t start = clock_monotonic_ns();
  if (!status)
    status = gpu_oracle_eval(&r, y, err);
  if (!status)
    status = compute_sync(c, err);
  ms[2] = (double)(clock_monotonic_ns() - start) / 1e6;
  for (int i = 0; i < g->n_outputs && !status; i++)
    gpu_array_release(c, &y[i]);
  compute_memory(c, &m);
  if (!status)
    printf("%-26s answer %9.2f ms, again %9.2f ms; the truth alone %9.2f ms; peak so far %.1f GB\n", name, ms[0], ms[1],
           ms[2], (double)m.peak / 1e9);
  for (int i = 0; i < g->n_inputs; i++)
    gpu_array_release(c, &in[i]);
  compute_trim(c);
  return status;
}

int main(int argc, char **argv) {
  struct assay_error err = {0};
  struct compute *c = NULL;
  float *block = malloc(BLOCK_BYTES);
  if (!block || compute_open_cuda(
                    &(struct compute_options){.device = argc > 1 ? atoi(argv[1]) : 0, .nvrtc = getenv("ASSAY_NVRTC")},
                    &c, &err) != ASSAY_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  for (int64_t i = 0; i < BLOCK_BYTES / 4; i++)
    block[i] = (float)rng_unit(rng_mix64((uint64_t)i));
  int failed = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    struct model m;
    enum assay_status status = onnx_parse_graph(graphs[i].text, strlen(graphs[i].text), graphs[i].name, &m, &err);
    if (!status) {
      status = run(c, &m.flat, block, graphs[i].name, &err);
      model_release(&m);
    }
    if (status)
      printf("%-26s %s\n", graphs[i].name, err.message), failed++;
  }
  compute_close(c);
  free(block);
  return failed != 0;
}
