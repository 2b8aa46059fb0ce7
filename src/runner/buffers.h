// SPDX-License-Identifier: Apache-2.0
// The judge's side of a candidate's buffers.
#ifndef RUNNER_BUFFERS_H
#define RUNNER_BUFFERS_H

#include "runner/protocol.h"
#include "runner/runner.h"

struct buffer {
  int fd;             // memfd; -1 when there is none
  unsigned char *map; // all of it, writable
  size_t map_bytes, offset, data_bytes;
  bool input;
};

// A memfd whose data ends, up to alignment, at the end of its last page. An input is sealed so that nobody but this
// mapping can ever write it; the caller may move its data to offset 0, before which nothing is mapped.
enum assay_status buffer_create(const struct tensor_type *t, bool input, struct buffer *out, struct assay_error *err);
void buffer_destroy(struct buffer *b);

// Fills the bands before and after the data, and of outputs the data too, with the pattern.
void buffer_poison(struct buffer *b, uint32_t pattern);

// Whether the bands still hold the pattern. *distance: of the damaged byte nearest to the data, negative before it,
// positive after it.
bool buffer_bands_intact(const struct buffer *b, uint32_t pattern, int64_t *distance);

// Removes the data from every cache of the machine.
void buffer_flush(const struct buffer *b);

// Reads the data, so that what fits is in the caches that this processor shares with others.
void buffer_touch(const struct buffer *b);

#endif
