// SPDX-License-Identifier: Apache-2.0
// Messages with descriptors over a socket between two processes of ours.
#ifndef BASE_CHANNEL_H
#define BASE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CHANNEL_MAX_FDS = 64 }; // with one message

// Sends one message; the descriptors stay open here. `flags` as for sendmsg(2); a peer that is gone raises no signal.
// Returns 0 or an errno. At most CHANNEL_MAX_FDS descriptors.
int channel_send(int fd, int flags, const void *message, size_t bytes, const int *fds, int n_fds);

// Whether this errno means that the peer is gone or does not listen. The caller finds out by other means what happened
// to it.
bool channel_is_deaf(int error);

// Receives one message and the descriptors that came with it, at most max_fds, closed on exec. Returns the
// message's size, 0 when the peer is gone, -1 with errno. *n_fds is always set.
ssize_t channel_receive(int fd, int flags, void *message, size_t bytes, int *fds, int max_fds, int *n_fds);

#endif
