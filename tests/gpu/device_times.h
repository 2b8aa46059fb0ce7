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
