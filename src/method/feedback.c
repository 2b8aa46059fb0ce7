// SPDX-License-Identifier: Apache-2.0
#include "method/feedback.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/choice.h"
#include "base/printable.h"
#include "report/view.h"
#include "task/distribution.h"
#include "task/shapes.h"

enum { MOST_QUOTED_BYTES = 2500, MOST_QUOTED_LINES = 40, MOST_ELEMENTS = 4, MOST_KERNELS = 4 };

enum { EXECUTION_RUNGS = (1 << FEEDBACK_TIME) - 1, ALL_RUNGS = (1 << FEEDBACK_RUNG_COUNT) - 1 };

static const char *const rung_names[] = {
#define NAME(id, name, text) [FEEDBACK_##id] = name,
    FEEDBACK_RUNGS(NAME)
#undef NAME
};

// A level's name is one of its own, the others may be in a list.
static enum assay_status no_rung(const char *text, size_t n, struct assay_error *err) {
#define NAME(id, name, text) name,
  static const char *const names[] = {"code", "execution", "performance", FEEDBACK_RUNGS(NAME) NULL};
#undef NAME
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
  choice_of("feedback is a level (the first three) or a list of the others:", names, word, err);
  return ASSAY_ERR_USAGE;
}

enum assay_status feedback_parse(const char *text, unsigned *rungs, struct assay_error *err) {
  static const struct {
    const char *name;
    unsigned rungs;
  } levels[] = {{"code", 0}, {"execution", EXECUTION_RUNGS}, {"performance", ALL_RUNGS}};
  unsigned found = 0;
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
    if (strcmp(levels[i].name, text) == 0) {
      *rungs = levels[i].rungs;
      return ASSAY_OK;
    }
  for (const char *at = text; *at;) {
    size_t n = strcspn(at, ",");
    unsigned bit = 0;
    for (int i = 0; i < FEEDBACK_RUNG_COUNT; i++)
      if (strlen(rung_names[i]) == n && strncmp(rung_names[i], at, n) == 0)
        bit = 1u << i;
    if (!bit)
      return no_rung(at, n, err);
    found |= bit;
    at += n + (at[n] == ',');
  }
  *rungs = found;
  return ASSAY_OK;
}

// A stranger's text: bounded, printable, and no line of it can be a fence.
static void quote(struct buf *out, const char *text, size_t n) {
  size_t begin = out->len, lines = 0;
  bool cut = false, line_begins = true;
  for (size_t i = 0; i < n && !cut; i++) {
    cut = out->len - begin >= MOST_QUOTED_BYTES || lines >= MOST_QUOTED_LINES;
    lines += text[i] == '\n';
    if (!cut)
      buf_append(out, text[i] == '`' || (text[i] == '~' && line_begins) ? "'" : &text[i], 1);
    line_begins = text[i] == '\n' || (line_begins && (text[i] == ' ' || text[i] == '~'));
  }
  if (out->data) {
    printable(out->data + begin);
    out->len = begin + strlen(out->data + begin);
  }
  if (out->len > begin && out->data[out->len - 1] != '\n')
    buf_puts(out, "\n");
  if (cut)
    buf_puts(out, "(more of it was left out)\n");
}

// A compiler's messages without its warnings and what goes with them; everything where it names no error.
static void keep_errors(const char *text, struct buf *out) {
  bool keep = false;
  for (const char *at = text; *at;) {
    size_t n = strcspn(at, "\n");
    n += at[n] == '\n';
    if (memmem(at, n, "warning", strlen("warning")))
      keep = false;
    else if (memmem(at, n, "error", strlen("error")))
      keep = true;
    if (keep)
      buf_append(out, at, n);
    at += n;
  }
  if (out->len == 0)
    buf_puts(out, text);
}

static void write_build(const struct verdict_view *v, struct buf *out) {
  const char *said = v->diagnostics[0] ? v->diagnostics : v->stored.detail;
  buf_printf(out, "It does not build: %s. The compiler says, the first error first:\n",
             v->stored.reason == ASSAY_REASON_BUILD_FAILED ? "the compiler rejects it"
                                                           : assay_reason_text(v->stored.reason));
  struct buf errors = {0};
  keep_errors(said, &errors);
  quote(out, buf_str(&errors), errors.len);
  buf_release(&errors);
}

