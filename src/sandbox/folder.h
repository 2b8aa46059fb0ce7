// SPDX-License-Identifier: Apache-2.0
// Who made a temporary folder: its name begins so. Inside src/sandbox.
#ifndef SANDBOX_FOLDER_H
#define SANDBOX_FOLDER_H

#include <stdbool.h>

#include "sandbox/sandbox.h"

// "assay-NAMESPACE-PID-START-", hexadecimal: the PID namespace, the process in it, and when it started. A process that
// cannot learn these of itself (no /proc) writes zeros, and its folders are never swept. False: it cannot.
bool folder_maker_name(char out[static SANDBOX_MAKER_BYTES]);

#endif
