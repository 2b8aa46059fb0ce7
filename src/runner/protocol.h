// SPDX-License-Identifier: Apache-2.0
// What judge and runner say to each other: messages over a socket (descriptor 3 in the runner) and one shared page.
//
// The judge believes nothing it reads here beyond "look now": a forged word makes a call fail, or end before its
// outputs are there. Every field that the judge reads is copied once and checked.
#ifndef RUNNER_PROTOCOL_H
#define RUNNER_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/shape.h"

// RUNNER_FDS: buffers that come with one message; the runner may not have many descriptors open (RUNNER_FILES).
enum {
  RUNNER_SOCKET = 3,
  RUNNER_MAX_TENSORS = 512,
  RUNNER_FDS = 32,
  RUNNER_MESSAGE_BYTES = 512,
  RUNNER_WORKLOAD_BYTES = 65536
};
#define RUNNER_GUARD_BYTES ((size_t)1 << 20) // address space without memory on both sides of every buffer
#define RUNNER_STACK_BYTES ((size_t)8 << 20) // of each pool thread

enum runner_verb {
  RUNNER_ATTACH = 1, // carries the control page; answered by step READY
  RUNNER_LOAD,       // load the library; answered by LOADED or NOT_LOADED
  RUNNER_BUFFERS,    // carries some of the buffers that the next bind uses; repeated until all are there; no answer
  RUNNER_BIND,       // answered by BOUND, NOT_BOUND or RAISED
  RUNNER_CALL,       // answered by ARMED, then (after `start`) DONE or RAISED
  RUNNER_LOCK,       // lock down; answered by READY, or NOT_LOADED with the reason; before any foreign code is there
};

// A struct tensor_type in fields of a fixed width, and where its bytes lie.
struct runner_tensor_message {
  int32_t dtype, rank; // ONNX's number
  int64_t dims[SHAPE_MAX_RANK];
  uint64_t data_bytes, map_bytes, offset; // the data starts at `offset` of a mapping of map_bytes
};

struct runner_message {
  uint32_t verb, number; // number: of this exchange; answers repeat it
  uint32_t null_call;
  int32_t n_in, n_out;                    // BUFFERS, BIND: of the task
  int32_t first, n;                       // BUFFERS: which ones, inputs before outputs
  struct runner_tensor_message tensors[]; // BUFFERS: n of them
};

enum runner_step {
  STEP_READY = 1,
  STEP_LOADED,
  STEP_NOT_LOADED,
  STEP_BOUND,
  STEP_NOT_BOUND,
  STEP_ARMED,
  STEP_DONE,
  STEP_RAISED, // for STEP_BOUND or STEP_DONE: the candidate itself said that it failed; `message` is its error message
};

// A step and the number of the exchange it answers, in one word.
static inline uint32_t runner_word(uint32_t number, enum runner_step step) {
  return number << 4 | (uint32_t)step;
}

// Judge -> runner (runner/start.h).
struct runner_start {
  _Atomic uint32_t number;   // of the call that may begin; a futex
  _Atomic int32_t judge_cpu; // the processor that the judge was on when it let the runner go; negative: not known
};

struct runner_control {
  _Alignas(64) _Atomic uint32_t step; // runner -> judge, a futex
  _Alignas(64) struct runner_start start;
  _Alignas(64) int32_t signal; // hints of a dying runner: signal, its address or system call
  uint32_t system_call;
  uint64_t address;
  uint32_t memory_exhausted;
  uint64_t base[RUNNER_MAX_TENSORS]; // where the runner mapped each buffer (start of the memory, not of the guard)
  char message[RUNNER_MESSAGE_BYTES];
  char workload[RUNNER_WORKLOAD_BYTES]; // judge -> runner, before RUNNER_BIND: what the buffers are, as text
};

#endif
