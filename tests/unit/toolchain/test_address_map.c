// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// modules: toolchain/lift
// The address map of a recording, alone: no driver, no recording, addresses as numbers.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "toolchain/lift/address_map.h"

#define FIRST RECORD_FIRST_ADDRESS
#define GAP ADDRESS_MAP_GAP
#define GRANULE ADDRESS_MAP_GRANULE
static const uint64_t ELSEWHERE = UINT64_C(0x7f0000000000); // where programs have memory of their own

static void setup(struct address_map *m) {
  memset(m, 0, sizeof *m);
  m->next_address = m->first_address = FIRST;
}

// Own memory of so many bytes, where the driver maps it `moved` bytes away from the log's address.
static struct allocation *add_own(struct address_map *m, uint64_t bytes, uint64_t moved) {
  uint64_t address = address_map_next(m, bytes), within = address % GRANULE;
  const struct allocation a = {.address = address,
                               .real = address + moved,
                               .bytes = bytes,
                               .mapped = (within + bytes + GRANULE - 1) / GRANULE * GRANULE,
                               .owner = ALLOCATION_OWN,
                               .life = ALLOCATION_NEW};
  return address_map_add(m, &a);
}

static struct allocation *add_foreign(struct address_map *m, uint64_t real, uint64_t bytes) {
  return address_map_add_foreign(m, real, bytes, ALLOCATION_FOREIGN, ALLOCATION_NEW);
}

static void count_kept(void *arg, const struct allocation *a) {
  assert_int_equal(a->life, ALLOCATION_KEPT);
  ++*(int *)arg;
}

static int forget(struct address_map *m) {
  int kept = 0;
  address_map_forget(m, count_kept, &kept);
  return kept;
}

static void nothing_is_there(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  const uint64_t words[] = {0, 1, GAP - 1, GAP, FIRST, ELSEWHERE, UINT64_MAX};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    assert_null(address_map_find(&m, words[i]));
    assert_null(address_map_find_near(&m, words[i]));
    assert_null(address_map_reach(&m, words[i]));
    assert_false(address_map_is_mapping_end(&m, words[i]));
  }
  assert_int_equal(forget(&m), 0);
  address_map_renumber(&m);
  address_map_release(&m);
}

// Every byte of an allocation is in it, and so is the address right after it; one byte before and two after are not.
static void boundaries(void **state) {
  (void)state;
  const uint64_t sizes[] = {1, 2, 511, 512, 513, GRANULE - 1, GRANULE, GRANULE + 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct address_map m;
    setup(&m);
    const struct allocation *a = add_foreign(&m, ELSEWHERE, sizes[i]);
    assert_ptr_equal(address_map_find(&m, ELSEWHERE), a);
    assert_ptr_equal(address_map_find(&m, ELSEWHERE + sizes[i] - 1), a);
    assert_ptr_equal(address_map_find(&m, ELSEWHERE + sizes[i]), a);
    assert_null(address_map_find(&m, ELSEWHERE - 1));
    assert_null(address_map_find(&m, ELSEWHERE + sizes[i] + 1));
    address_map_release(&m);
  }
}

// Where one allocation ends and another begins, the second is meant, in whichever order they were made.
static void neighbours(void **state) {
  (void)state;
  for (int order = 0; order < 2; order++) {
    struct address_map m;
    setup(&m);
    for (int i = 0; i < 2; i++)
      assert_non_null(add_foreign(&m, ELSEWHERE + 256 * (uint64_t)(order ? 1 - i : i), 256));
    assert_int_equal(address_map_find(&m, ELSEWHERE + 255)->real, ELSEWHERE);
    assert_int_equal(address_map_find(&m, ELSEWHERE + 256)->real, ELSEWHERE + 256);
    assert_int_equal(address_map_find(&m, ELSEWHERE + 512)->real, ELSEWHERE + 256);
    allocation_end(address_map_find(&m, ELSEWHERE + 256), false);
    assert_int_equal(address_map_find(&m, ELSEWHERE + 256)->real, ELSEWHERE); // nothing begins there any more
    address_map_release(&m);
  }
}

