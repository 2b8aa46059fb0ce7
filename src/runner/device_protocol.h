// SPDX-License-Identifier: Apache-2.0
// What the judge and assay-device-runner say to each other: messages over a socket (descriptor 3 in the runner), and
// answers in shared memory.
//
// Where kernels run in the runner's process (PoCL) the judge believes nothing it reads here beyond "look now": every
// field is copied once and checked.
#ifndef RUNNER_DEVICE_PROTOCOL_H
#define RUNNER_DEVICE_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

#include "device/device.h"

enum { DEVICE_SOCKET = 3, DEVICE_FDS = 32, DEVICE_TEXT_BYTES = 512 };

// The judge seals the descriptors of the plan and of the utility code before it sends them.
enum device_verb {
  DEVICE_ATTACH = 1, // carries the shared page
  DEVICE_OPEN,
  DEVICE_EQUIP,   // carries the utility code
  DEVICE_BUFFERS, // carries some of the buffers that the next load uses; repeated until all are there
  DEVICE_LOAD,    // carries the plan, packed
  DEVICE_CALL,
};

struct device_message {
  uint32_t verb, number;                    // of this exchange; the answer repeats the number. BUFFERS has no answer.
  int32_t index;                            // OPEN: of the device
  int32_t mode;                             // CALL: enum device_mode
  int32_t n_in, n_out;                      // LOAD
  uint64_t bytes;                           // OPEN, LOAD: of what the descriptor holds
  int32_t first, n;                         // BUFFERS: which ones
  struct device_buffer buffers[DEVICE_FDS]; // their fd says nothing; the descriptors come with the message
};

struct device_answer {
  int32_t status; // enum assay_status; when it is not ASSAY_OK, `text` says why and nothing else holds
  char text[DEVICE_TEXT_BYTES];
  struct device_report report; // LOAD, CALL
  struct device_facts facts;   // OPEN; the strings of its limits are the runner's addresses and mean nothing
};

struct device_control {
  _Alignas(64) _Atomic uint32_t answered; // runner -> judge, a futex: number of the last exchange that is answered
  _Alignas(64) struct device_answer answer;
  // Notes of a dying runner: hints, which choose among failures.
  _Alignas(64) int32_t signal;
  uint32_t system_call, memory_exhausted;
  uint64_t address;
  int32_t n_places; // of the plan's buffers, in its order
  struct device_place places[PLAN_MAX_BUFFERS];
};

#endif
