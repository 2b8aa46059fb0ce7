// SPDX-License-Identifier: Apache-2.0
// How to read the pages.
#include "site/pages.h"

static void put_words(struct html *w) {
  static const struct {
    const char *class, *word, *meaning;
  } words[] = {
      {"pass", "pass",
       "every output that was asked for was right, at shapes and inputs that the kernel could not foresee"},
      {"unstable", "pass, time unstable", "right; its time scattered more than it should, so its place is less sure"},
      {"care", "pass at the judged shape only",
       "right at the published shape, wrong or not running at others; it does not rank"},
      {"care", "suspicious", "its time is shorter than the hardware can take for the work; it does not rank"},
      {"fail", "wrong_value and others", "it failed; the page says at which input, by how much, and why"},
      {"cheat", "changed_behaviour and others", "it was caught at what no kernel may do"},
      {"none", "judge_failed", "the machine failed, not the kernel: it says nothing of the kernel"}};
  facts_begin(w);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const struct site_word word = {words[i].class, ""};
    struct site_word shown = word;
    snprintf(shown.text, sizeof shown.text, "%s", words[i].word);
    html_open(w, EL_DT);
    frame_word(w, &shown);
    html_close(w, EL_DT);
    html_element(w, EL_DD, NULL, words[i].meaning);
  }
  facts_end(w);
}

static void put_reasons(struct html *w) {
  static const enum assay_reason all[] = {
#define PAGE_REASON(id, code, text) ASSAY_REASON_##id,
      ASSAY_REASONS(PAGE_REASON)
#undef PAGE_REASON
  };
  facts_begin(w);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    facts_text(w, assay_reason_code(all[i]), assay_reason_text(all[i]));
  facts_end(w);
}

enum assay_status page_read(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  static const struct {
    const char *id, *heading, *text;
  } parts[] = {
      {"times", "Times",
       "A time is the median of cold calls: caches are flushed, inputs are fresh, what the host does is not counted. "
       "\xC2\xB1 is the longer half of its 95 % interval, and a time has as many digits as its interval allows."},
      {"ranks", "Ranks",
       "Ranks are ranges: 1\xE2\x80\x93"
       "2 means that at most one kernel may be faster and the samples cannot say. Times are "
       "compared within one device, workload, form of the task, contract, rule and version of the judge, never "
       "across. Of a kernel that several runs have, the newest verdict ranks; the older ones stay in the table."},
      {"floor", "x floor",
       "The floor is the least time that the hardware allows for the task's work: its bytes at the measured bandwidth, "
       "or "
       "its operations at the measured rate, whichever takes longer. 1.2 x floor is close to perfect. A dash: this "
       "machine was not measured."},
      {"speedup", "Speedup",
       "The baseline's time over the kernel's, calls of both taken in turn; above 1 the kernel is faster. The column "
       "names "
       "the baseline."},
      {"fast", "fast_p",
       "The share of all tasks of a level that have a right kernel more than p times as fast as the baseline: fast_1 "
       "is "
       "what is faster at all. The curve has every p; its band is the 95 % interval of each p by itself, from drawing "
       "the "
       "tasks again with replacement. A task without a right kernel, or without a time next to the baseline, is in the "
       "denominator."},
      {"samples", "Samples",
       "On a kernel's page every cold call is a dot, the first on top, so that drift shows as a slope; below is the "
       "share "
       "of calls up to a time. The dashed line is the median, the grey band its 95 % interval."},
      {"makers", "Makers side by side",
       "Approaches at the same shapes, each with its rate. Fastest are all whose times cannot be told from the least: "
       "their "
       "intervals lie apart by no more than two judgements of one kernel differ by, 1 % on a GPU. A dash: not asked."},
      {"pairs", "Two runs compared",
       "Times of the same tasks, one over the other. No difference shown means that the interval has 1 in it, or lies "
       "nearer to 1 than two judgements of one kernel differ by. It does not mean that they are equal."},
      {"denominators", "What is counted",
       "Every task of a level counts, and every failed kernel stays visible. A task without a right kernel, or without "
       "any "
       "verdict, counts as failed: no row ever vanishes from a denominator."},
      {"error", "Error / allowed",
       "An error is measured in units of what an honest implementation in the task's precision errs on the same input. "
       "A "
       "kernel passes when no element errs by more than is allowed."},
      {"evidence", "Evidence",
       "A kernel's page has the command that repeats its verdict, every check, every sample, the seeds, the state of "
       "the "
       "device, and the hashes of what was judged. Paths of the machine that judged are cut to their last name."}};
  const struct frame frame = {
      .at = &f->at, .title = "How to read these pages", .description = "What words, ranks, times and errors mean."};
  struct html w;
  frame_begin(&w, out, site, &frame);
  frame_heading(&w, "words", "Verdicts");
  put_words(&w);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    frame_heading(&w, parts[i].id, parts[i].heading);
    html_element(&w, EL_P, NULL, parts[i].text);
  }
  frame_heading(&w, "reasons", "All reasons");
  put_reasons(&w);
  frame_end(&w, &frame);
  return buf_status(out, err);
}