// Of two that overlap, the latest is meant: the earlier one was freed unseen, or the driver describes a part of it.
static void overlaps(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  assert_non_null(add_foreign(&m, ELSEWHERE, 4096));
  const struct allocation *inner = add_foreign(&m, ELSEWHERE + 1024, 1024);
  assert_ptr_equal(address_map_find(&m, ELSEWHERE + 1024), inner);
  assert_ptr_equal(address_map_find(&m, ELSEWHERE + 2047), inner);
  assert_int_equal(address_map_find(&m, ELSEWHERE + 2048)->real, ELSEWHERE);
  assert_int_equal(address_map_find(&m, ELSEWHERE + 1023)->real, ELSEWHERE);
  address_map_release(&m);
}

// Others' memory at the same place as before: what was there is gone. Own memory is never replaced so.
static void reused_addresses(void **state) {
  (void)state;
  static const struct {
    uint64_t at, bytes;
    bool replaces;
  } cases[] = {{0, 4096, true}, {1000, 1, true},           {4095, 1, true},  {4096, 4096, false},
               {0, 1, true},    {0, 1 << 20, true},        {8192, 1, false}, {UINT64_C(0) - 4096, 4096, false},
               {0, 0, false},   {UINT64_C(0) - 1, 2, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct address_map m;
    setup(&m);
    const struct allocation own = {.real = ELSEWHERE, .bytes = 4096, .owner = ALLOCATION_OWN, .life = ALLOCATION_NEW};
    assert_non_null(address_map_add(&m, &own));
    assert_non_null(add_foreign(&m, ELSEWHERE, 4096));
    m.allocations[1].life = i % 2 ? ALLOCATION_BEFORE : ALLOCATION_NEW;
    address_map_free_range(&m, ELSEWHERE + cases[i].at, cases[i].bytes);
    assert_true(allocation_is_live(&m.allocations[0]));
    assert_int_equal(allocation_is_live(&m.allocations[1]), !cases[i].replaces);
    assert_int_equal(allocation_was_before(&m.allocations[1]), i % 2); // which stays true
    address_map_release(&m);
  }
  struct address_map m;
  setup(&m);
  uint64_t logged[3];
  for (int i = 0; i < 3; i++) { // one place, allocated and freed again and again, has a new address each time
    const struct allocation *a = add_foreign(&m, ELSEWHERE, 512);
    logged[i] = a->address;
    allocation_end(address_map_find(&m, ELSEWHERE + 8), false);
    assert_null(address_map_find(&m, ELSEWHERE + 8));
  }
  assert_true(logged[0] < logged[1] && logged[1] < logged[2]);
  address_map_release(&m);
}

static void lives(void **state) {
  (void)state;
  static const struct {
    enum allocation_owner owner;
    enum allocation_life from;
    bool recording;
    enum allocation_life to;
  } cases[] = {
      {ALLOCATION_OWN, ALLOCATION_NEW, true, ALLOCATION_FREED},
      {ALLOCATION_OWN, ALLOCATION_NEW, false, ALLOCATION_FREED},
      {ALLOCATION_OWN, ALLOCATION_BEFORE, true, ALLOCATION_KEPT},
      {ALLOCATION_OWN, ALLOCATION_BEFORE, false, ALLOCATION_FREED},
      {ALLOCATION_FOREIGN, ALLOCATION_NEW, true, ALLOCATION_FREED},
      {ALLOCATION_FOREIGN, ALLOCATION_BEFORE, true, ALLOCATION_LOST},
      {ALLOCATION_HOST, ALLOCATION_BEFORE, false, ALLOCATION_LOST},
      {ALLOCATION_OWN, ALLOCATION_KEPT, true, ALLOCATION_KEPT}, // freed twice is freed once
      {ALLOCATION_FOREIGN, ALLOCATION_LOST, true, ALLOCATION_LOST},
      {ALLOCATION_FOREIGN, ALLOCATION_FREED, true, ALLOCATION_FREED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct allocation a = {.owner = cases[i].owner, .life = cases[i].from};
    bool before = allocation_was_before(&a);
    allocation_end(&a, cases[i].recording);
    assert_int_equal(a.life, cases[i].to);
    assert_false(allocation_is_live(&a));
    assert_true(before || !allocation_was_before(&a));
  }
}

static void uses(void **state) {
  (void)state;
  struct allocation a = {0};
  assert_int_equal(a.use, ALLOCATION_UNUSED);
  allocation_note(&a, ALLOCATION_USED);
  assert_int_equal(a.use, ALLOCATION_USED);
  allocation_note(&a, ALLOCATION_WRITTEN);
  allocation_note(&a, ALLOCATION_USED);
  assert_int_equal(a.use, ALLOCATION_WRITTEN);
}

// There and back, also outside of the allocation, and where the driver mapped it below the log's address.
static void translation(void **state) {
  (void)state;
  const uint64_t moves[] = {0, (uint64_t)1 << 44, UINT64_C(0) - ((uint64_t)1 << 40), 512};
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
    struct address_map m;
    setup(&m);
    const struct allocation *a = add_own(&m, 4000, moves[i]);
    const uint64_t offsets[] = {0, 1, 3999, 4000, 100000, UINT64_C(0) - 8};
    for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
      uint64_t real = a->real + offsets[k], logged = allocation_logged(a, real);
      assert_int_equal(logged, a->address + offsets[k]);
      assert_int_equal(allocation_real(a, logged), real);
    }
    assert_int_equal(a->real, FIRST + moves[i]);
    address_map_release(&m);
  }
}

