// SPDX-License-Identifier: Apache-2.0
// Ctrl-C for commands that run long: the first asks them to end in good order, the second ends them at once.
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

#endif
