// SPDX-License-Identifier: Apache-2.0
// Turns of the processes that judge on one device: while one takes times, the others neither record, check nor time.
//
// Two files in a folder that all users share are locked (flock). What is locked by a process that ended is free again.
// A device without such files (the folder cannot be written to) has no turns: then everybody goes on at once.
#ifndef DEVICE_TURN_H
#define DEVICE_TURN_H

#include <stdint.h>

#include "base/error.h"

enum turn_kind {
  TURN_NONE,
  TURN_TOGETHER, // work that may overlap that of others
  TURN_ALONE,    // nobody else has a turn
};

struct turn;

// Of the device with this name, which is the same in all processes (a GPU's UUID). `folder`: NULL: /tmp.
enum assay_status turn_open(const char *folder, const char *device, struct turn **out, struct assay_error *err);

// Gives back the turn at hand and waits for one of this kind, at most most_ns: then it goes on without. One of this
// kind that is held already is kept: no candidate that runs can get in between. Who waits to be alone is next: nobody
// who comes later overtakes. Returns how long it waited, in ns. t may be NULL.
int64_t turn_take(struct turn *t, enum turn_kind kind, int64_t most_ns);
void turn_close(struct turn *t); // NULL is fine

#endif
