// SPDX-License-Identifier: Apache-2.0
// What Helion's search prints while it runs:
//
//   [0s] Starting PatternSearch with initial_population=200, copies=5
//   [15s] Skipping config with accuracy mismatch: helion.Config(block_sizes=[128, 16], num_warps=8)
//   [43s] Initial population: failed=4 ok=96 min=0.1161 mid=0.3548 max=3.5272 best=Config(block_sizes=[64, 32])
//   [60s] Generation 1 complete: error=5 ok=40 min=0.1012 mid=0.1100 max=0.2000 best=Config(...)
//   [251s] Autotuning complete in 251.2s after searching 775 configs.
//
// (before Helion 0.1.8 "Generation 2: replaced=17 min=..." and "Generation 1, 40 neighbors, 5 active: min=...")
//
// and, since then, of the first and of later generations:
//
//   [43s] Initial random population of 100, 5 starting points:
//   error=4 ok=96 | min=0.1161 mid=0.3548 max=3.5272
//   best:
//     block_sizes = [64, 32]
//     num_warps   = 8
//   [43s] Generation 1 starting: 40 neighbors, 5 active search path(s)
//
// Of a generation the fastest so far is a trial with a time, and those that were wrong stand by themselves; of further
// ones, as many as it counts, nothing is known. A generation counts its parents, too: where the last line says how many
// configurations there were, they are taken off the later ones. Searches in one log follow one another.
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "tune/log.h"

enum { MOST_CONFIGURATIONS = 1 << 18 /* of a search */, MOST_GENERATIONS = 256 };

// A generation as far as it was read.
struct generation {
  double at_s, best_ms;
  long counted; // configurations, of whatever kind
  long wrong;   // of these, those that stand by themselves
  char best[2048];
};

// A configuration that was wrong, and the generation that it belongs to.
struct wrong {
  int generation;
  double at_s;
  const char *configuration;
};

struct search {
  struct tune_log_reader *r;
  double before_s, last_s; // what earlier searches took; the last line's second
  long put;                // trials of this search
  bool open, lists;        // the last generation's words go on; they are the best one's
  int n;
  struct generation all[MOST_GENERATIONS];
  struct arena arena;
  struct wrong *wrong;
  size_t n_wrong, capacity;
};

// "[43s] TEXT": the text; NULL: it does not begin so.
static const char *timed_line(const char *line, double *at_s) {
  char *end;
  if (line[0] != '[' || !isdigit((unsigned char)line[1]))
    return NULL;
  *at_s = strtod(line + 1, &end);
  return *at_s < 1e7 && end[0] == 's' && end[1] == ']' && end[2] == ' ' ? end + 3 : NULL;
}

static bool is(const char *text, size_t n) {
  (void)n;
  return strstr(text, "s] Autotuning complete in ") != NULL ||
         ((strstr(text, "s] Initial population") != NULL || strstr(text, "s] Initial random population") != NULL) &&
          strstr(text, "min=") != NULL);
}

static enum assay_status put(struct search *s, struct store_trial *t, double at_s, struct assay_error *err) {
  t->number = s->r->n;
  t->start_ns = (int64_t)((s->before_s + at_s) * 1e9);
  s->put++;
  return tune_log_emit(s->r, t, err);
}

static enum assay_status put_unknown(struct search *s, long n, double at_s, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (long i = 0; i < n && s->put < MOST_CONFIGURATIONS && !status; i++) {
    struct store_trial t = tune_log_trial(s->r, "helion");
    t.status = STORE_TRIAL_FAILED;
    t.detail = "a configuration that the log does not name";
    status = put(s, &t, at_s, err);
  }
  return status;
}

static bool is_timed(const struct generation *g) {
  return g->best_ms > 0 && isfinite(g->best_ms);
}

// Configurations of a generation that no trial stands for by itself.
static long unknown_of(const struct generation *g) {
  long n = g->counted - g->wrong - is_timed(g);
  return n > 0 ? n : 0;
}

