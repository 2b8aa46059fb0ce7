// SPDX-License-Identifier: Apache-2.0
// Stacks of a size that whoever started the program does not choose: by default those of threads, too, are as large as
// the shell's limit says (ulimit -s), and what needs more dies of SIGSEGV.
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "base/error.h"

// Of every thread, and of what runs untrusted code: the usual limit of Linux. Only what is touched is taken.
#define THREAD_STACK_BYTES ((size_t)8 << 20)

// What judging takes at most: a command's own and the oracle's largest functions need less than half of it.
#define THREAD_LEAST_STACK_BYTES ((size_t)1 << 20)

// pthread_create() with such a stack: 0 or an errno.
int thread_start(pthread_t *id, void *(*body)(void *arg), void *arg);

// A main thread's stack grows up to the limit of the moment: raises it as far as that may be. For programs of our own.
void thread_raise_limit(void);

// ASSAY_ERR_ENVIRONMENT, with the limit and what to do, where the calling thread has less than the least.
enum assay_status thread_has_stack(struct assay_error *err);

#endif
