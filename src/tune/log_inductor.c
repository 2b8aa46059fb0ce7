// SPDX-License-Identifier: Apache-2.0
// What Inductor's max-autotune logs of each operator:
//
//   AUTOTUNE mm(256x384, 384x512)
//     triton_mm_12 0.0072 ms 100.0% ACC_TYPE='tl.float32', ...
//     mm 0.0077 ms 93.2%
//   SingleProcess AUTOTUNE benchmarking takes 1.6069 seconds and 0.3012 seconds precompiling for 36 choices
//
// TORCH_LOGS puts "V0730 15:44:26.245000 266432 torch/_inductor/select_algorithm.py:2010] [0/0] " before each of them.
//
// (before PyTorch 2.6 without the number of choices, before 2.4 "SingleProcess AUTOTUNE takes 4.2 seconds", and before
// 2.1 with "s" behind the milliseconds of a choice, "0.0072s 100.0%"; where
// choices are screened beforehand "... for 36 choices and 0.5 seconds prescreening").
//
// The lines are sorted by time and only the best ten are there, so the order of trials is not known: all of a block end
// with it. Further choices, up to the number that the last line has, are trials of which nothing is known.
//
// Whatever stands before AUTOTUNE in a line ("[rank1]:", "(Worker pid=7) ", "web-1 | ") says who wrote it: blocks of
// several processes may be interleaved, and each process has a clock of its own.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

enum { MOST_CHOICES = 4096, MOST_WRITERS = 32, WHO_BYTES = 128 };

// A process that writes, the block that it is in, and the seconds of its blocks so far.
struct writer {
  char who[WHO_BYTES];
  const char *block;  // NULL: none
  char operator[256]; // "mm(256x384, 384x512)"
  int64_t before_ns;
};

static bool is(const char *text, size_t n) {
  (void)n;
  return strstr(text, "AUTOTUNE ") != NULL;
}

// TORCH_LOGS' prefix "V0730 15:44:26.245000 266432 torch/...py:2010] [0/0] " ends here; NULL: there is none at `p`.
static const char *after_prefix(const char *p) {
  const char *at = p[0] && strchr("VDIWEC", p[0]) ? strstr(p, ".py:") : NULL;
  at = at ? strstr(at, "] ") : NULL;
  if (!at)
    return NULL;
  at += 2;
  for (const char *stop; *at == '[' && (stop = strstr(at, "] "));) // the frame that is compiled
    at = stop + 2;
  return at;
}

// The line's text and who wrote it: a rank and, behind TORCH_LOGS' prefix, a process; else what stands before `word`.
static const char *split(const char *line, const char *word, char who[WHO_BYTES]) {
  const char *rank = line[0] == '[' ? strstr(line, "]:") : NULL, *p = rank ? rank + 2 : line;
  p += rank && *p == ' ';
  const char *text = after_prefix(p);
  char process[32];
  if (text && sscanf(p, "%*s %*s %31s", process) == 1)
    snprintf(who, WHO_BYTES, "%.*s%s", (int)(p - line < 80 ? p - line : 80), line, process);
  else
    snprintf(who, WHO_BYTES, "%.*s", (int)(word - line < WHO_BYTES - 1 ? word - line : WHO_BYTES - 1), line);
  return text;
}

struct writers {
  int n;
  struct writer all[MOST_WRITERS];
};

static struct writer *writer_of(struct writers *w, const char *who) {
  for (int i = 0; i < w->n; i++)
    if (strcmp(w->all[i].who, who) == 0)
      return &w->all[i];
  if (w->n == MOST_WRITERS)
    return NULL;
  snprintf(w->all[w->n].who, WHO_BYTES, "%s", who);
  return &w->all[w->n++];
}

// A choice: its name with what describes it, "triton_mm_12 ACC_TYPE='tl.float32', BLOCK_K=32, ...", and its time; NaN:
// it failed ("inf ms").
struct choice {
  char name[1024];
  double ms;
};

// "  NAME 0.0072 ms 100.0% ...", or "0.0072s", which means milliseconds too
static bool read_choice(const char *line, struct choice *out) {
  char unit[8];
  int used = 0;
  double part;
  if (sscanf(line, " %511s %lf %7s%n", out->name, &out->ms, unit, &used) != 3 || used == 0 ||
      (strcmp(unit, "ms") != 0 && strcmp(unit, "s") != 0) || !(out->ms > 0))
    return false;
  out->ms = isfinite(out->ms) ? out->ms : NAN;
  line += used;
  used = 0;
  if (sscanf(line, " %lf%% %n", &part, &used) == 1 && used > 0 && line[used]) {
    size_t n = strlen(out->name), rest = strlen(line + used);
    while (rest > 0 && line[used + (int)rest - 1] == ' ')
      rest--;
    snprintf(out->name + n, sizeof out->name - n, " %.*s", (int)rest, line + used);
  }
  return true;
}

// A choice that this writer's block has in the line.
static bool choice_of_writer(const char *line, const struct writer *w, struct choice *out) {
  char who[WHO_BYTES];
  const char *text = split(line, line, who);
  size_t n = strlen(w->who);
  if (text)
    return strcmp(who, w->who) == 0 && read_choice(text, out);
  return strncmp(line, w->who, n) == 0 && read_choice(line + n, out);
}

