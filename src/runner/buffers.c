// SPDX-License-Identifier: Apache-2.0
#include "runner/buffers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "assay/candidate.h"
#include "base/cache_flush.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static size_t round_up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

enum assay_status buffer_create(const struct tensor_type *t, bool input, struct buffer *out, struct assay_error *err) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  struct buffer b = {.fd = -1, .input = input};
  b.data_bytes = tensor_type_bytes(t);
  size_t aligned = round_up(b.data_bytes, ASSAY_ALIGNMENT);
  b.map_bytes = round_up(aligned + ASSAY_ALIGNMENT, page); // at least one line of band in front
  b.offset = b.map_bytes - aligned;
  b.fd = memfd_create("assay", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (b.fd < 0 || ftruncate(b.fd, (off_t)b.map_bytes) != 0)
    goto failed;
  void *map = mmap(NULL, b.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, b.fd, 0);
  if (map == MAP_FAILED)
    goto failed;
  b.map = map;
  if (fcntl(b.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | (input ? F_SEAL_FUTURE_WRITE : 0) | F_SEAL_SEAL) != 0)
    goto failed;
  *out = b;
  return ASSAY_OK;
failed:;
  enum assay_status status =
      error_set(err, errno == ENOMEM || errno == ENOSPC ? ASSAY_ERR_NOMEM : ASSAY_ERR_ENVIRONMENT,
                "cannot make a shared buffer of %zu bytes: %s", b.map_bytes, strerror(errno));
  buffer_destroy(&b);
  return status;
}

void buffer_destroy(struct buffer *b) {
  if (b->map)
    munmap(b->map, b->map_bytes);
  if (b->fd >= 0)
    close(b->fd);
  *b = (struct buffer){.fd = -1};
}

// The pattern runs over the whole mapping in words of four bytes counted from the data's start, so that elements of
// any size hold whole patterns.
static void fill(unsigned char *from, size_t n, uint32_t pattern) {
  size_t i = 0;
  for (; i + sizeof pattern <= n; i += sizeof pattern)
    memcpy(from + i, &pattern, sizeof pattern);
  memcpy(from + i, &pattern, n - i);
}

void buffer_poison(struct buffer *b, uint32_t pattern) {
  size_t end = b->offset + b->data_bytes, tail = round_up(b->data_bytes, sizeof pattern) - b->data_bytes;
  fill(b->map, b->offset, pattern);
  if (!b->input)
    fill(b->map + b->offset, b->data_bytes, pattern);
  memset(b->map + end, (int)(pattern & 0xff), tail < b->map_bytes - end ? tail : b->map_bytes - end);
  if (end + tail < b->map_bytes)
    fill(b->map + end + tail, b->map_bytes - end - tail, pattern);
}

bool buffer_bands_intact(const struct buffer *b, uint32_t pattern, int64_t *distance) {
  size_t end = b->offset + b->data_bytes, tail = round_up(b->data_bytes, sizeof pattern) - b->data_bytes;
  unsigned char bytes[sizeof pattern];
  memcpy(bytes, &pattern, sizeof pattern);
  for (size_t i = end; i < b->map_bytes; i++) {
    unsigned char want = i < end + tail ? (unsigned char)(pattern & 0xff) : bytes[(i - end - tail) % sizeof pattern];
    if (b->map[i] != want) {
      *distance = (int64_t)(i - end) + 1;
      return false;
    }
  }
  for (size_t i = b->offset; i-- > 0;)
    if (b->map[i] != bytes[i % sizeof pattern]) {
      *distance = (int64_t)i - (int64_t)b->offset;
      return false;
    }
  return true;
}

void buffer_flush(const struct buffer *b) {
  cache_flush(b->map + b->offset, b->data_bytes);
}

void buffer_touch(const struct buffer *b) {
  enum { LINE = 64 };
  const volatile unsigned char *data = b->map + b->offset;
  for (size_t k = 0; k < b->data_bytes; k += LINE)
    (void)data[k];
}
