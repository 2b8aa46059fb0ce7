// What the judge does with every runner's process: waiting for its words, seeing that it is over, reading what it
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

// Sleeps until the word is no longer this value and somebody wakes us, or the time is up, or for no reason.
void peer_sleep(_Atomic uint32_t *word, uint32_t value, int64_t ns);

// Whether the child has ended; it is not reaped.
bool peer_ended(pid_t pid);

// Appends what is to be read from the child's output (non-blocking; -1: none), up to 64 KiB in all; the rest is
// dropped.
void peer_read_log(int output, struct buf *log);

// Shared memory whose size nobody can change, mapped here at *page; *fd is for the peer and then to be closed, also
// after a failure when it is not -1.
enum assay_status peer_share(size_t bytes, void **page, int *fd, struct assay_error *err);

#endif
