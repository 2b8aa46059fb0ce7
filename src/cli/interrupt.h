// SPDX-License-Identifier: Apache-2.0
// What comes from outside to end a command: Ctrl-C, SIGTERM, a terminal that is closed. Commands that run long are
// asked by the first to end in good order, and end at once by the second. None leaves temporary folders.
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdatomic.h>

#include "base/error.h"

struct cli_interrupt {
  atomic_bool stop;        // set by the first
  const char *finishing;   // what is waited for then: "the current kernel"
  void (*last)(void *arg); // what the second prints before the process ends; NULL: nothing
  void *arg;
};

// From here on SIGINT and SIGTERM are handled so, by a thread. `i` stays valid until the process ends.
// ASSAY_ERR_ENVIRONMENT.
enum assay_status cli_interrupt_watch(struct cli_interrupt *i, struct assay_error *err);

// This process will have folders under `temporary`: removes those that killed processes left there, and from here on
// its own when SIGINT, SIGTERM or SIGHUP ends it (kill -9: a later command does). Signals that whoever started it
// ignores stay ignored (nohup). Where that cannot be set up, signals end the process as ever.
void cli_interrupt_clean(const char *temporary);

#endif
