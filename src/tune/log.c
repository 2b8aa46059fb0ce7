// SPDX-License-Identifier: Apache-2.0
#include "tune/log.h"

#include <math.h>
#include <string.h>

#include "base/choice.h"

static const struct tune_log_format *const formats[] = {
#define ROW(name) &tune_log_##name,
    TUNE_LOG_FORMATS(ROW)
#undef ROW
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

struct store_trial tune_log_trial(const struct tune_log_reader *r, const char *maker) {
  const struct tune_log_about *a = r->about;
  return (struct store_trial){.status = STORE_TRIAL_OK,
                              .run = a->run,
                              .task = a->task,
                              .workload = a->workload,
                              .device = a->device,
                              .maker = maker,
                              .candidate = a->file,
                              .configuration = "",
                              .detail = "",
                              .number = r->n,
                              .at_ns = 1,
                              .time_ns = NAN,
                              .tuner_ns = NAN};
}

enum assay_status tune_log_emit(struct tune_log_reader *r, const struct store_trial *t, struct assay_error *err) {
  if (r->n == TUNE_LOG_MOST_TRIALS)
    return error_set(err, ASSAY_ERR_LIMIT, "a log of more than %d trials", TUNE_LOG_MOST_TRIALS);
  r->n++;
  return r->put(r->arg, t, err);
}

int tune_log_cells(char *line, char **cells, int most) {
  int n = 0;
  bool quoted = false, more = true;
  char *to = line;
  for (const char *from = line; more && n < most; n++) {
    cells[n] = to;
    for (; *from && (quoted || *from != ','); from++) {
      if (*from != '"')
        *to++ = *from;
      else if (quoted && from[1] == '"') // two are one
        *to++ = *from++;
      else
        quoted = !quoted;
    }
    more = *from == ',';
    from += more;
    *to++ = '\0';
  }
  return n;
}

bool tune_log_line(const char **p, const char *end, char *line, size_t size) {
  if (*p >= end)
    return false;
  const char *stop = memchr(*p, '\n', (size_t)(end - *p));
  stop = stop ? stop : end;
  size_t n = (size_t)(stop - *p);
  if (n > 0 && (*p)[n - 1] == '\r')
    n--;
  n = n < size ? n : size - 1;
  memcpy(line, *p, n);
  line[n] = '\0';
  *p = stop + 1;
  return true;
}

bool tune_log_starts(const char *text, size_t n, const char *with) {
  size_t m = strlen(with);
  return n >= m && memcmp(text, with, m) == 0;
}

enum assay_status tune_log_read(const struct tune_log *log, const struct tune_log_about *about, tune_log_put *put,
                                void *arg, int64_t *trials, struct assay_error *err) {
  static const char *const names[] = {
#define NAME(name) #name,
      TUNE_LOG_FORMATS(NAME) NULL
#undef NAME
  };
  const struct tune_log_format *f = NULL;
  int named = log->format ? choice_of("a tuner's log is of the format", names, log->format, err) : -1;
  if (log->format && named < 0)
    return ASSAY_ERR_USAGE;
  for (int i = 0; i < N_FORMATS && !f; i++)
    if (log->format ? i == named : formats[i]->is(log->text, log->n))
      f = formats[i];
  if (!f)
    return error_set(err, ASSAY_ERR_USAGE, "%s is no log of a tuner that is known:" TUNE_LOG_NAMES, about->file);
  struct tune_log_reader r = {.about = about, .put = put, .arg = arg};
  enum assay_status status = f->read(&r, log->text, log->n, err);
  if (!status && r.n == 0)
    status = error_set(err, ASSAY_ERR_SYNTAX, "%s: nothing in it is a trial of %s", about->file, f->name);
  *trials = r.n;
  return status;
}