// Takes what generations count beyond `all` off the later ones, by turns.
static void drop_parents(struct search *s, long all) {
  long counted = (long)s->n_wrong;
  for (int i = 0; i < s->n; i++)
    counted += unknown_of(&s->all[i]) + is_timed(&s->all[i]);
  for (bool any = true; any && counted > all;) {
    any = false;
    for (int i = 1; i < s->n && counted > all; i++)
      if (unknown_of(&s->all[i]) > 0) {
        s->all[i].counted--;
        counted--;
        any = true;
      }
  }
}

static enum assay_status put_wrong(struct search *s, int generation, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (size_t i = 0; i < s->n_wrong && !status; i++) {
    struct store_trial t = tune_log_trial(s->r, "helion");
    if (s->wrong[i].generation != generation)
      continue;
    t.status = STORE_TRIAL_WRONG;
    t.configuration = s->wrong[i].configuration;
    t.detail = "accuracy mismatch";
    status = put(s, &t, s->wrong[i].at_s, err);
  }
  return status;
}

static enum assay_status put_generations(struct search *s, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < s->n && !status; i++) {
    const struct generation *g = &s->all[i];
    status = put_wrong(s, i, err);
    if (!status)
      status = put_unknown(s, unknown_of(g), g->at_s, err);
    if (status || !is_timed(g))
      continue;
    struct store_trial t = tune_log_trial(s->r, "helion");
    t.tuner_ns = g->best_ms * 1e6;
    t.configuration = g->best;
    t.detail = "the fastest of its generation";
    status = put(s, &t, g->at_s, err);
  }
  return status ? status : put_wrong(s, s->n, err);
}

// "  block_sizes = [64, 32]", below "best:".
static void read_listed(struct generation *g, const char *p) {
  char name[64];
  int used = 0;
  size_t n = strlen(g->best);
  if (sscanf(p, " %63[A-Za-z0-9_] = %n", name, &used) == 1 && used > 0)
    snprintf(g->best + n, sizeof g->best - n, "%s%s=%.1000s", n ? ", " : "", name, p + used);
}

// Whether a configuration goes on in the next line: Helion prints "best={'a': [1]," with a line for each of its
// members.
static bool goes_on(const char *configuration) {
  int depth = 0;
  for (const char *p = configuration; *p; p++)
    depth += (*p == '{' || *p == '(' || *p == '[') - (*p == '}' || *p == ')' || *p == ']');
  return depth > 0;
}

static void read_rest(struct generation *g, const char *p) {
  size_t n = strlen(g->best);
  snprintf(g->best + n, sizeof g->best - n, " %.1000s", p + strspn(p, " "));
}

// "error=25 ok=79 | min=0.1161 ... best=Config(...)", or some of it.
static void read_words(struct search *s, const char *p) {
  struct generation *g = &s->all[s->n - 1];
  char name[32];
  double value;
  int used = 0; // stays 0 where the text ends before it is set
  if (s->lists || goes_on(g->best)) {
    (s->lists ? read_listed : read_rest)(g, p);
    return;
  }
  s->lists = strncmp(p, "best:", 5) == 0;
  for (; sscanf(p, " %31[a-z_]=%n", name, &used) == 1 && used > 0; used = 0) {
    p += used;
    if (strcmp(name, "best") == 0) {
      snprintf(g->best, sizeof g->best, "%.2000s", p);
      return;
    }
    if (sscanf(p, "%lf%n", &value, &used) != 1)
      return;
    p += used;
    p += *p == 's' && (p[1] == ' ' || !p[1]); // before Helion 0.0.5, behind milliseconds
    if (strcmp(name, "min") == 0)
      g->best_ms = value;
    else if (strcmp(name, "mid") != 0 && strcmp(name, "max") != 0 && strcmp(name, "replaced") != 0 && value >= 0 &&
             value < MOST_CONFIGURATIONS)
      g->counted += (long)value;
    p += strspn(p, " |");
  }
}

static void begin_generation(struct search *s, double at_s, const char *words) {
  if (s->n == MOST_GENERATIONS)
    return;
  struct generation *g = &s->all[s->n++];
  *g = (struct generation){.at_s = at_s, .best_ms = NAN};
  for (size_t i = 0; i < s->n_wrong; i++)
    g->wrong += s->wrong[i].generation == s->n - 1;
  s->open = true;
  s->lists = false;
  read_words(s, words);
}

