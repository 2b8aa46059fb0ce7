// SPDX-License-Identifier: Apache-2.0
// How much memory this process may still take.
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdint.h>

// Bytes that can be taken without anything being killed for it: what the machine has free or would give back (page
// cache), and no more than the control groups of this process leave (cgroup v2, or v1's memory controller), as a
// container sets them, nor than a limit of address space (ulimit -v). *total: what there is at most. `root`: a folder
// in which /proc and /sys/fs/cgroup are looked for; "" for this machine. INT64_MAX for both when the system does not
// say.
int64_t memory_available(const char *root, int64_t *total);

#endif
