// SPDX-License-Identifier: Apache-2.0
// What is known about the machine a verdict was made on.
#ifndef JUDGE_MACHINE_H
#define JUDGE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// The CPU's measured peaks with all cores: bytes read from memory per second, and fp32 operations per second.
struct machine_peaks {
  double read_bytes_per_s, flops_per_s;
};
enum assay_status machine_measure(int threads, struct machine_peaks *out, struct assay_error *err);

// A name for the machine that changes with the CPU model, the number of CPUs or the memory; heap string.
// `whole`: whichever of its processors this process may use, as for what a GPU of it can do.
char *machine_identity(bool whole);

// Which GPUs NVIDIA's driver names in this folder of the kernel's ("" or NULL: /proc), each model once, a line
// each. Heap string, "" for none; NULL when memory fails.
char *machine_gpus(const char *proc);

// The model of its processor, or "unknown processor".
void machine_processor(char *model, size_t size);

// Description as JSON: processor, logical processors, memory, kernel; heap string.
char *machine_json(void);

// Times a fixed piece of arithmetic on this core. Longer than usual means that the clock is low or that the core was
// given to another process meanwhile.
int64_t machine_clock_probe_ns(void);

#endif