// The writer's next choice in the lines from *p to `end`.
static bool next_choice(const char **p, const char *end, const struct writer *w, struct choice *out) {
  char line[4096];
  while (tune_log_line(p, end, line, sizeof line))
    if (choice_of_writer(line, w, out))
      return true;
  return false;
}

// What ends a block.
struct ending {
  double bench_s, compile_s;
  long choices; // 0: it does not say
};

static bool is_seconds(double s) {
  return s >= 0 && s < 1e7;
}

// "AUTOTUNE benchmarking takes ..." as a whole; one that is cut off says nothing that could be trusted.
static bool read_ending(const char *at, struct ending *e) {
  double screening_s = 0;
  int used = 0;
  *e = (struct ending){0};
  if (sscanf(at, "AUTOTUNE takes %lf seconds%n", &e->bench_s, &used) == 1 && used > 0)
    return is_seconds(e->bench_s);
  if (sscanf(at, "AUTOTUNE benchmarking takes %lf seconds and %lf seconds precompiling%n", &e->bench_s, &e->compile_s,
             &used) != 2 ||
      used == 0)
    return false;
  at += used;
  used = 0;
  if (sscanf(at, " for %ld choices%n", &e->choices, &used) == 1 && used > 0) {
    if (sscanf(at + used, " and %lf seconds prescreening", &screening_s) == 1 && is_seconds(screening_s))
      e->bench_s += screening_s;
  } else if (*at != '\0')
    return false;
  e->choices = e->choices < 0 ? 0 : e->choices < MOST_CHOICES ? e->choices : MOST_CHOICES;
  return is_seconds(e->bench_s) && is_seconds(e->compile_s);
}

// The choices from the writer's block to `end`, and those that are only counted. All of them ended when the block did,
// so that one of them is the summary: the last that is only counted, or the fastest where all have a line.
static enum assay_status put_block(struct tune_log_reader *r, struct writer *w, const char *end, const struct ending *e,
                                   struct assay_error *err) {
  struct choice c;
  struct store_trial whole = tune_log_trial(r, "inductor_max");
  whole.start_ns = w->before_ns;
  whole.compile_ns = (int64_t)(e->compile_s * 1e9);
  whole.bench_ns = (int64_t)(e->bench_s * 1e9);
  w->before_ns += whole.compile_ns + whole.bench_ns;
  int64_t named = 0, n = 0;
  for (const char *p = w->block; next_choice(&p, end, w, &c);)
    named++;
  enum assay_status status = ASSAY_OK;
  for (const char *p = w->block; !status && next_choice(&p, end, w, &c); n++) {
    struct store_trial t = whole;
    t.number = r->n;
    t.status = n == 0 && named >= e->choices ? STORE_TRIAL_SUMMARY : isnan(c.ms) ? STORE_TRIAL_FAILED : STORE_TRIAL_OK;
    t.configuration = c.name;
    t.detail = isnan(c.ms) ? "a choice that failed" : w->operator;
    t.start_ns = w->before_ns;
    t.compile_ns = t.bench_ns = 0;
    t.tuner_ns = c.ms * 1e6;
    status = tune_log_emit(r, &t, err);
  }
  w->block = NULL;
  for (; n < e->choices && !status; n++) {
    struct store_trial t = whole;
    bool last = n + 1 == e->choices;
    t.number = r->n;
    t.status = last ? STORE_TRIAL_SUMMARY : STORE_TRIAL_FAILED;
    t.detail = last ? "the seconds of all choices" : "a choice that the log does not name";
    status = tune_log_emit(r, &t, err);
  }
  return status;
}

// A process word before AUTOTUNE in the last line of a block.
static const char *start_of_ending(const char *line, const char *at) {
  static const char *const words[] = {"SingleProcess ", "SubProcess "};
  for (int i = 0; i < 2; i++) {
    size_t n = strlen(words[i]);
    if ((size_t)(at - line) >= n && memcmp(at - n, words[i], n) == 0)
      return at - n;
  }
  return at;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  struct writers writers = {0};
  char line[4096], who[WHO_BYTES];
  const char *p = text, *end = text + n;
  enum assay_status status = ASSAY_OK;
  while (!status && tune_log_line(&p, end, line, sizeof line)) {
    const char *at = strstr(line, "AUTOTUNE ");
    if (!at)
      continue;
    bool ends = strstr(at, "AUTOTUNE benchmarking takes ") == at || strstr(at, "AUTOTUNE takes ") == at;
    split(line, ends ? start_of_ending(line, at) : at, who);
    struct writer *w = writer_of(&writers, who);
    struct ending e;
    if (w && !ends) {
      w->block = p;
      snprintf(w->operator, sizeof w->operator, "%.250s", at + strlen("AUTOTUNE "));
    } else if (w && w->block && read_ending(at, &e))
      status = put_block(r, w, p, &e, err);
  }
  return status;
}

const struct tune_log_format tune_log_inductor = {.name = "inductor", .printed = true, .is = is, .read = read_log};
