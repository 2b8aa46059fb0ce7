// SPDX-License-Identifier: Apache-2.0
// Scenarios of tests/gpu/device.c: what the clock says of kernels whose time is known. Part of device_scenarios.h.
#ifndef TESTS_GPU_DEVICE_TIMES_H
#define TESTS_GPU_DEVICE_TIMES_H

static const char *const mode_names[] = {"cold", "hot", "as called", "null", "empty"};

static void all_modes(struct runner *r, const char *what, double us[DEVICE_EMPTY + 1]) {
  char row[64];
  for (int mode = DEVICE_COLD; mode <= DEVICE_EMPTY; mode++) {
    snprintf(row, sizeof row, "%s, %s", what, mode_names[mode]);
    us[mode] = medians(r, row, (enum device_mode)mode);
  }
}

static int loaded(struct runner *r, const char *what) {
  struct device_report report = load(r);
  return report.event == DEVICE_OK ? 0 : expect(what, &report, DEVICE_OK);
}

static int busy(struct runner *r, const char *what, double wanted_us) {
  struct device_facts f;
  double us[DEVICE_EMPTY + 1];
  device_cuda.facts(r->device, &f);
  begin(r);
  struct plan_step *s = made_launch(&made, "busy", 1, 32);
  made_long(&made, s, (int64_t)(wanted_us * 1e-3 * f.clock_khz));
  if (loaded(r, what))
    return 1;
  all_modes(r, what, us);
  device_cuda.unload(r->device);
  // The clock may be lower than its maximum; it is never higher.
  return us[DEVICE_COLD] < wanted_us || us[DEVICE_COLD] > 2.5 * wanted_us + 10;
}

static int times(struct runner *r) {
  double us[DEVICE_EMPTY + 1], copied;
  struct device_facts f;
  device_cuda.facts(r->device, &f);
  begin(r);
  made_launch(&made, "empty", 1, 32);
  int failures = loaded(r, "empty");
  if (failures)
    return failures;
  all_modes(r, "empty kernel", us);
  device_cuda.unload(r->device);
  failures += us[DEVICE_NULL] > us[DEVICE_EMPTY] || us[DEVICE_COLD] > 20;
  failures += busy(r, "10 us kernel", 10) + busy(r, "100 us kernel", 100);
  begin(r);
  struct plan_step *s = made_launch(&made, "copy_pieces", (uint32_t)f.processors * 16, 512);
  made_pointer(&made, s, 0, 0);
  made_pointer(&made, s, 1, 0);
  made_long(&made, s, (int64_t)(r->board->in[0].bytes / 16));
  failures += loaded(r, "copy");
  copied = medians(r, "copy of 256 MiB, cold", DEVICE_COLD);
  printf("    %.0f GB/s read and written\n", 2e-3 * (double)r->board->in[0].bytes / copied);
  medians(r, "copy of 256 MiB, hot", DEVICE_HOT);
  device_cuda.unload(r->device);
  begin(r);
  s = made_step(&made, PLAN_COPY);
  *s = (struct plan_step){.kind = PLAN_COPY, .to = {1, 0}, .from = {0, 0}, .bytes = r->board->in[0].bytes};
  failures += loaded(r, "copy");
  medians(r, "the driver's copy, cold", DEVICE_COLD);
  return failures;
}

// ---- stamps that kernels can reach, and stamps that they cannot

enum { STAMPS = 64, STAMP_CALLS = 200 };

static int forging_plan(struct runner *r, uint64_t stamp, int64_t ns) {
  begin(r);
  struct plan_step *s = made_launch(&made, "forge", 1, 1);
  made_long(&made, s, (int64_t)stamp);
  made_long(&made, s, ns);
  return loaded(r, "forge");
}

// Words of the driver's memory, as far as it lies at low addresses, that are times of the last 10 ms: the device's
// clock shows the time of day.
static int find_stamps(uint64_t found[STAMPS]) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, from, to;
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512];
  int n = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " rw-s", &from, &to) != 2 || from < 1ull << 32 || to > 1ull << 36 ||
        !strstr(line, "nvidiactl"))
      continue;
    for (uint64_t at = from; at < to && n < STAMPS; at += 8) {
      uint64_t word = *(volatile uint64_t *)(uintptr_t)at;
      if (now - word < 10000000)
        found[n++] = at;
    }
  }
  if (maps)
    fclose(maps);
  return n;
}

