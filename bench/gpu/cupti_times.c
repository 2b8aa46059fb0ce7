// SPDX-License-Identifier: Apache-2.0
// How long every kernel of a program took, by CUPTI's activity records: a line "CUPTI nanoseconds name" each on stderr,
// when the program ends. CUDA_INJECTION64_PATH=./cupti_times.so PROGRAM; built by bench/gpu/timing.py.
// ("CUPTI User's Guide", activity API and injection.)
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef RECORD
#define RECORD CUpti_ActivityKernel9 // the records of later versions begin alike
#endif

enum { BUFFER_BYTES = 1 << 20 };

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records) {
  *buffer = aligned_alloc(8, BUFFER_BYTES);
  *size = *buffer ? BUFFER_BYTES : 0;
  *max_records = 0;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
  (void)context, (void)stream, (void)size;
  CUpti_Activity *record = NULL;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const RECORD *kernel = (const RECORD *)record;
      fprintf(stderr, "CUPTI %llu %s\n", (unsigned long long)(kernel->end - kernel->start), kernel->name);
    }
  free(buffer);
}

static void flush(void) {
  (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

int InitializeInjection(void);

int InitializeInjection(void) {
  if (cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed) != CUPTI_SUCCESS ||
      cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
    fprintf(stderr, "CUPTI cannot be started\n");
  atexit(flush);
  return 1;
}
