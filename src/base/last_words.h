// SPDX-License-Identifier: Apache-2.0
// Signal handlers for processes that run foreign code. On a fatal signal they note what is known, then let the process
// die of that signal.
#ifndef BASE_LAST_WORDS_H
#define BASE_LAST_WORDS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void last_words_fn(int number, siginfo_t *info, void *context);

// Installs the handler for crashes, abort() and forbidden system calls, and for arithmetic traps where it is asked for
// (an OpenCL implementation handles those itself). `stack` is the handlers' own, at least 16 KiB, never to be freed;
// NULL: they run on the stack of the thread. False with errno.
bool last_words_install(last_words_fn *handler, bool arithmetic, void *stack, size_t stack_bytes);

// The number of the forbidden system call; 0 for all other signals.
uint32_t last_words_system_call(int number, const siginfo_t *info);

// Whether the process cannot get more memory, which is often why it dies.
bool last_words_memory_exhausted(void);

// The handler's last call: lets the process die of this signal.
void last_words_die(int number);

#endif
