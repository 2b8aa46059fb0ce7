// SPDX-License-Identifier: Apache-2.0
// What a child may take in all, where limits of the kernel hold for one file or one process only: looked at from
// outside while it runs.
#ifndef SANDBOX_QUOTA_H
#define SANDBOX_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sandbox_quota {
  int64_t folder_bytes; // on disk, in its folder and in files that it removed and still has open; 0: any
  int processes;        // at a time, in its process group; 0: any
  int64_t memory_bytes; // of all in its process group together, but for files' pages; 0: any
};

enum { QUOTA_TEXT_BYTES = 128 };

// Whether the group of processes exceeds the quota now. `text` (QUOTA_TEXT_BYTES) says by what, when it does.
bool quota_exceeded(const struct sandbox_quota *q, const char *folder, pid_t group, char *text);

// Whether that text is about memory.
bool quota_is_memory(const char *text);

#endif
