// SPDX-License-Identifier: Apache-2.0
#include "serve/metrics.h"

#include <string.h>

static const char *const stage_names[] = {
#define STAGE_NAME(id, name) name,
    SERVE_STAGES(STAGE_NAME)
#undef STAGE_NAME
};
static const char *const reason_codes[] = {
#define REASON_CODE(name, code, text) code,
    ASSAY_REASONS(REASON_CODE)
#undef REASON_CODE
};
static const char *const methods[METRICS_METHODS] = {"GET", "HEAD", "POST", "DELETE", "other"};
static const unsigned codes[METRICS_CODES] = {200, 202, 304, 400, 401, 403, 404, 405,
                                              409, 413, 415, 422, 429, 500, 503};
static const double bounds[METRICS_BOUNDS] = {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};

void metrics_init(struct metrics *m) {
  memset(m, 0, sizeof *m);
  pthread_mutex_init(&m->lock, NULL);
}

void metrics_release(struct metrics *m) {
  pthread_mutex_destroy(&m->lock);
}

// The last code stands for those that are not listed.
static int code_index(unsigned code) {
  int i = 0;
  while (i < METRICS_CODES - 1 && codes[i] != code)
    i++;
  return i;
}

void metrics_request(struct metrics *m, enum route route, const char *method, unsigned code) {
  int k = 0;
  while (k < METRICS_METHODS - 1 && strcmp(methods[k], method) != 0)
    k++;
  pthread_mutex_lock(&m->lock);
  m->requests[route][k][code_index(code)]++;
  pthread_mutex_unlock(&m->lock);
}

void metrics_finished(struct metrics *m, const char *reason, const int64_t stages_ns[N_STAGES]) {
  int r = 0;
  while (r < METRICS_REASONS - 1 && strcmp(reason_codes[r], reason) != 0)
    r++;
  pthread_mutex_lock(&m->lock);
  m->finished[r]++;
  for (int i = 0; i < N_STAGES; i++) {
    double seconds = (double)stages_ns[i] / 1e9;
    int b = 0;
    while (b < METRICS_BOUNDS && seconds > bounds[b])
      b++;
    m->stages[i].below[b]++;
    m->stages[i].sum += seconds;
  }
  pthread_mutex_unlock(&m->lock);
}

void metrics_put_back(struct metrics *m) {
  pthread_mutex_lock(&m->lock);
  m->put_back++;
  pthread_mutex_unlock(&m->lock);
}

void metrics_busy(struct metrics *m, int unit, int64_t ns) {
  pthread_mutex_lock(&m->lock);
  m->busy_seconds[unit] += (double)ns / 1e9;
  pthread_mutex_unlock(&m->lock);
}

static void head(struct buf *out, const char *name, const char *type, const char *help) {
  buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_jobs(const struct metrics_device *devices, int n, int64_t now_ns, struct buf *out) {
  head(out, "assay_jobs", "gauge", "Jobs by state.");
  for (int i = 0; i < n; i++)
    for (int k = 0; k < QUEUE_N_STATES; k++)
      buf_printf(out, "assay_jobs{state=\"%s\",device=\"%s\"} %lld\n", queue_state_name((enum queue_state)k),
                 devices[i].name, (long long)devices[i].count.jobs[k]);
  head(out, "assay_queue_oldest_seconds", "gauge", "Age of the job that waits longest; 0 where none waits.");
  for (int i = 0; i < n; i++) {
    int64_t oldest = devices[i].count.oldest_ns;
    buf_printf(out, "assay_queue_oldest_seconds{device=\"%s\"} %.3f\n", devices[i].name,
               oldest > 0 && now_ns > oldest ? (double)(now_ns - oldest) / 1e9 : 0.0);
  }
}

static void print_requests(const struct metrics *m, struct buf *out) {
  head(out, "assay_http_requests_total", "counter", "Requests answered; code 0 stands for all that are not listed.");
  for (int r = 0; r < N_ROUTES; r++)
    for (int k = 0; k < METRICS_METHODS; k++)
      for (int c = 0; c < METRICS_CODES; c++)
        if (m->requests[r][k][c] > 0)
          buf_printf(out, "assay_http_requests_total{route=\"%s\",method=\"%s\",code=\"%u\"} %lld\n",
                     route_name((enum route)r), methods[k], codes[c], (long long)m->requests[r][k][c]);
}

static void print_stages(const struct metrics *m, struct buf *out) {
  const char *name = "assay_stage_duration_seconds";
  head(out, name, "histogram", "How long the stages of judgements took.");
  for (int i = 0; i < N_STAGES; i++) {
    int64_t below = 0;
    for (int b = 0; b < METRICS_BOUNDS; b++) {
      below += m->stages[i].below[b];
      buf_printf(out, "%s_bucket{stage=\"%s\",le=\"%g\"} %lld\n", name, stage_names[i], bounds[b], (long long)below);
    }
    below += m->stages[i].below[METRICS_BOUNDS];
    buf_printf(out, "%s_bucket{stage=\"%s\",le=\"+Inf\"} %lld\n", name, stage_names[i], (long long)below);
    buf_printf(out, "%s_sum{stage=\"%s\"} %.9g\n%s_count{stage=\"%s\"} %lld\n", name, stage_names[i], m->stages[i].sum,
               name, stage_names[i], (long long)below);
  }
}

void metrics_print(struct metrics *m, const struct serve_options *o, const struct metrics_device *devices, int n,
                   int64_t now_ns, struct buf *out) {
  head(out, "assay_build_info", "gauge", "The judge's version.");
  buf_printf(out, "assay_build_info{version=\"%s\"} 1\n", o->version);
  print_jobs(devices, n, now_ns, out);
  pthread_mutex_lock(&m->lock);
  head(out, "assay_jobs_finished_total", "counter", "Verdicts published since the server started.");
  for (int i = 0; i < METRICS_REASONS; i++)
    if (m->finished[i] > 0)
      buf_printf(out, "assay_jobs_finished_total{reason=\"%s\"} %lld\n", reason_codes[i], (long long)m->finished[i]);
  head(out, "assay_jobs_put_back_total", "counter", "Judgements that a fault of the machine ended.");
  buf_printf(out, "assay_jobs_put_back_total %lld\n", (long long)m->put_back);
  head(out, "assay_device_busy_seconds_total", "counter", "Time that candidates were on the device.");
  for (int i = 0; i < o->n_units; i++)
    buf_printf(out, "assay_device_busy_seconds_total{device=\"%s\",worker=\"%d\"} %.3f\n", o->units[i].name, i,
               m->busy_seconds[i]);
  print_stages(m, out);
  print_requests(m, out);
  pthread_mutex_unlock(&m->lock);
}