// Addresses in the log are as record/format.h promises, never given twice, and a gap apart.
static void addresses_of_the_log(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  const uint64_t sizes[] = {0, 1, 256, 511, 512, 513, (uint64_t)80 << 30};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint64_t address = address_map_next(&m, sizes[i]);
    assert_int_equal(address % RECORD_ALIGNMENT, 0);
    assert_int_not_equal(address % 512, 0);
    assert_true(m.next_address >= address + sizes[i] + RECORD_GAP_BYTES);
  }
  assert_true(address_map_is_in_range(&m, FIRST));
  assert_true(address_map_is_in_range(&m, FIRST - RECORD_GAP_BYTES));
  assert_false(address_map_is_in_range(&m, FIRST - RECORD_GAP_BYTES - 1));
  assert_true(address_map_is_in_range(&m, m.next_address + RECORD_GAP_BYTES - 1));
  assert_false(address_map_is_in_range(&m, m.next_address + RECORD_GAP_BYTES));
  assert_false(address_map_is_in_range(&m, ELSEWHERE));
}

// Those that are used up begin again, and what lives when a recording begins has addresses of its own then.
static void addresses_that_are_used_up(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  m.first_address = m.next_address = FIRST + RECORD_GAP_BYTES; // after the task's tensors
  add_own(&m, 1000, 0);
  uint64_t before = m.allocations[0].address;
  address_map_begin(&m);
  assert_int_equal(m.allocations[0].address, before);
  for (int i = 0; !m.wrapped; i++) {
    uint64_t address = address_map_next(&m, 4096);
    assert_true(i < 100000 && address >= m.first_address && address + 4096 < RECORD_LAST_ADDRESS);
  }
  assert_true(address_map_is_in_range(&m, RECORD_LAST_ADDRESS - RECORD_GAP_BYTES)); // it has been given out
  add_foreign(&m, ELSEWHERE, 5000);
  address_map_begin(&m);
  assert_false(m.wrapped);
  assert_int_equal(m.allocations[0].address, m.first_address);
  assert_int_equal(m.allocations[1].address, record_next_address(m.first_address, 1000));
  assert_int_equal(m.next_address, record_next_address(m.allocations[1].address, 5000));
  m.allocations[0].left_over = true;                          // of the recording before
  m.next_address = FIRST + (RECORD_LAST_ADDRESS - FIRST) / 2; // fewer than a recording may take are left
  address_map_begin(&m);
  assert_int_equal(m.next_address, record_next_address(m.allocations[1].address, 5000));
  assert_true(m.allocations[0].left_over);
  address_map_release(&m);
}

