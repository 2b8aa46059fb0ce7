// SPDX-License-Identifier: Apache-2.0
// Memory that judge and runner both hold: the judge makes and fills it, the runner maps it by the descriptor.
#ifndef DEVICE_SHARED_H
#define DEVICE_SHARED_H

#include "compute/compute.h"

// What every device guarantees for the start of a buffer, and what the judge's layout keeps.
enum { SHARED_ALIGNMENT = 256 };

struct shared_memory {
  int fd; // -1: none
  // Bytes of data, at offset, which ends (rounded to SHARED_ALIGNMENT) at map_bytes. The caller of shared_create or
  // shared_resize may move it to offset 0; then nobody can touch what lies before it.
  size_t map_bytes, offset, bytes;
  unsigned char *host; // the judge's mapping when it is ordinary memory (opencl)
  device_ptr device;   // the same when it is the GPU's (cuda): of the mapping, not of the data
  struct compute *compute;
  uint64_t id; // given by whoever keeps it, see struct device_buffer; 0: none
};

// The inputs and outputs of a task, in order.
struct shared_buffers {
  int n_in, n_out;
  const struct shared_memory *in, *out;
};

// At least SHARED_ALIGNMENT bytes of band precede the data. compute NULL: a memfd (sealed in size). ASSAY_ERR_NOMEM
// names the size.
enum assay_status shared_create(struct compute *compute, size_t bytes, struct shared_memory *out,
                                struct assay_error *err);
void shared_release(struct shared_memory *m);

// Reuses the memory for `bytes` of data. Returns false if new memory for them would have a mapping of another size.
bool shared_resize(struct shared_memory *m, size_t bytes);

// Fills the data alone with the pattern.
enum assay_status shared_fill(struct shared_memory *m, uint32_t pattern, struct assay_error *err);

// Fills the bands, and with `data` the data too, with the 32-bit pattern (aligned to the data's start).
enum assay_status shared_poison(struct shared_memory *m, uint32_t pattern, bool data, struct assay_error *err);

// Whether the bands still hold the pattern; *distance: of the damaged byte nearest to the data, negative before it.
enum assay_status shared_check_bands(struct shared_memory *m, uint32_t pattern, bool *intact, int64_t *distance,
                                     struct assay_error *err);

// The same for several, which were poisoned alike: one check for all of them. *damaged: the first damaged one, -1:
// none.
enum assay_status shared_check_all(struct shared_memory *m, int n, uint32_t pattern, int *damaged, int64_t *distance,
                                   struct assay_error *err);

// Host copies of the data.
enum assay_status shared_read(struct shared_memory *m, void *to, struct assay_error *err);
enum assay_status shared_write(struct shared_memory *m, const void *from, struct assay_error *err);

#endif
