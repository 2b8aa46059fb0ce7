// SPDX-License-Identifier: Apache-2.0
#include "device/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "device/shared_args.h"
#include "device/shared_cuda.h"

enum { WORD = sizeof(uint32_t) };

static size_t round_up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

// The data ends where the mapping ends, so that the first line after it is one that nobody can touch.
static void lay_out(struct shared_memory *m, size_t bytes, size_t granularity) {
  size_t aligned = round_up(bytes, SHARED_ALIGNMENT);
  m->bytes = bytes;
  m->map_bytes = round_up(aligned + SHARED_ALIGNMENT, granularity); // at least one line of band in front
  m->offset = m->map_bytes - aligned;
}

static enum assay_status host_map(struct shared_memory *m, struct assay_error *err) {
  m->fd = memfd_create("assay", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (m->fd < 0 || ftruncate(m->fd, (off_t)m->map_bytes) != 0)
    goto failed;
  void *map = mmap(NULL, m->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, m->fd, 0);
  if (map == MAP_FAILED)
    goto failed;
  m->host = map;
  // Otherwise a process with the descriptor could shrink the file and kill the judge with a bus error.
  if (fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return ASSAY_OK;
failed:;
  bool memory = errno == ENOMEM || errno == ENOSPC || errno == EFBIG || errno == EINVAL;
  return error_set(err, memory ? ASSAY_ERR_NOMEM : ASSAY_ERR_ENVIRONMENT,
                   "cannot make a shared buffer of %zu bytes: %s", m->map_bytes, strerror(errno));
}

enum assay_status shared_create(struct compute *compute, size_t bytes, struct shared_memory *out,
                                struct assay_error *err) {
  struct shared_memory m = {.fd = -1, .compute = compute && compute_is_cuda(compute) ? compute : NULL};
  if (bytes > SIZE_MAX / 4)
    return error_set(err, ASSAY_ERR_NOMEM, "cannot make a shared buffer of %zu bytes: no machine has that much", bytes);
  enum assay_status status;
  if (m.compute) {
    size_t granularity;
    status = shared_cuda_granularity(m.compute, &granularity, err);
    if (status)
      return status;
    lay_out(&m, bytes, granularity);
    int fd = -1;
    status = shared_cuda_create(m.compute, m.map_bytes, &fd, err);
    m.fd = status ? -1 : fd;
    if (!status)
      status = compute_map(m.compute, m.fd, m.map_bytes, &m.device, err);
  } else {
    lay_out(&m, bytes, (size_t)sysconf(_SC_PAGESIZE));
    status = host_map(&m, err);
  }
  if (status)
    shared_release(&m);
  else
    *out = m;
  return status;
}

void shared_release(struct shared_memory *m) {
  if (m->host)
    munmap(m->host, m->map_bytes);
  if (m->device)
    compute_unmap(m->compute, m->device, m->map_bytes);
  if (m->fd >= 0)
    close(m->fd);
  *m = (struct shared_memory){.fd = -1};
}

bool shared_resize(struct shared_memory *m, size_t bytes) {
  struct shared_memory wanted = *m;
  size_t granularity = (size_t)sysconf(_SC_PAGESIZE);
  struct assay_error ignored = {0};
  if (bytes > SIZE_MAX / 4 || (m->compute && shared_cuda_granularity(m->compute, &granularity, &ignored) != ASSAY_OK))
    return false;
  lay_out(&wanted, bytes, granularity);
  if (wanted.map_bytes != m->map_bytes)
    return false;
  *m = wanted;
  return true;
}

// The pattern runs over the whole mapping in words counted from the data's start (which is a multiple of a word), so
// that elements of any size hold whole patterns. `at` is where in the mapping the bytes lie.
static void fill(unsigned char *bytes, size_t at, size_t n, uint32_t pattern) {
  size_t i = 0;
  for (; i < n && (at + i) % WORD; i++)
    bytes[i] = ((const unsigned char *)&pattern)[(at + i) % WORD];
  for (; i + WORD <= n; i += WORD)
    memcpy(bytes + i, &pattern, WORD);
  memcpy(bytes + i, &pattern, n - i);
}

// Index of the first byte that does not hold the pattern, n if there is none.
static size_t first_damaged(const unsigned char *bytes, size_t at, size_t n, uint32_t pattern) {
  for (size_t i = 0; i < n; i++)
    if (bytes[i] != ((const unsigned char *)&pattern)[(at + i) % WORD])
      return i;
  return n;
}

// One more than the index of the last such byte of the band in front, 0 if there is none. n is a multiple of the
// alignment: the band is looked at in whole lines first, since it may be as large as the unit of mappings.
static size_t last_damaged(const unsigned char *bytes, size_t n, uint32_t pattern) {
  unsigned char line[SHARED_ALIGNMENT];
  fill(line, 0, sizeof line, pattern);
  while (n && memcmp(bytes + n - sizeof line, line, sizeof line) == 0)
    n -= sizeof line;
  while (n && bytes[n - 1] == line[(n - 1) % sizeof line])
    n--;
  return n;
}

static size_t band_behind(const struct shared_memory *m) {
  return m->map_bytes - m->offset - m->bytes;
}

enum assay_status shared_poison(struct shared_memory *m, uint32_t pattern, bool data, struct assay_error *err) {
  size_t end = m->offset + m->bytes, behind = band_behind(m);
  if (m->host) {
    fill(m->host, 0, data ? m->map_bytes : m->offset, pattern);
    if (!data)
      fill(m->host + end, end, behind, pattern);
    return ASSAY_OK;
  }
  enum assay_status status =
      compute_set32(m->compute, m->device, pattern, (data ? m->map_bytes : m->offset) / WORD, err);
  if (status || data || behind == 0)
    return status;
  // The band after the data need not begin at a word.
  unsigned char bytes[SHARED_ALIGNMENT];
  fill(bytes, end, behind, pattern);
  return compute_upload(m->compute, m->device + end, bytes, behind, err);
}

enum assay_status shared_fill(struct shared_memory *m, uint32_t pattern, struct assay_error *err) {
  if (m->host) {
    fill(m->host + m->offset, m->offset, m->bytes, pattern);
    return ASSAY_OK;
  }
  size_t words = m->bytes / WORD, rest = m->bytes % WORD;
  device_ptr data = m->device + m->offset;
  enum assay_status status = words ? compute_set32(m->compute, data, pattern, words, err) : ASSAY_OK;
  if (!status && rest)
    status = compute_upload(m->compute, data + words * WORD, &pattern, rest, err);
  return status;
}

static void look(const struct shared_memory *m, const unsigned char *front, const unsigned char *back, uint32_t pattern,
                 bool *intact, int64_t *distance) {
  size_t behind = band_behind(m);
  size_t after = first_damaged(back, m->offset + m->bytes, behind, pattern);
  size_t before = m->offset - last_damaged(front, m->offset, pattern) + 1; // distance of the nearest in front
  *intact = after == behind && before > m->offset;
  if (*intact)
    *distance = 0;
  else if (after < behind && after + 1 <= before)
    *distance = (int64_t)after + 1;
  else
    *distance = -(int64_t)before;
}

enum assay_status shared_check_bands(struct shared_memory *m, uint32_t pattern, bool *intact, int64_t *distance,
                                     struct assay_error *err) {
  size_t end = m->offset + m->bytes;
  if (m->host) {
    look(m, m->host, m->host + end, pattern, intact, distance);
    return ASSAY_OK;
  }
  unsigned char *front = base_alloc(m->offset), back[SHARED_ALIGNMENT];
  if (!front)
    return error_nomem(err, "the copy of a buffer's bands");
  enum assay_status status = compute_download(m->compute, front, m->device, m->offset, err);
  if (!status && band_behind(m))
    status = compute_download(m->compute, back, m->device + end, band_behind(m), err);
  if (!status)
    look(m, front, back, pattern, intact, distance);
  base_free(front);
  return status;
}

extern const char code_shared_args[], code_shared_bands[];
static const char *const texts[] = {code_shared_args, code_shared_bands, NULL};
static const struct device_code bands_code = {.name = "bands", .texts = texts};

// Counts on the device what differs, for all buffers, before anything is copied: nearly always nothing does.
static enum assay_status any_damage(struct shared_memory *m, int n, uint32_t pattern, bool *any,
                                    struct assay_error *err) {
  struct compute *c = m[0].compute;
  device_ptr result;
  uint32_t count = 0;
  enum assay_status status = compute_alloc(c, sizeof count, &result, err);
  if (status)
    return status;
  status = compute_set32(c, result, 0, 1, err);
  for (int i = 0; i < n && !status; i++) {
    size_t end = m[i].offset + m[i].bytes;
    struct bands_args a = {.base = m[i].device,
                           .result = result,
                           .front_words = (int64_t)(m[i].offset / WORD),
                           .end = (int64_t)end,
                           .behind = (int64_t)band_behind(&m[i]),
                           .pattern = pattern};
    int64_t threads = a.front_words > a.behind ? a.front_words : a.behind;
    status = compute_launch(c, &bands_code, "count_damage", threads, &a, sizeof a, err);
  }
  if (!status)
    status = compute_download(c, &count, result, sizeof count, err);
  compute_free(c, result);
  *any = count != 0;
  return status;
}

enum assay_status shared_check_all(struct shared_memory *m, int n, uint32_t pattern, int *damaged, int64_t *distance,
                                   struct assay_error *err) {
  bool look_closely = true;
  enum assay_status status = ASSAY_OK;
  *damaged = -1;
  if (n > 0 && !m[0].host)
    status = any_damage(m, n, pattern, &look_closely, err);
  for (int i = 0; i < n && !status && look_closely && *damaged < 0; i++) {
    bool intact;
    status = shared_check_bands(&m[i], pattern, &intact, distance, err);
    if (!status && !intact)
      *damaged = i;
  }
  return status;
}

enum assay_status shared_read(struct shared_memory *m, void *to, struct assay_error *err) {
  if (!m->host)
    return compute_download(m->compute, to, m->device + m->offset, m->bytes, err);
  memcpy(to, m->host + m->offset, m->bytes);
  return ASSAY_OK;
}

enum assay_status shared_write(struct shared_memory *m, const void *from, struct assay_error *err) {
  if (!m->host)
    return compute_upload(m->compute, m->device + m->offset, from, m->bytes, err);
  memcpy(m->host + m->offset, from, m->bytes);
  return ASSAY_OK;
}
