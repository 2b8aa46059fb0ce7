// SPDX-License-Identifier: Apache-2.0
// Turns of one user's processes that judge on one device: while one takes times, the others neither record, check nor
// time.
//
// Three files in a folder of the user's own are locked (flock). What is locked by a process that ended is free again. A
// device without such files (there is no place for the folder) has no turns: then everybody goes on at once. Whoever
// can open a file can lock it and keep all others waiting, and so no other user can open these: users do not take turns
// with one another. What another user's work does to a time is marked as any other program's.
#ifndef DEVICE_TURN_H
#define DEVICE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum turn_kind {
  TURN_NONE,
  TURN_TOGETHER, // work that may overlap that of others
  TURN_ALONE,    // nobody else has a turn
};

struct turn;

// Of the device with this name, which is the same in all processes (a GPU's UUID). The files are in assay-UID in the
// folder (NULL: /tmp); where that is another user's, in .assay-turns at home (NULL: the user's in the passwd database).
enum assay_status turn_open(const char *folder, const char *home, const char *device, struct turn **out,
                            struct assay_error *err);

// Gives back the turn at hand and waits for one of this kind, at most most_ns: then it goes on without. One of this
// kind that is held already is kept: no candidate that runs can get in between. Those who wait to be alone are next,
// one after the other, and then all others go on together: if the two took turns, many that record would do so one at a
// time. But who has waited three seconds to be together is next, with all others who do, when those have theirs that
// are at it or have been told so: otherwise an unbroken row of those who take times would keep it out. Returns how long
// it waited, in ns. t may be NULL.
int64_t turn_take(struct turn *t, enum turn_kind kind, int64_t most_ns);
// Whether the last turn that was asked for did not come in that time: others have the device. false where there are no
// turns. t may be NULL.
bool turn_missed(const struct turn *t);
// Whether somebody waits whom our turn together with others keeps waiting, and should have the device: not before we
// had it as long as we waited for it (20 s at most), or a queue of those who take times would let nobody record. t may
// be NULL.
bool turn_is_wanted(const struct turn *t);
void turn_close(struct turn *t); // NULL is fine

#endif
