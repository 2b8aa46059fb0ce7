// What is known about the machine a verdict was made on.
#ifndef JUDGE_MACHINE_H
#define JUDGE_MACHINE_H

#include <stdint.h>

#include "base/error.h"

// The processor's peaks, measured: bytes read a second from memory by all processors, and fp32 operations a second.
struct machine_peaks {
  double read_bytes_per_s, flops_per_s;
};
enum assay_status machine_measure(int threads, struct machine_peaks *out, struct assay_error *err);

// A name for the machine that changes when its processor, their number or its memory does; heap string.
char *machine_identity(void);

// Description as JSON: processor, logical processors, memory, kernel; heap string.
char *machine_json(void);

// The time of a fixed piece of arithmetic on this core, now: longer than usual means that the clock is down or the core
// was taken away.
int64_t machine_clock_probe_ns(void);

#endif