// How long a detail is without the question at whose call it happened: "ended by SIGSEGV; heavy inputs, workload
// small".
static size_t length_without_question(const char *detail) {
  const char *question = strstr(detail, " inputs, workload ");
  while (question && question > detail && strncmp(question, "; ", 2) != 0)
    question--;
  return question ? (size_t)(question - detail) : strlen(detail);
}

static void write_detail(const struct verdict_view *v, unsigned rungs, struct buf *out) {
  const char *detail = v->stored.detail;
  buf_printf(out, "%s: %s.\n", assay_reason_code(v->stored.reason), assay_reason_text(v->stored.reason));
  if (detail[0])
    quote(out, detail, rungs & 1u << FEEDBACK_PROBE ? strlen(detail) : length_without_question(detail));
}

// What the compiler said of it (warnings), and what it printed itself, or its exception.
static void write_fault(const struct verdict_view *v, unsigned rungs, struct buf *out) {
  write_detail(v, rungs, out);
  if (v->diagnostics[0]) {
    buf_puts(out, "The compiler and it said:\n");
    quote(out, v->diagnostics, strlen(v->diagnostics));
  }
}

static const json_t *worst_check(const struct verdict_view *v) {
  const json_t *evidence = v->evidence;
  json_int_t i = json_integer_value(json_object_get(evidence, "worst_check"));
  return i < 0 ? NULL : json_array_get(json_object_get(evidence, "checks"), (size_t)i);
}

static const char *member(const json_t *j, const char *name) {
  const char *text = json_string_value(json_object_get(j, name));
  return text ? text : "";
}

static const char *probe_text(const char *name) {
  static const char *const texts[] = {
#define TEXT(id, its_name, text) [PROBE_##id] = text,
      PROBES(TEXT)
#undef TEXT
  };
  enum probe p;
  return probe_by_name(name, strlen(name), &p) ? texts[p] : "";
}

static const char *asked_shape(const char *workload, const char *judged) {
  static const char *const drawn[][2] = {
      {"neighbour", "extents a little larger or smaller than the timed ones"},
      {"multiples", "extents that are multiples of 4, 16 or 64"},
      {"mixed", "some extents multiples of 4, 16 or 64, others no multiples of 4"},
      {"reduced", "the timed extents of sums and rows, all others small"},
  };
  for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
    if (strcmp(drawn[i][0], workload) == 0)
      return drawn[i][1];
  if (strncmp(workload, "ragged", strlen("ragged")) == 0)
    return "another shape than the timed one, with odd, prime or tiny extents";
  return strncmp(workload, judged, strlen(workload)) == 0 ? "the timed shape" : "another shape than the timed one";
}

static void write_probe(const struct verdict_view *v, const json_t *check, struct buf *out) {
  const char *probe = member(check, "probe");
  buf_printf(out, "The inputs were \"%s\" (%s), at %s.\n", probe, probe_text(probe),
             asked_shape(member(check, "workload"), v->stored.workload));
}

// Whether no element is far off, and most are within what is allowed: what is wrong is not what is computed, but how
// exactly. Sums in half precision on a tensor core have errors up to 48 times the allowed one; where a term, a scale or
// a tile is wrong or missing, most elements are wrong, or some by a thousand times and more.
static bool looks_like_rounding(const json_t *check) {
  static const double far = 64;
  double limit = json_number_value(json_object_get(check, "z_limit"));
  double most = json_number_value(json_object_get(check, "z_max"));
  double usual = json_number_value(json_object_get(check, "z_rms"));
  return !member(check, "hint")[0] &&
         strcmp(member(check, "reason"), assay_reason_code(ASSAY_REASON_WRONG_VALUE)) == 0 && limit > 0 &&
         most > limit && most <= far * limit && usual <= limit;
}