// How much longer the stamps outside say than the events do, as a distribution over calls.
static double outside_less_events(struct runner *r, const char *what, enum device_mode mode) {
  int64_t ns[STAMP_CALLS];
  int n = 0;
  for (int i = 0; i < STAMP_CALLS; i++) {
    struct device_report report = call(r, mode);
    if (report.times.outside_ns > 0)
      ns[n++] = report.times.outside_ns - report.times.device_ns;
  }
  if (n < STAMP_CALLS / 2) {
    printf("    %s: only %d of %d calls have stamps outside\n", what, n, STAMP_CALLS);
    return -1;
  }
  qsort(ns, (size_t)n, sizeof *ns, ascending);
  printf(
      "    %-24s outside less events, us: least %.2f, median %.2f, 90 %% %.2f, 99 %% %.2f, most %.2f; %d of %d calls\n",
      what, 1e-3 * (double)ns[0], 1e-3 * (double)ns[n / 2], 1e-3 * (double)ns[n * 9 / 10],
      1e-3 * (double)ns[n * 99 / 100], 1e-3 * (double)ns[n - 1], n, STAMP_CALLS);
  return 1e-3 * (double)ns[n / 2];
}

static int stamps(struct runner *r) {
  enum { WORK_NS = 300000 };
  uint64_t at[STAMPS];
  int failures = 0, forged = 0;
  double null_us = outside_less_events(r, "without a kernel", DEVICE_NULL);
  static const int64_t works[] = {1000, 10000, 100000};
  for (int i = 0; i < 3; i++) {
    char what[40];
    snprintf(what, sizeof what, "%lld us of work", (long long)works[i] / 1000);
    if (forging_plan(r, 0, works[i]))
      return 1;
    double us = outside_less_events(r, what, DEVICE_COLD);
    failures += null_us < 0 || us < 0 || us > null_us + 0.5 || us < null_us - 0.5;
    device_cuda.unload(r->device);
  }
  if (forging_plan(r, 0, WORK_NS))
    return 1;
  call(r, DEVICE_COLD);
  int n = find_stamps(at);
  device_cuda.unload(r->device);
  for (int i = 0; i < n; i++) {
    if (forging_plan(r, at[i], WORK_NS))
      return 1;
    struct device_times t = call(r, DEVICE_COLD).times;
    bool fooled = t.device_ns > 0 && t.device_ns < WORK_NS / 2;
    forged += fooled;
    if (fooled)
      printf("    a kernel that writes to %#" PRIx64 ": events say %.1f us, the stamps outside %.1f us\n", at[i],
             1e-3 * (double)t.device_ns, 1e-3 * (double)t.outside_ns);
    failures += fooled && t.outside_ns < WORK_NS;
    device_cuda.unload(r->device);
  }
  printf("    %d words looked like stamps, %d of them were forged\n", n, forged);
  return failures;
}

static int reduction(struct runner *r, const char *kernel) {
  struct device_facts f;
  device_cuda.facts(r->device, &f);
  begin(r);
  struct plan_step *s = made_launch(&made, kernel, (uint32_t)f.processors * 4, 512);
  made_pointer(&made, s, 0, 0);
  made_pointer(&made, s, 1, 0);
  made_long(&made, s, (int64_t)(r->board->in[0].bytes / 16));
  return loaded(r, kernel);
}

// 20 MiB fit into the cache: hot is to be plainly faster than cold, and no trick with the cache may change cold.
static int flush(struct runner *r) {
  int failures = reduction(r, "reduce");
  double cold = medians(r, "reduce 20 MiB, cold", DEVICE_COLD);
  double hot = medians(r, "reduce 20 MiB, hot", DEVICE_HOT);
  double again = medians(r, "reduce 20 MiB, cold again", DEVICE_COLD);
  device_cuda.unload(r->device);
  failures += reduction(r, "reduce_persisting");
  double persisting = medians(r, "lines that persist, cold", DEVICE_COLD);
  double persisting_hot = medians(r, "lines that persist, hot", DEVICE_HOT);
  device_cuda.unload(r->device);
  printf("    hot is %.2f times as fast as cold; persisting lines make cold %.2f times as fast\n", cold / hot,
         cold / persisting);
  if (hot > 0.85 * cold || again < 0.95 * cold || again > 1.05 * cold) {
    printf("    the flush does not work\n");
    failures++;
  }
  if (persisting < 0.93 * cold) {
    printf("    lines that persist survive the flush\n");
    failures++;
  }
  (void)persisting_hot;
  return failures;
}

#endif
