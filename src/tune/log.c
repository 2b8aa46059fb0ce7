// SPDX-License-Identifier: Apache-2.0
#include "tune/log.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"

static const struct tune_log_format *const formats[] = {
#define ROW(name) &tune_log_##name,
    TUNE_LOG_FORMATS(ROW)
#undef ROW
};
enum { N_FORMATS = sizeof formats / sizeof *formats };
static const double MOST_NS = 1e16; // a hundred days and more

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
  struct store_trial own = *t;
  if (own.tuner_ns > MOST_NS) { // no kernel takes that long: a stranger's figure
    own.tuner_ns = NAN;
    own.status = own.status == STORE_TRIAL_OK ? STORE_TRIAL_FAILED : own.status;
  }
  return r->put(r->arg, &own, err);
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

// The end of a terminal's control sequence that begins at text[i]: "ESC [ ... letter", "ESC ] ... BEL", or two bytes.
static size_t after_escape(const char *text, size_t n, size_t i) {
  char kind = i + 1 < n ? text[i + 1] : '\0';
  i += i + 1 < n ? 2 : 1;
  if (kind == '[') {
    while (i < n && text[i] != '\n' && (unsigned char)text[i] < 0x40)
      i++;
    return i < n && text[i] != '\n' ? i + 1 : i;
  }
  while (kind == ']' && i < n && text[i] != '\n' && text[i] != '\a')
    i++;
  return kind == ']' && i < n && text[i] == '\a' ? i + 1 : i;
}

// The log as plain lines: without colours and byte order marks; what a progress bar wrote over is a line of its own; of
// UTF-16, as PowerShell redirects, the characters that fit into a byte. A NUL would end the text for whoever looks for
// words.
static enum assay_status make_plain(const struct tune_log *log, struct buf *out, struct assay_error *err) {
  const char *text = log->text;
  bool wide = tune_log_starts(text, log->n, "\xff\xfe");
  size_t step = wide ? 2 : 1;
  for (size_t i = wide ? 2 : tune_log_starts(text, log->n, "\xef\xbb\xbf") ? 3 : 0; i < log->n;) {
    char c = wide && i + 1 < log->n && text[i + 1] ? '?' : text[i];
    if (c == '\x1b' && !wide) {
      i = after_escape(text, log->n, i);
      continue;
    }
    i += step;
    if (c == '\r' && i < log->n && text[i] == '\n')
      continue;
    c = c == '\r' ? '\n' : c;
    if (c)
      buf_append(out, &c, 1);
  }
  return buf_status(out, err);
}

static const struct tune_log_format *find_format(const struct tune_log *log, int named, int *at) {
  for (; *at < N_FORMATS; ++*at)
    if (log->format ? *at == named : formats[*at]->is(log->text, log->n))
      return formats[(*at)++];
  return NULL;
}

enum assay_status tune_log_read(const struct tune_log *log, const struct tune_log_about *about, tune_log_put *put,
                                void *arg, int64_t *trials, struct assay_error *err) {
  static const char *const names[] = {
#define NAME(name) #name,
      TUNE_LOG_FORMATS(NAME) NULL
#undef NAME
  };
  int named = log->format ? choice_of("a tuner's log is of the format", names, log->format, err) : -1, at = 0;
  if (log->format && named < 0)
    return ASSAY_ERR_USAGE;
  struct buf text = {0};
  enum assay_status status = make_plain(log, &text, err);
  const struct tune_log plain = {log->format, buf_str(&text), text.len};
  const struct tune_log_format *first = status ? NULL : find_format(&plain, named, &at), *f = first;
  if (!status && !f)
    status = error_set(err, ASSAY_ERR_USAGE, "%s is no log of a tuner that is known:" TUNE_LOG_NAMES, about->file);
  // A table is of one tuner; what a program printed may be of several, one after the other or in between.
  for (*trials = 0; !status && f; f = first->printed ? find_format(&plain, named, &at) : NULL) {
    struct tune_log_reader r = {.about = about, .put = put, .arg = arg};
    if (f == first || f->printed)
      status = f->read(&r, plain.text, plain.n, err);
    *trials += r.n;
  }
  buf_release(&text);
  if (!status && *trials == 0)
    status = error_set(err, ASSAY_ERR_SYNTAX, "%s: nothing in it is a trial of %s", about->file, first->name);
  return status;
}