// Around own memory and tensors, addresses are recognised up to the gap's end; around others' they are not.
static void gaps(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  const struct allocation *a = add_own(&m, 4096, 0);
  const uint64_t start = a->real, end = start + 4096;
  const struct {
    uint64_t word;
    bool near;
  } cases[] = {{start, true},       {end, true},
               {start - 1, true},   {end + 1, true},
               {start - GAP, true}, {start - GAP - 1, false},
               {end + GAP, true},   {end + GAP + 1, false},
               {ELSEWHERE, false},  {0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(address_map_find_near(&m, cases[i].word) != NULL, cases[i].near);
  assert_null(address_map_find(&m, end + 8));
  assert_ptr_equal(address_map_reach(&m, end + 8), a);
  allocation_end(&m.allocations[0], false);
  assert_null(address_map_reach(&m, end + 8)); // nobody's memory has no gap
  assert_non_null(add_foreign(&m, ELSEWHERE, 4096));
  assert_null(address_map_reach(&m, ELSEWHERE + 4096 + 8));
  assert_null(address_map_reach(&m, ELSEWHERE - 8));
  address_map_release(&m);
}

// An allocation around an address counts more than one near to it: the driver may put memory into a gap.
static void memory_in_a_gap(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  uint64_t end = add_own(&m, 4096, 0)->real + 4096;
  const uint64_t inside = end + ((uint64_t)100 << 20);
  assert_int_equal(address_map_reach(&m, inside)->owner, ALLOCATION_OWN);
  assert_non_null(add_foreign(&m, inside, 512));
  assert_int_equal(address_map_reach(&m, inside + 511)->owner, ALLOCATION_FOREIGN);
  assert_int_equal(address_map_reach(&m, inside + 513)->owner, ALLOCATION_OWN);
  assert_int_equal(address_map_reach(&m, inside - 1)->owner, ALLOCATION_OWN);
  address_map_release(&m);
}

// The tensors of the recording at hand are near, those of the other one are not.
static void tensors(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  for (int log = 0; log < LIFT_LOGS; log++)
    for (size_t i = 0; i < 2; i++) {
      uint64_t address = address_map_next(&m, 4000);
      m.tensors[log][i] = (struct allocation){
          .address = address, .real = address, .bytes = 4000, .mapped = GRANULE, .life = ALLOCATION_NEW};
      m.n_tensors[log] = i + 1;
    }
  for (m.log = 0; m.log < LIFT_LOGS; m.log++)
    for (int log = 0; log < LIFT_LOGS; log++)
      for (size_t i = 0; i < 2; i++) {
        const struct allocation *a = &m.tensors[log][i];
        const uint64_t words[] = {a->real, a->real + 3999, a->real + 4000, a->real + 70000, a->real - 512};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
          assert_null(address_map_find(&m, words[k])); // they are not among the program's allocations
          assert_ptr_equal(address_map_reach(&m, words[k]), log == m.log ? a : NULL);
        }
        assert_false(address_map_is_mapping_end(&m, a->real + 16)); // a pointer into it
      }
}

// Ends of mappings and of gaps, which code that maps memory leaves on its stack, are recognised. Pointers into an
// allocation are not mistaken for them.
static void mapping_ends(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  const struct allocation *a = add_own(&m, 3 * GRANULE, 0);
  const uint64_t start = a->real / GRANULE * GRANULE, end = start + a->mapped;
  assert_true(a->real > start && a->real + a->bytes < end);
  const uint64_t ends[] = {start, end, start - GAP, end + GAP};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    bool near = address_map_find_near(&m, ends[i]) != NULL; // a gap reaches from the allocation, not from its granule
    assert_int_equal(address_map_is_mapping_end(&m, ends[i]), near);
    assert_false(address_map_is_mapping_end(&m, ends[i] + 8));
    assert_false(address_map_is_mapping_end(&m, ends[i] - 8));
  }
  assert_true(address_map_is_mapping_end(&m, start) && address_map_is_mapping_end(&m, end));
  assert_false(address_map_is_mapping_end(&m, a->real));
  assert_false(address_map_is_mapping_end(&m, start + GRANULE)); // inside
  assert_non_null(add_foreign(&m, end, 512));                    // somebody has memory there
  assert_false(address_map_is_mapping_end(&m, end));
  address_map_release(&m);
  setup(&m); // an allocation that begins with its granule: its start is a pointer
  const struct allocation exact = {.address = FIRST,
                                   .real = ELSEWHERE,
                                   .bytes = GRANULE,
                                   .mapped = GRANULE,
                                   .owner = ALLOCATION_OWN,
                                   .life = ALLOCATION_NEW};
  assert_non_null(address_map_add(&m, &exact));
  assert_false(address_map_is_mapping_end(&m, ELSEWHERE));
  assert_false(address_map_is_mapping_end(&m, ELSEWHERE + GRANULE)); // the address right after belongs to it
  assert_true(address_map_is_mapping_end(&m, ELSEWHERE - GAP));
  assert_true(address_map_is_mapping_end(&m, ELSEWHERE + GRANULE + GAP));
  address_map_release(&m);
}

