// SPDX-License-Identifier: Apache-2.0
// What cannot be recorded, each refused under its own name, instead of with a loader's error.
#include <string.h>

#include "toolchain/recorder/recorder.h"

// Why not, and what instead, by how the name begins: the first that fits.
static const struct {
  const char *beginning, *text;
} reasons[] = {
    {"cudaGraph", "a plan is a graph already: launch the kernels directly, and they are replayed as one"},
    {"cudaStreamBeginCapture", "a plan is a graph already: launch the kernels directly, without capturing"},
    {"cudaStreamEndCapture", "a plan is a graph already: launch the kernels directly, without capturing"},
    {"cudaMallocManaged", "host code would see what kernels write; use cudaMalloc and initialise in a kernel"},
    {"cudaMemPrefetch", "there is no managed memory; use cudaMalloc"},
    {"cudaMemAdvise", "there is no managed memory; use cudaMalloc"},
    {"cudaMemcpyFromSymbol", "the host has no data to decide on; make the decision in a kernel"},
    {"cudaMemcpyPeer", "there is one device"},
    {"cudaMemcpy", "use cudaMemcpyAsync or cudaMemcpy2DAsync within the device, or copy in a kernel"},
    {"cudaMemset3D", "use cudaMemsetAsync or cudaMemset2DAsync, or set the memory in a kernel"},
    {"cudaMalloc", "arrays and pitched volumes are for textures; use cudaMalloc and index in the kernel"},
    {"cudaMemPool", "there is one memory pool, which belongs to the runner; use cudaMallocAsync"},
    {"cudaLaunchHostFunc", "no host code is left when the plan runs; do the work in a kernel"},
    {"cudaStreamAddCallback", "no host code is left when the plan runs; do the work in a kernel"},
    {"cudaHostRegister", "pinning changes nothing here; copy from the memory as it is"},
    {"cudaHostGetDevicePointer", "kernels cannot read the host's memory; copy it with cudaMemcpyAsync"},
    {"cudaLibrary", "kernels come from this file; write them there"},
    {"cudaOccupancyMax", "clusters of 8 blocks are always possible; choose the cluster's size by the shape"},
    {"cudaGetDeviceProperties_v2", "its structure is CUDA 12's; ask cudaDeviceGetAttribute"},
    {"cudaDeviceReset", "the device is not the candidate's; leave it out"},
    {"cudaDeviceSetLimit", "the device's limits belong to the runner; take memory from cudaMalloc"},
    {"cudaIpc", "there is no other process"},
    {"cudaGetExportTable", "it is internal to NVIDIA's libraries; write the kernel in this file"},
    {"cuGetProcAddress", "use the runtime's functions (cuda...)"},
    {"__cuda", "it is not known to the recorder; compile with the toolkit that the judge uses"},
    {"cuda", "it is not among what a launch plan can hold: launches, memsets, copies, allocations, streams, events"},
    {"cu", "it belongs to the driver's interface; use the runtime's (cuda...) instead"},
};

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}

static _Noreturn void refuse_call(const char *name) {
  if (ends_with(name, "_ptsz") || ends_with(name, "_ptds"))
    refuse("%s cannot be recorded: it belongs to the per-thread default stream (CUDA_API_PER_THREAD_DEFAULT_STREAM); "
           "leave that out and name the entry's stream instead",
           name);
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (!strncmp(name, reasons[i].beginning, strlen(reasons[i].beginning)))
      refuse("%s cannot be recorded: %s", name, reasons[i].text);
  refuse("%s cannot be recorded", name);
}

#define X(name)                                                                                                        \
  EXPORT(int, name, void) {                                                                                            \
    refuse_call(#name);                                                                                                \
  }
#include "toolchain/recorder/refused.def"
