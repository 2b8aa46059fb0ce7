// SPDX-License-Identifier: Apache-2.0
// Tensor maps: what the driver would encode is noted, and a token takes its place until the plan runs.
#include <stdio.h>
#include <string.h>

#include "toolchain/recorder/recorder.h"

EXPORT(int, cuTensorMapEncodeTiled, void *map, int data_type, uint32_t rank, void *address, const uint64_t *dims,
       const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle,
       int l2_promotion, int oob_fill) {
  if (!map || rank < 1 || rank > 5 || !dims || (rank > 1 && !strides) || !box || !element_strides)
    return CUDA_INVALID_VALUE;
  if (!is_device_address(address))
    refuse("cuTensorMapEncodeTiled: %p is not an address of the device", address);
  struct record_tensor_map e = {.address = (uint64_t)(uintptr_t)address,
                                .data_type = (uint32_t)data_type,
                                .rank = rank,
                                .interleave = (uint32_t)interleave,
                                .swizzle = (uint32_t)swizzle,
                                .l2_promotion = (uint32_t)l2_promotion,
                                .oob_fill = (uint32_t)oob_fill};
  memcpy(e.dims, dims, rank * sizeof *dims);
  if (rank > 1)
    memcpy(e.strides, strides, (rank - 1) * sizeof *strides);
  memcpy(e.box, box, rank * sizeof *box);
  memcpy(e.element_strides, element_strides, rank * sizeof *element_strides);
  LOG(RECORD_TENSOR_MAP, e);
  char token[RECORD_TOKEN_BYTES] = {0};
  snprintf(token, sizeof token, "%s%u", RECORD_TOKEN, recorder.n_maps_logged++);
  memcpy(map, token, sizeof token);
  return CUDA_OK;
}
_Static_assert(sizeof RECORD_TOKEN + 11 <= RECORD_TOKEN_BYTES, "the token has room for its number");

EXPORT(int, cuTensorMapReplaceAddress, void *map, void *address) {
  (void)map, (void)address;
  refuse("cuTensorMapReplaceAddress cannot be recorded: call cuTensorMapEncodeTiled for each address instead");
}

EXPORT(int, cuTensorMapEncodeIm2col, void *map) {
  (void)map;
  refuse("cuTensorMapEncodeIm2col cannot be recorded: a plan has tiled tensor maps only; use cuTensorMapEncodeTiled");
}

EXPORT(int, cuTensorMapEncodeIm2colWide, void *map) {
  return cuTensorMapEncodeIm2col(map);
}

// cudaGetDriverEntryPointByVersion gives out the driver's functions; there is one that can be recorded.
static int entry_point(const char *call, const char *symbol, void **function, int *status) {
  union {
    int (*function)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,
                    const uint32_t *, int, int, int, int);
    void *pointer;
  } tiled = {cuTensorMapEncodeTiled};
  union {
    int (*function)(void *);
    void *pointer;
  } im2col = {cuTensorMapEncodeIm2col};
  bool is_tiled = !strcmp(symbol, "cuTensorMapEncodeTiled");
  if (!is_tiled && strcmp(symbol, "cuTensorMapEncodeIm2col") != 0)
    refuse("%s(\"%s\") cannot be recorded: of the driver's functions cuTensorMapEncodeTiled can; use the runtime's "
           "(cuda...) instead",
           call, symbol);
  *function = is_tiled ? tiled.pointer : im2col.pointer;
  if (status)
    *status = 0;
  return CUDA_OK;
}

EXPORT(int, cudaGetDriverEntryPoint, const char *symbol, void **function, unsigned long long flags, int *status) {
  (void)flags;
  return entry_point("cudaGetDriverEntryPoint", symbol, function, status);
}

EXPORT(int, cudaGetDriverEntryPointByVersion, const char *symbol, void **function, unsigned version,
       unsigned long long flags, int *status) {
  (void)version, (void)flags;
  return entry_point("cudaGetDriverEntryPointByVersion", symbol, function, status);
}