// A new workload forgets what is gone, unmaps what was kept, and gives the rest new addresses in order.
static void workload_after_workload(void **state) {
  (void)state;
  enum { N = 6 };
  struct address_map m;
  setup(&m);
  for (int i = 0; i < N; i++)
    assert_non_null(i % 2 ? add_foreign(&m, ELSEWHERE + 4096 * (uint64_t)i, 100) : add_own(&m, 1000, 0));
  for (int i = 0; i < N; i++) {
    m.allocations[i].life = ALLOCATION_BEFORE;
    m.allocations[i].content = base_alloc(16);
    m.allocations[i].left_over = true;
  }
  allocation_end(&m.allocations[0], true); // own: kept
  allocation_end(&m.allocations[1], true); // foreign: lost
  allocation_end(&m.allocations[2], false);
  uint64_t real[N], next = m.next_address;
  for (int i = 0; i < N; i++)
    real[i] = m.allocations[i].real;
  assert_int_equal(forget(&m), 1);
  assert_int_equal(m.n_allocations, 3);
  address_map_renumber(&m);
  for (int i = 0; i < 3; i++) {
    const struct allocation *a = &m.allocations[i];
    assert_int_equal(a->real, real[3 + i]);
    assert_int_equal(a->address, next);
    assert_non_null(a->content); // which is not of the numbering
    assert_int_equal(a->life, ALLOCATION_BEFORE);
    assert_false(a->left_over);
    next = record_next_address(a->address, a->bytes);
    assert_ptr_equal(address_map_find(&m, a->real + 50), a);
    assert_int_equal(allocation_logged(a, a->real + 50), a->address + 50);
  }
  assert_int_equal(m.next_address, next);
  m.next_address = FIRST; // the next workload's requests have smaller tensors
  address_map_renumber(&m);
  assert_int_equal(m.allocations[0].address, FIRST);
  address_map_release(&m);
}

// Many, in random order of allocating and freeing, against a list that says who is where.
static void many(void **state) {
  (void)state;
  enum { PLACES = 512, STEPS = 20000 };
  static bool live[PLACES];
  struct address_map m;
  uint64_t random = 12345;
  setup(&m);
  memset(live, 0, sizeof live);
  for (int step = 0; step < STEPS; step++) {
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t place = (size_t)(random >> 40) % PLACES;
    const uint64_t at = ELSEWHERE + 4096 * (uint64_t)place;
    struct allocation *a = address_map_find(&m, at + 100);
    assert_int_equal(a != NULL, live[place]);
    if (a) {
      assert_int_equal(a->real, at);
      allocation_end(a, false);
    } else {
      assert_non_null(add_foreign(&m, at, 4000));
    }
    live[place] = !live[place];
    if (step % 1000 == 999)
      assert_int_equal(forget(&m), 0);
  }
  forget(&m);
  size_t n = 0;
  for (size_t i = 0; i < PLACES; i++)
    n += live[i];
  assert_int_equal(m.n_allocations, n);
  for (size_t i = 1; i < n; i++) // in the order in which they were made
    assert_true(m.allocations[i - 1].address < m.allocations[i].address);
  address_map_release(&m);
}

