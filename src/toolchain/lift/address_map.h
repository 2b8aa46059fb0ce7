// SPDX-License-Identifier: Apache-2.0
// Which memory a recorded program has, and where: at its own address in the program, at another in the log.
//
// The log has addresses of record/format.h's range, which are easily distinguished from numbers. Memory that this
// library maps (PyTorch's, and the tensors of the task) is asked for at the same address in the program too; the driver
// may map it elsewhere. Around each such mapping lie ADDRESS_MAP_GAP bytes that belong to nobody, so that a pointer
// that is a little outside is still recognised. Memory that others allocate (cudaMalloc in an extension or a library)
// gets an address of the range in the log only.
//
// Pure data: no driver, no lock, no global. The session's lock protects it.
#ifndef TOOLCHAIN_LIFT_ADDRESS_MAP_H
#define TOOLCHAIN_LIFT_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolchain/record/format.h"

enum { LIFT_LOGS = 2 }; // recordings of a workload: A and B
// The gap on either side of a mapping. Two gaps leave the driver no room for memory of its own between two mappings,
// which are RECORD_GAP_BYTES apart.
#define ADDRESS_MAP_GAP ((uint64_t)126 << 20)
#define ADDRESS_MAP_GRANULE ((uint64_t)2 << 20) // in which the driver maps memory

enum allocation_owner {
  ALLOCATION_OWN,     // mapped by this library: PyTorch's memory and the task's tensors
  ALLOCATION_FOREIGN, // device memory that the program or a library allocated, or that only the driver knows
  ALLOCATION_HOST,    // pinned memory of the host that kernels reach
};

// Where it is in its life. "Before" is the time before the recording that runs, or that ran last.
enum allocation_life {
  ALLOCATION_FREED,  // gone; forgotten when the next recording begins
  ALLOCATION_NEW,    // live, and allocated since the recording began
  ALLOCATION_BEFORE, // live, and allocated before
  ALLOCATION_LOST,   // allocated before, and freed by another owner since
  ALLOCATION_KEPT, // freed by PyTorch while recording, and allocated before, or while warming up: mapped until the next
                   // recording begins
};

// Who may get own memory again that was freed while warming up, before what used it is over.
enum allocation_order {
  ALLOCATION_OF_STREAM,  // its stream, whose order all uses follow
  ALLOCATION_OF_SEVERAL, // nobody: other streams use it as well, or its stream is gone
  ALLOCATION_OF_GRAPH,   // nobody ever: a graph was being captured, which uses it whenever it is replayed
  ALLOCATION_OF_ANYBODY, // everybody: the device was waited for since it was freed
};

// What the recording did with it so far. A write counts as a use.
enum allocation_use { ALLOCATION_UNUSED, ALLOCATION_USED, ALLOCATION_WRITTEN };

struct allocation {
  uint64_t address; // in the log
  uint64_t real;    // in the program
  uint64_t bytes;
  uint64_t mapped, handle; // own memory: bytes of the mapping, which begins at a granule, and the driver's handle
  enum allocation_owner owner;
  enum allocation_life life;
  enum allocation_order order;
  uint64_t stream;         // the handle of the stream that it was allocated for, for ALLOCATION_OF_STREAM
  enum allocation_use use; // WRITTEN: by a fill or a copy; what kernels write nobody sees
  bool left_over;          // large, allocated before, and what it holds may be read (contents.c)
  uint8_t *content;        // what it held when the recording began; heap; NULL: not known
};

struct address_map {
  struct allocation *allocations; // in the order in which they were made
  size_t n_allocations, capacity;
  struct allocation tensors[LIFT_LOGS][RECORD_MAX_TENSORS]; // of the task, for each recording
  size_t n_tensors[LIFT_LOGS];
  int log;                // the recording whose tensors can be used now
  uint64_t next_address;  // in the log, of what is allocated next
  uint64_t first_address; // where such addresses begin: after those of the task's tensors
  bool wrapped;           // they have been given out once, and begin again
};

