// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift/address_map.h"

#include "base/alloc.h"

void address_map_release(struct address_map *m) {
  for (size_t i = 0; i < m->n_allocations; i++)
    base_free(m->allocations[i].content);
  base_free(m->allocations);
  m->allocations = NULL;
  m->n_allocations = m->capacity = 0;
}

// ---- one allocation

bool allocation_is_live(const struct allocation *a) {
  return a->life == ALLOCATION_NEW || a->life == ALLOCATION_BEFORE;
}

bool allocation_was_before(const struct allocation *a) {
  return a->life == ALLOCATION_BEFORE || a->life == ALLOCATION_LOST || a->life == ALLOCATION_KEPT;
}

uint64_t allocation_logged(const struct allocation *a, uint64_t real) {
  return a->address + (real - a->real);
}

uint64_t allocation_real(const struct allocation *a, uint64_t logged) {
  return a->real + (logged - a->address);
}

void allocation_note(struct allocation *a, enum allocation_use use) {
  if (use > a->use)
    a->use = use;
}

void allocation_note_stream(struct allocation *a, uint64_t stream) {
  if (a->order == ALLOCATION_OF_STREAM && a->stream != stream)
    a->order = ALLOCATION_OF_SEVERAL;
}

bool allocation_is_ordered(const struct allocation *a, uint64_t stream) {
  return a->order == ALLOCATION_OF_ANYBODY || (a->order == ALLOCATION_OF_STREAM && a->stream == stream);
}

void allocation_end(struct allocation *a, bool recording) {
  bool own = a->owner == ALLOCATION_OWN, before = a->life == ALLOCATION_BEFORE;
  if (before && own && recording)
    a->life = ALLOCATION_KEPT;
  else if (before && !own)
    a->life = ALLOCATION_LOST;
  else if (allocation_is_live(a))
    a->life = ALLOCATION_FREED;
}

// ---- what is added and forgotten

bool address_map_reserve(struct address_map *m) {
  if (m->n_allocations < m->capacity)
    return true;
  size_t capacity = m->capacity ? 2 * m->capacity : 256;
  struct allocation *more = base_realloc(m->allocations, capacity * sizeof *more);
  if (!more)
    return false;
  m->allocations = more;
  m->capacity = capacity;
  return true;
}

uint64_t address_map_next(struct address_map *m, uint64_t bytes) {
  uint64_t address = m->next_address;
  if (record_next_address(address, bytes) >= RECORD_LAST_ADDRESS) {
    address = m->first_address;
    m->wrapped = true;
  }
  m->next_address = record_next_address(address, bytes);
  return address;
}

struct allocation *address_map_add(struct address_map *m, const struct allocation *a) {
  if (!address_map_reserve(m))
    return NULL;
  struct allocation *place = &m->allocations[m->n_allocations++];
  *place = *a;
  return place;
}

struct allocation *address_map_add_foreign(struct address_map *m, uint64_t real, uint64_t bytes,
                                           enum allocation_owner owner, enum allocation_life life) {
  if (!address_map_reserve(m))
    return NULL;
  const struct allocation a = {
      .address = address_map_next(m, bytes), .real = real, .bytes = bytes, .owner = owner, .life = life};
  return address_map_add(m, &a);
}

uint64_t address_map_kept_bytes(const struct address_map *m) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < m->n_allocations; i++)
    bytes += m->allocations[i].life == ALLOCATION_KEPT ? m->allocations[i].bytes : 0;
  return bytes;
}

struct allocation *address_map_find_kept(struct address_map *m, uint64_t bytes, uint64_t stream) {
  struct allocation *other = NULL;
  for (size_t i = m->n_allocations; i-- > 0;) {
    struct allocation *a = &m->allocations[i];
    if (a->life != ALLOCATION_KEPT || a->owner != ALLOCATION_OWN || a->bytes != bytes)
      continue;
    if (allocation_is_ordered(a, stream))
      return a;
    other = other ? other : a;
  }
  return other;
}

void address_map_settle(struct address_map *m) {
  for (size_t i = 0; i < m->n_allocations; i++)
    if (m->allocations[i].life == ALLOCATION_KEPT)
      m->allocations[i].order = ALLOCATION_OF_ANYBODY;
}