// The description's first line and its first elements.
static void write_values(const json_t *check, struct buf *out) {
  const char *worst = member(check, "worst"), *hint = member(check, "hint"), *end = worst;
  for (int i = 0; i <= MOST_ELEMENTS && *end; i++) {
    end = strchr(end, '\n');
    end = end ? end + 1 : worst + strlen(worst);
  }
  quote(out, worst, (size_t)(end - worst));
  if (hint[0] && !strstr(worst, hint)) {
    buf_puts(out, "Pattern: ");
    quote(out, hint, strlen(hint));
  }
  if (looks_like_rounding(check))
    buf_puts(out,
             "The errors are as small as those of rounding: a sum or a value in between that is kept in too few bits, "
             "or an approximate function.\n");
}

static void write_wrong(const struct verdict_view *v, unsigned rungs, struct buf *out) {
  const json_t *check = worst_check(v);
  const char *contract = member(v->evidence, "contract");
  bool of_contract = v->stored.reason == ASSAY_REASON_WRONG_VALUE && contract[0];
  buf_printf(out, "It runs, but its results are wrong: %s%s%s%s.\n", assay_reason_text(v->stored.reason),
             of_contract ? " (" : "", of_contract ? contract : "", of_contract ? ")" : "");
  if (check && rungs & 1u << FEEDBACK_PROBE)
    write_probe(v, check, out);
  if (check && rungs & 1u << FEEDBACK_VALUES)
    write_values(check, out);
}

static const char *time_text(double ns, char *text, size_t size) {
  const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
  snprintf(text, size, "%.3g %s", ns / (ns < 1e3 ? 1 : ns < 1e6 ? 1e3 : ns < 1e9 ? 1e6 : 1e9), unit);
  return text;
}

static void write_time(const struct verdict_view *v, struct buf *out) {
  char time[32], least[32];
  double ns = view_time_ns(v), floor = v->stored.floor_ns;
  const char *none = view_no_time(v);
  if (store_is_suspicious(&v->stored))
    buf_puts(out, "Its time is shorter than the hardware allows: it cannot do the whole work, and is not ranked.\n");
  else if (isnan(ns))
    buf_printf(out, "%s%s\n", none ? none : "It was not timed", none ? "" : ".");
  else if (floor > 0)
    buf_printf(out, "It takes %s with cold caches, %.2f times the least time that the hardware allows (%s).\n",
               time_text(ns, time, sizeof time), ns / floor, time_text(floor, least, sizeof least));
  else
    buf_printf(out, "It takes %s with cold caches.\n", time_text(ns, time, sizeof time));
  if (!isnan(ns) && v->stored.hot_ns > 0)
    buf_printf(out, "With its inputs in the caches it takes %s.\n", time_text(v->stored.hot_ns, time, sizeof time));
  for (int i = 0; i < v->n_baselines; i++)
    if (isfinite(v->baselines[i].speedup))
      buf_printf(out, "It is %.2f times as fast as %s.\n", v->baselines[i].speedup, v->baselines[i].name);
}

static double thousands(double x) {
  return x < 1000 ? x : x / 1000;
}

static void write_rates(const struct verdict_view *v, struct buf *out) {
  const json_t *evidence = v->evidence;
  double ns = view_time_ns(v), bytes = json_number_value(json_object_get(evidence, "bytes"));
  double flops = json_number_value(json_object_get(evidence, "flops"));
  if (!isnan(ns) && ns > 0)
    buf_printf(out, "That is %.3g %s/s of the bytes that must be moved and %.3g %s/s of the operations needed.\n",
               thousands(bytes / ns), bytes / ns < 1000 ? "GB" : "TB", thousands(flops / ns),
               flops / ns < 1000 ? "GFLOP" : "TFLOP");
}

// Whose kernels a recorded program launched.
static void write_origin(const struct verdict_view *v, struct buf *out) {
  const struct assay_kernels *k = &v->kernels;
  if (k->known && k->launches[ASSAY_OWN_KERNELS] == 0)
    buf_puts(out, "None of its own kernels ran: libraries and PyTorch did the work. Write kernels of your own.\n");
  else if (k->known && isfinite(k->part[ASSAY_OWN_KERNELS]) && k->part[ASSAY_OWN_KERNELS] < 0.5)
    buf_printf(out, "Its own kernels are %.0f %% of the time; libraries and PyTorch are the rest.\n",
               100 * k->part[ASSAY_OWN_KERNELS]);
}

