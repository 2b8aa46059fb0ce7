// SPDX-License-Identifier: Apache-2.0
// Limits of time on a busy machine. A limit is meant for what a process does. It may be ready for most of that time and
// have no processor: that time is not its own, and is given back.
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include <stdint.h>

// No more than so many limits in all, however busy the machine is.
enum { LIMIT_MOST = 10 };

// The time of wall_ns in which others kept processes from their work: waited_ns, the longest that one of their threads
// was ready and had no processor, but no more than what the processes left of n_cpus processors. Threads that keep each
// other waiting leave nothing.
int64_t limit_starved_ns(int64_t waited_ns, int64_t wall_ns, int64_t cpu_ns, int n_cpus);

// When the time is up, as known at now_ns: now_ns or earlier if it is up now.
int64_t limit_end_ns(int64_t start_ns, int64_t limit_ns, int64_t starved_ns, int64_t now_ns);

// How much of the time between two looks at a process nobody was there to look (the user stopped the judge, or the
// machine stood still), where a look follows the one before after look_ns at most. Small delays count as none.
int64_t limit_stopped_ns(int64_t before_ns, int64_t now_ns, int64_t look_ns);

// The last moment: LIMIT_MOST limits after the start, or INT64_MAX where that is later than any clock shows.
int64_t limit_last_ns(int64_t start_ns, int64_t limit_ns);

#endif