static bool no_memory_left;
void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return no_memory_left ? NULL : __real_base_realloc(p, n);
}

// Without memory nothing is added and no address is given, and what is there stays.
static void no_memory(void **state) {
  (void)state;
  struct address_map m;
  setup(&m);
  no_memory_left = true;
  assert_false(address_map_reserve(&m));
  assert_null(add_foreign(&m, ELSEWHERE, 1));
  assert_int_equal(m.next_address, FIRST);
  no_memory_left = false;
  size_t n = 0;
  do
    assert_non_null(add_foreign(&m, ELSEWHERE + 4096 * (uint64_t)n++, 1));
  while (m.n_allocations < m.capacity);
  no_memory_left = true;
  assert_null(add_foreign(&m, ELSEWHERE + 4096 * (uint64_t)n, 1));
  assert_int_equal(m.n_allocations, n);
  assert_non_null(address_map_find(&m, ELSEWHERE));
  no_memory_left = false;
  assert_non_null(add_foreign(&m, ELSEWHERE + 4096 * (uint64_t)n, 1));
  address_map_release(&m);
}

// What was freed while warming up: its own stream has it first, then who waits for it, and others' memory nobody has
// so.
static void kept_memory(void **state) {
  (void)state;
  enum { A = 0x5000, B = 0x6000 };
  struct address_map m;
  setup(&m);
  for (size_t i = 0; i < 4; i++) {
    struct allocation *a = add_own(&m, i == 3 ? 512 : 4096, 0);
    a->stream = i == 1 ? B : A;
    a->life = ALLOCATION_KEPT;
  }
  assert_non_null(add_foreign(&m, ELSEWHERE, 8192));
  assert_int_equal(address_map_kept_bytes(&m), 3 * 4096 + 512);
  assert_ptr_equal(address_map_find_kept(&m, 4096, A), &m.allocations[2]); // the latest
  assert_ptr_equal(address_map_find_kept(&m, 4096, B), &m.allocations[1]);
  assert_ptr_equal(address_map_find_kept(&m, 512, B), &m.allocations[3]);
  assert_false(allocation_is_ordered(&m.allocations[3], B));
  assert_null(address_map_find_kept(&m, 8192, A));
  allocation_note_stream(&m.allocations[0], A); // its own
  allocation_note_stream(&m.allocations[2], B);
  assert_ptr_equal(address_map_find_kept(&m, 4096, A), &m.allocations[0]);
  address_map_stream_gone(&m, B);
  assert_false(allocation_is_ordered(&m.allocations[1], B));
  assert_true(allocation_is_ordered(&m.allocations[3], A));
  m.allocations[0].life = ALLOCATION_NEW;
  address_map_settle(&m);
  for (size_t i = 0; i < 4; i++) // what lives is in use again
    assert_int_equal(allocation_is_ordered(&m.allocations[i], B), i != 0);
  allocation_note_stream(&m.allocations[3], B);
  assert_int_equal(m.allocations[3].order, ALLOCATION_OF_ANYBODY);
  m.allocations[0].order = ALLOCATION_OF_GRAPH;
  address_map_stream_gone(&m, A);
  allocation_note_stream(&m.allocations[0], B);
  assert_int_equal(m.allocations[0].order, ALLOCATION_OF_GRAPH);
  assert_int_equal(forget(&m), 3);
  address_map_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_there),
      cmocka_unit_test(boundaries),
      cmocka_unit_test(neighbours),
      cmocka_unit_test(overlaps),
      cmocka_unit_test(reused_addresses),
      cmocka_unit_test(lives),
      cmocka_unit_test(uses),
      cmocka_unit_test(translation),
      cmocka_unit_test(addresses_of_the_log),
      cmocka_unit_test(addresses_that_are_used_up),
      cmocka_unit_test(gaps),
      cmocka_unit_test(memory_in_a_gap),
      cmocka_unit_test(tensors),
      cmocka_unit_test(mapping_ends),
      cmocka_unit_test(workload_after_workload),
      cmocka_unit_test(many),
      cmocka_unit_test(no_memory),
      cmocka_unit_test(kept_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