// What its kernels need of an SM, of those that are known.
static void write_resources(const struct verdict_view *v, struct buf *out) {
  const json_t *evidence = v->evidence, *all = json_object_get(evidence, "resources");
  for (size_t i = 0; i < json_array_size(all) && i < MOST_KERNELS; i++) {
    const json_t *k = json_array_get(all, i), *part = json_object_get(k, "occupancy");
    int64_t local = json_integer_value(json_object_get(k, "local_bytes"));
    char name[64];
    buf_printf(out, "Kernel %s: %lld registers a thread, %lld bytes of shared memory and %lld threads a block",
               printable_line(member(k, "kernel"), name, sizeof name),
               (long long)json_integer_value(json_object_get(k, "registers")),
               (long long)json_integer_value(json_object_get(k, "shared_bytes")),
               (long long)json_integer_value(json_object_get(k, "threads")));
    int64_t blocks = json_integer_value(json_object_get(k, "blocks"));
    if (json_is_number(part))
      buf_printf(out, "; %lld block%s an SM at once, %.0f %% of its threads", (long long)blocks,
                 blocks == 1 ? " fits" : "s fit", 100 * json_number_value(part));
    buf_puts(out, ".\n");
    if (local > 0)
      buf_printf(out, "It keeps %lld bytes a thread in local memory: registers that did not fit, or arrays.\n",
                 (long long)local);
  }
}

static void write_right(const struct verdict_view *v, unsigned rungs, struct buf *out) {
  if (rungs)
    buf_puts(out, view_is_narrow(v) ? "It is right at the timed shape, and not elsewhere.\n" : "It is right.\n");
  if (rungs & 1u << FEEDBACK_CHEAT)
    write_origin(v, out);
  if (rungs & 1u << FEEDBACK_TIME)
    write_time(v, out);
  if (rungs & 1u << FEEDBACK_RATES)
    write_rates(v, out);
  if (rungs & 1u << FEEDBACK_RESOURCES)
    write_resources(v, out);
}

// Which rung speaks of a reason.
static enum feedback_rung rung_of(enum assay_reason reason) {
  if (assay_reason_is_of_build(reason))
    return FEEDBACK_COMPILE;
  switch (reason) {
  case ASSAY_REASON_LOAD_FAILED:
  case ASSAY_REASON_UNRECORDABLE:
  case ASSAY_REASON_INVALID_PLAN:
  case ASSAY_REASON_LAUNCH_FAILED:
    return FEEDBACK_PLAN;
  case ASSAY_REASON_UNWRITTEN:
  case ASSAY_REASON_WRONG_CLASS:
  case ASSAY_REASON_WRONG_VALUE:
  case ASSAY_REASON_LOW_PRECISION:
    return FEEDBACK_VALUES;
  case ASSAY_REASON_WROTE_INPUT:
  case ASSAY_REASON_LATE_WORK:
  case ASSAY_REASON_CHANGED_BEHAVIOUR:
  case ASSAY_REASON_FORBIDDEN_CALL:
    return FEEDBACK_CHEAT;
  default:
    return FEEDBACK_FAULT;
  }
}

static void write_failed(const struct verdict_view *v, unsigned rungs, struct buf *out) {
  enum feedback_rung rung = rung_of(v->stored.reason);
  bool both = rung == FEEDBACK_VALUES && rungs & 1u << FEEDBACK_PROBE;
  if (!(rungs & 1u << rung) && !both) {
    if (rungs)
      buf_puts(out, rung == FEEDBACK_COMPILE ? "It does not build.\n" : "It is not right.\n");
  } else if (rung == FEEDBACK_COMPILE)
    write_build(v, out);
  else if (rung == FEEDBACK_VALUES)
    write_wrong(v, rungs, out);
  else if (rung == FEEDBACK_CHEAT)
    write_detail(v, rungs, out);
  else
    write_fault(v, rungs, out);
}

enum assay_status feedback_write(const struct store_verdict *row, unsigned rungs, struct buf *out,
                                 struct assay_error *err) {
  struct verdict_view v;
  enum assay_status status = view_whole_from_store(row, &v, err);
  if (status)
    return status;
  if (row->reason == ASSAY_REASON_PASS)
    write_right(&v, rungs, out);
  else
    write_failed(&v, rungs, out);
  view_release(&v);
  return buf_status(out, err);
}
