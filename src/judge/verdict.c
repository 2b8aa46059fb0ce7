// SPDX-License-Identifier: Apache-2.0
// The strings that a verdict owns.
#include "judge/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/printable.h"
#include "sandbox/sandbox.h"

const char *assay_rule_name(enum assay_rule rule) {
  static const char *const names[] = {[ASSAY_RULE_CONTRACT] = "contract", [ASSAY_RULE_ALLCLOSE] = "allclose"};
  return names[rule];
}

const char *assay_scope_name(enum assay_scope scope) {
  static const char *const names[] = {
      [ASSAY_SCOPE_NONE] = "", [ASSAY_SCOPE_GENERAL] = "general", [ASSAY_SCOPE_JUDGED] = "judged"};
  return names[scope];
}

void verdict_add_log(struct assay_verdict *v, const char *log) {
  if (!log[0])
    return;
  struct buf text = {0};
  buf_printf(&text, "%s--- printed by the kernel ---\n%s", v->diagnostics, log);
  char *joined = text.failed ? NULL : base_strndup(buf_str(&text), text.len);
  buf_release(&text);
  if (!joined)
    return;
  base_free(v->diagnostics);
  v->diagnostics = joined;
}

// What the worker says behind this mark, one line, into `to`; false: it does not.
static bool take_line(const struct assay_verdict *v, const char *mark, char *to, size_t size) {
  const char *line = v->diagnostics ? strstr(v->diagnostics, mark) : NULL;
  if (!line)
    return false;
  line += strlen(mark);
  snprintf(to, size, "%.*s", (int)strcspn(line, "\n"), line);
  return true;
}

static void add_detail(struct assay_verdict *v, const char *fmt, const char *what) ASSAY_PRINTF(2, 0);
static void add_detail(struct assay_verdict *v, const char *fmt, const char *what) {
  size_t used = strlen(v->detail);
  snprintf(v->detail + used, sizeof v->detail - used, fmt, what);
}

void verdict_take_weights(struct assay_verdict *v) {
  if ((take_line(v, "assay: weights: ", v->weights, sizeof v->weights) ||
       take_line(v, "assay: arguments: ", v->weights, sizeof v->weights)) &&
      v->reason == ASSAY_REASON_WRONG_VALUE)
    add_detail(v, "; paired: %s", v->weights);
}

// The check that decided errs by less than a hundredth everywhere: as by few digits, and not by other weights.
static bool errs_little(const struct assay_verdict *v) {
  return v->worst_check >= 0 && v->worst_check < v->n_checks && v->checks[v->worst_check].allclose_loose_bad == 0;
}

void verdict_take_kept(struct assay_verdict *v) {
  char names[160];
  if (take_line(v, "assay: kept: ", names, sizeof names) &&
      (v->reason == ASSAY_REASON_CHANGED_BEHAVIOUR || (v->reason == ASSAY_REASON_WRONG_VALUE && !errs_little(v))))
    add_detail(v, "; it keeps %s from an earlier call, when weights and first states were others: make it in forward",
               names);
}

void verdict_take_changed(struct assay_verdict *v) {
  char names[160];
  if (take_line(v, "assay: changed: ", names, sizeof names) && v->reason == ASSAY_REASON_WRONG_VALUE)
    add_detail(v,
               "; its __init__ changes %s, which has the task's values after that: let forward compute with another "
               "tensor, made of it",
               names);
}

void verdict_take_tf32(struct assay_verdict *v, const char *contract) {
  char names[160];
  const bool errs =
      v->reason == ASSAY_REASON_LOW_PRECISION || (v->reason == ASSAY_REASON_WRONG_VALUE && errs_little(v));
  if (take_line(v, "assay: tf32: ", names, sizeof names) && errs && strcmp(v->mode, "process") == 0 &&
      strcmp(contract, "fp32") == 0)
    add_detail(v, "; PyTorch may multiply in TF32: set %s = False, or --contract tf32 allows it", names);
}

void verdict_take_evaluation(struct assay_verdict *v) {
  char names[160];
  if (take_line(v, "assay: evaluation: ", names, sizeof names) && v->reason == ASSAY_REASON_WRONG_VALUE)
    add_detail(v, "; in evaluation, as after eval(): %s; the task takes each batch's statistics, as in training",
               names);
}

