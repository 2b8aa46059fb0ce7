// SPDX-License-Identifier: Apache-2.0
// Clock, temperature, power and throttle state of a GPU, through NVML by dlopen; and the peaks of a machine.
#ifndef DEVICE_MONITOR_H
#define DEVICE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "compute/compute.h"

struct monitor; // NULL where NVML is missing

// Starts NVML, which takes its time; then finds the device by its UUID ("GPU-..."), before anything is read.
// ASSAY_ERR_ENVIRONMENT when there is no NVML or it does not know the device; the judge goes on without.
enum assay_status monitor_open(struct monitor **out, struct assay_error *err);
enum assay_status monitor_find(struct monitor *m, const char *uuid, struct assay_error *err);
void monitor_close(struct monitor *m);

struct monitor_reading {
  uint32_t sm_clock_mhz, memory_clock_mhz, max_sm_clock_mhz, temperature_c;
  uint32_t power_mw;
  uint64_t throttle; // NVML's clocks event reasons
  bool slowed; // one of them that makes times worse than the machine's own: thermal, power brake, hardware slowdown
};
bool monitor_read(struct monitor *m, struct monitor_reading *out);     // false: unknown
void monitor_throttle_text(uint64_t reasons, char *text, size_t size); // "sw_power_cap, hw_thermal"

// The device's state while it is used, for a verdict. 0 and "": unknown.
struct device_condition {
  int clock_mhz, temperature_c, power_w;
  char throttle[64]; // what held the clock down when it last was, as monitor_throttle_text says it
  bool slowed;       // now: times taken around now say nothing
};

// What the device can do at best, measured with code of our own; bytes and operations a second. 0: not measured.
struct device_peaks {
  double copy_bytes_per_s; // read + written
  double read_bytes_per_s, write_bytes_per_s;
  double fp32_flops, tf32_flops, bf16_flops, fp16_flops, fp64_flops;
};
// Takes about two seconds on a GPU. The matrix kernels need sm_90a (or sm_80) tensor cores; others leave zeros.
enum assay_status peaks_measure(struct compute *c, struct device_peaks *out, struct assay_error *err);

#endif