void address_map_release(struct address_map *m); // memory of the map itself; nothing is unmapped

// ---- one allocation

bool allocation_is_live(const struct allocation *a);
bool allocation_was_before(const struct allocation *a);                // also if it is gone since
uint64_t allocation_logged(const struct allocation *a, uint64_t real); // the program's address as the log has it
uint64_t allocation_real(const struct allocation *a, uint64_t logged); // and back
void allocation_note(struct allocation *a, enum allocation_use use);   // never takes back what was noted before
// Another stream than its own uses it, or frees it.
void allocation_note_stream(struct allocation *a, uint64_t stream);
// Whether work of this stream comes after all that used the memory, without anybody waiting.
bool allocation_is_ordered(const struct allocation *a, uint64_t stream);
// It was freed. While recording, own memory from before is kept: the end of the recording looks at it once more.
void allocation_end(struct allocation *a, bool recording);

// ---- what is added and forgotten

// Room for one more allocation; false when memory is exhausted.
bool address_map_reserve(struct address_map *m);
// An address in the log for so many bytes. When all were given (65,000 allocations: a search for the fastest kernel
// makes more) they begin again: what ended before a recording may have had the same. A recording has half at least.
uint64_t address_map_next(struct address_map *m, uint64_t bytes);
// A copy of `a` becomes the last allocation. Returns NULL when memory is exhausted. Valid until the next one is added.
struct allocation *address_map_add(struct address_map *m, const struct allocation *a);
// The same for memory of others, with the next address of the log.
struct allocation *address_map_add_foreign(struct address_map *m, uint64_t real, uint64_t bytes,
                                           enum allocation_owner owner, enum allocation_life life);
// Memory that was freed and is still mapped.
uint64_t address_map_kept_bytes(const struct address_map *m);
// Of it what has just so many bytes: what this stream need not wait for, if there is any (allocation_is_ordered); or
// NULL.
struct allocation *address_map_find_kept(struct address_map *m, uint64_t bytes, uint64_t stream);
// All that was kept so far may be given to anybody: the device was waited for.
void address_map_settle(struct address_map *m);
// The stream is gone, perhaps before its work is done, and its handle may be given to another one.
void address_map_stream_gone(struct address_map *m, uint64_t stream);
// Others have memory at this range now: what they had there before was freed unseen.
void address_map_free_range(struct address_map *m, uint64_t real, uint64_t bytes);
// Removes what is not live. `kept` is called for every allocation that is still mapped and has to be unmapped.
void address_map_forget(struct address_map *m, void (*kept)(void *arg, const struct allocation *a), void *arg);
// Another workload begins: what lives gets new addresses in the log, in order, and nothing is left over. To be called
// after address_map_forget.
void address_map_renumber(struct address_map *m);
// A recording begins: where less than half of the addresses are left, what lives is numbered from the first one on,
// and what is left over stays so. To be called after address_map_forget.
void address_map_begin(struct address_map *m);

// ---- what is found

// The live allocation around this address of the program, or NULL. The address right after an allocation belongs to it
// too, unless another one begins there.
struct allocation *address_map_find(struct address_map *m, uint64_t real);
// The tensor of this recording's task, or the live own memory, that the address is in or in a gap of; or NULL.
struct allocation *address_map_find_near(struct address_map *m, uint64_t real);
// What a pointer with this value means: an allocation around it, else one near to it, else NULL.
struct allocation *address_map_reach(struct address_map *m, uint64_t word);
// Whether the word is the end of a mapping or of its gaps, and points into no allocation. Code that maps memory leaves
// such words on the thread's stack, where structs with padding are built next.
bool address_map_is_mapping_end(struct address_map *m, uint64_t word);
// Whether the log's reader would take the word for an address.
bool address_map_is_in_range(const struct address_map *m, uint64_t word);

#endif