void verdict_take_reduced(struct assay_verdict *v, const char *contract) {
  char names[160];
  const bool errs = v->reason == ASSAY_REASON_WRONG_VALUE || v->reason == ASSAY_REASON_LOW_PRECISION;
  if (take_line(v, "assay: reduced: ", names, sizeof names) && errs &&
      (strcmp(contract, "bf16") == 0 || strcmp(contract, "fp16") == 0))
    add_detail(v, "; it lets cuBLAS add parts of a product in 16 bits, which the contract does not: set %s = False",
               names);
}

void verdict_explain_tf32(struct assay_verdict *v, const char *contract) {
  const bool errs = v->reason == ASSAY_REASON_WRONG_VALUE || v->reason == ASSAY_REASON_LOW_PRECISION;
  size_t used = strlen(v->detail);
  if (!errs || !v->kernels.tf32[0] || strcmp(contract, "fp32") != 0)
    return;
  snprintf(v->detail + used, sizeof v->detail - used, "; %.60s%s multiplies in TF32%s", v->kernels.tf32,
           strlen(v->kernels.tf32) > 60 ? "..." : "",
           v->kernels.launches[ASSAY_LIBRARY_KERNELS] > 0
               ? ", as PyTorch has convolutions do: set torch.backends.cudnn.allow_tf32 = False (and "
                 "torch.backends.cuda.matmul.allow_tf32 = False) in the file"
               : "");
  used = strlen(v->detail);
  snprintf(v->detail + used, sizeof v->detail - used, "%s --contract tf32 allows it",
           v->kernels.launches[ASSAY_LIBRARY_KERNELS] > 0 ? ", or" : ";");
}

// The first line, from 1, that has a word of half precision before its comment; 0: none.
static int line_in_half(const char *source, size_t bytes) {
  static const char *const words[] = {".half(", "float16", "autocast"};
  const char *end = source + bytes;
  int number = 1;
  for (const char *line = source, *next; line < end; line = next, number++) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    next = newline ? newline + 1 : end;
    const char *comment = memchr(line, '#', (size_t)(next - line)), *stop = comment ? comment : next;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
      const char *at = memmem(line, (size_t)(stop - line), words[w], strlen(words[w]));
      if (at && (at == line || at[-1] != 'b')) // not bfloat16
        return number;
    }
  }
  return 0;
}

void verdict_explain_half(struct assay_verdict *v, const char *contract, const char *source, size_t bytes) {
  size_t used = strlen(v->detail);
  int line = v->reason == ASSAY_REASON_WRONG_CLASS && strcmp(contract, "fp16") != 0 ? line_in_half(source, bytes) : 0;
  if (line > 0)
    snprintf(v->detail + used, sizeof v->detail - used,
             "; line %d names float16, which ends at 65504: every path has to hold for all inputs", line);
}

void verdict_make_printable(struct assay_verdict *v) {
  printable(v->detail);
  printable(v->elsewhere);
  printable(v->no_plan);
  printable(v->weights);
  if (v->diagnostics)
    printable(v->diagnostics);
}

enum assay_status verdict_fill_strings(struct assay_verdict *v, const char *weakness, struct assay_error *err) {
  struct sandbox_strength strength;
  struct buf sandbox = {0};
  sandbox_measure(&strength);
  if (!v->diagnostics)
    v->diagnostics = base_strndup("", 0);
  if (!v->build_command)
    v->build_command = base_strndup("", 0);
  if (!v->compiler_version)
    v->compiler_version = base_strndup("", 0);
  buf_printf(&sandbox, "%s%s%s", strength.text, weakness[0] ? "; " : "", weakness);
  v->sandbox = sandbox.failed ? NULL : base_strndup(buf_str(&sandbox), sandbox.len);
  buf_release(&sandbox);
  return v->diagnostics && v->build_command && v->compiler_version && v->sandbox ? ASSAY_OK
                                                                                 : error_nomem(err, "a verdict");
}

void assay_verdict_release(struct assay_verdict *v) {
  for (int i = 0; i < v->n_checks; i++)
    base_free(v->checks[i].description);
  base_free(v->checks);
  base_free(v->diagnostics);
  base_free(v->build_command);
  base_free(v->compiler_version);
  base_free(v->sandbox);
  base_free(v->timing.samples_ns);
  base_free(v->timing.hot_samples_ns);
  for (int i = 0; i < v->n_comparisons; i++) {
    base_free(v->comparisons[i].samples_ns);
    base_free(v->comparisons[i].candidate_ns);
  }
  base_free(v->comparisons);
  memset(v, 0, sizeof *v);
}
