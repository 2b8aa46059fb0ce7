// SPDX-License-Identifier: Apache-2.0
// What the judge does with every runner's process: waiting for its messages, noticing its end, reading what it
// prints. Private to src/runner.
#ifndef RUNNER_PEER_H
#define RUNNER_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

// Sleeps while the word has this value, until it is woken or the time is up. May also return without a reason.
void peer_sleep(_Atomic uint32_t *word, uint32_t value, int64_t ns);

// Whether the child has ended; it is not reaped.
bool peer_ended(pid_t pid);

// Appends what can be read from the child's output (non-blocking; -1: none), up to 64 KiB in all; the rest is dropped.
// Returns while a child that writes faster than it is read goes on writing.
void peer_read_log(int output, struct buf *log);

// Makes shared memory whose size is sealed, mapped here at *page. *fd is for the peer. The caller closes it, also after
// a failure unless it is -1.
enum assay_status peer_share(size_t bytes, void **page, int *fd, struct assay_error *err);

#endif