void address_map_stream_gone(struct address_map *m, uint64_t stream) {
  for (size_t i = 0; i < m->n_allocations; i++)
    if (m->allocations[i].order == ALLOCATION_OF_STREAM && m->allocations[i].stream == stream)
      m->allocations[i].order = ALLOCATION_OF_SEVERAL;
}

void address_map_free_range(struct address_map *m, uint64_t real, uint64_t bytes) {
  for (size_t i = 0; i < m->n_allocations; i++) {
    struct allocation *a = &m->allocations[i];
    if (a->owner != ALLOCATION_OWN && a->real < real + bytes && real < a->real + a->bytes)
      allocation_end(a, false);
  }
}

void address_map_forget(struct address_map *m, void (*kept)(void *arg, const struct allocation *a), void *arg) {
  size_t n = 0;
  for (size_t i = 0; i < m->n_allocations; i++) {
    struct allocation *a = &m->allocations[i];
    if (allocation_is_live(a)) {
      m->allocations[n++] = *a;
      continue;
    }
    base_free(a->content);
    if (a->life == ALLOCATION_KEPT)
      kept(arg, a);
  }
  m->n_allocations = n;
}

static void number(struct address_map *m) {
  for (size_t i = 0; i < m->n_allocations; i++)
    m->allocations[i].address = address_map_next(m, m->allocations[i].bytes);
}

void address_map_renumber(struct address_map *m) {
  number(m);
  for (size_t i = 0; i < m->n_allocations; i++)
    m->allocations[i].left_over = false;
}

void address_map_begin(struct address_map *m) {
  if (!m->wrapped && m->next_address - RECORD_FIRST_ADDRESS < (RECORD_LAST_ADDRESS - RECORD_FIRST_ADDRESS) / 2)
    return;
  m->next_address = m->first_address;
  m->wrapped = false;
  number(m);
}

// ---- what is found

struct allocation *address_map_find(struct address_map *m, uint64_t real) {
  struct allocation *ended = NULL;
  for (size_t i = m->n_allocations; i-- > 0;) {
    struct allocation *a = &m->allocations[i];
    if (!allocation_is_live(a) || real < a->real || real - a->real > a->bytes)
      continue;
    if (real - a->real < a->bytes)
      return a;
    ended = ended ? ended : a;
  }
  return ended;
}

static bool is_near(uint64_t word, const struct allocation *a) {
  return word + ADDRESS_MAP_GAP >= a->real && word <= a->real + a->bytes + ADDRESS_MAP_GAP;
}

struct allocation *address_map_find_near(struct address_map *m, uint64_t real) {
  for (size_t i = 0; i < m->n_tensors[m->log]; i++)
    if (is_near(real, &m->tensors[m->log][i]))
      return &m->tensors[m->log][i];
  for (size_t i = m->n_allocations; i-- > 0;) {
    struct allocation *a = &m->allocations[i];
    if (allocation_is_live(a) && a->owner == ALLOCATION_OWN && is_near(real, a))
      return a;
  }
  return NULL;
}

// Small numbers are not addresses.
struct allocation *address_map_reach(struct address_map *m, uint64_t word) {
  if (word < ADDRESS_MAP_GAP)
    return NULL;
  struct allocation *a = address_map_find(m, word);
  return a ? a : address_map_find_near(m, word);
}

bool address_map_is_mapping_end(struct address_map *m, uint64_t word) {
  const struct allocation *a =
      word >= ADDRESS_MAP_GAP && !address_map_find(m, word) ? address_map_find_near(m, word) : NULL;
  if (!a || (word >= a->real && word <= a->real + a->bytes))
    return false;
  uint64_t start = a->real / ADDRESS_MAP_GRANULE * ADDRESS_MAP_GRANULE, end = start + a->mapped;
  return word == start || word == end || word == start - ADDRESS_MAP_GAP || word == end + ADDRESS_MAP_GAP;
}

bool address_map_is_in_range(const struct address_map *m, uint64_t word) {
  const uint64_t end = m->wrapped ? RECORD_LAST_ADDRESS : m->next_address;
  return word >= RECORD_FIRST_ADDRESS - RECORD_GAP_BYTES && word < end + RECORD_GAP_BYTES;
}
