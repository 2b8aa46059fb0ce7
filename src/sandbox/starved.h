// SPDX-License-Identifier: Apache-2.0
// Private to src/sandbox: for how long a child's processes were ready and had no processor. They come and go (a
// compiler's passes), so they are looked at now and then: what one of them waited after the last look is lost with it.
#ifndef SANDBOX_STARVED_H
#define SANDBOX_STARVED_H

#include <stdint.h>
#include <sys/types.h>

enum { STARVED_THREADS = 256 }; // more are not looked at

struct starved_look {
  int n;
  pid_t ids[STARVED_THREADS];
  int64_t waited_ns[STARVED_THREADS], run_ns[STARVED_THREADS];
};

struct starved {
  pid_t group;
  int64_t looked_ns, total_ns;
  struct starved_look looks[2]; // the last one and room for the next
  int last;
};

// From start_ns (clock_monotonic_ns) on, when the group has just begun.
void starved_init(struct starved *s, pid_t group, int64_t start_ns);

// Looks now, and adds to total_ns.
void starved_note(struct starved *s, int64_t now_ns);

#endif