static enum assay_status take_wrong(struct search *s, const char *configuration, double at_s, struct assay_error *err) {
  if (s->n_wrong == s->capacity) {
    struct wrong *more = arena_grow(&s->arena, s->wrong, s->n_wrong, &s->capacity, sizeof *more);
    if (!more)
      return error_nomem(err, "a tuner's log");
    s->wrong = more;
  }
  const char *kept = arena_strdup(&s->arena, configuration);
  if (!kept)
    return error_nomem(err, "a tuner's log");
  s->wrong[s->n_wrong++] = (struct wrong){s->n, at_s, kept};
  return ASSAY_OK;
}

static void begin_search(struct search *s, double took_s) {
  arena_release(&s->arena);
  *s = (struct search){.r = s->r, .before_s = s->before_s + took_s};
}

// "Autotuning complete in 251.2s after searching 775 configs.": what was not told of before, and the seconds of all.
static enum assay_status end_search(struct search *s, const char *text, struct assay_error *err) {
  double seconds = NAN;
  long all = 0;
  int used = 0;
  if (sscanf(text, "Autotuning complete in %lfs after searching %ld configs%n", &seconds, &all, &used) != 2 || !used ||
      !(seconds >= 0 && seconds < 1e7))
    return ASSAY_OK; // cut off
  drop_parents(s, all > 0 ? all - 1 : 0);
  enum assay_status status = put_generations(s, err);
  if (!status)
    status = put_unknown(s, all - s->put - 1, seconds, err);
  struct store_trial t = tune_log_trial(s->r, "helion");
  t.status = STORE_TRIAL_SUMMARY;
  t.detail = "the seconds of the search";
  t.bench_ns = (int64_t)(seconds * 1e9);
  if (!status)
    status = put(s, &t, 0, err);
  begin_search(s, seconds);
  return status;
}

// The figures of a line that ends a generation, as far as they are in it: what follows its first colon. NULL: it ends
// none. "Initial population: 12 total" says how many there will be.
static const char *figures_of(const char *said) {
  const char *colon = strchr(said, ':'), *at = colon ? colon + 1 + strspn(colon + 1, " ") : NULL;
  bool first = strncmp(said, "Initial population", 18) == 0 || strncmp(said, "Initial random population", 25) == 0;
  bool later = strncmp(said, "Generation ", 11) == 0 || strncmp(said, "Round ", 6) == 0;
  if (!at || !(first || later))
    return NULL;
  if (first)
    return *at == '\0' || strstr(at, "min=") ? at : NULL;
  return strstr(said, " complete:") || strstr(at, " min=") || strncmp(at, "min=", 4) == 0 ? at : NULL;
}

static enum assay_status read_line(struct search *s, const char *line, struct assay_error *err) {
  static const char wrong[] = "Skipping config with accuracy mismatch: ", done[] = "Autotuning complete in ";
  double at_s;
  const char *said = timed_line(line, &at_s), *figures;
  if (!said) {
    if (s->open)
      read_words(s, line);
    return ASSAY_OK;
  }
  enum assay_status status = ASSAY_OK;
  if (at_s < s->last_s) { // the next search; of this one there is no last line
    double took_s = s->last_s;
    status = put_generations(s, err);
    begin_search(s, took_s);
  }
  s->open = false;
  s->last_s = at_s;
  if (!status && strncmp(said, wrong, sizeof wrong - 1) == 0)
    status = take_wrong(s, said + sizeof wrong - 1, at_s, err);
  else if (!status && strncmp(said, done, sizeof done - 1) == 0)
    status = end_search(s, said, err);
  else if (!status && (figures = figures_of(said)))
    begin_generation(s, at_s, figures);
  return status;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  struct search *s = base_calloc(1, sizeof *s);
  const char *p = text, *end = text + n;
  char line[4096];
  if (!s)
    return error_nomem(err, "a tuner's log");
  s->r = r;
  enum assay_status status = ASSAY_OK;
  while (!status && tune_log_line(&p, end, line, sizeof line))
    status = read_line(s, line, err);
  if (!status)
    status = put_generations(s, err);
  arena_release(&s->arena);
  base_free(s);
  return status;
}

const struct tune_log_format tune_log_helion_text = {
    .name = "helion_text", .printed = true, .is = is, .read = read_log};
