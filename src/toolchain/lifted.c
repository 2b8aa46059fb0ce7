// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lifted.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "toolchain/record/difference.h"
#include "toolchain/python.h"
#include "toolchain/record/read.h"
#include "toolchain/record_run.h"

enum { MOST_ITEMS = LIFTED_MOST_ITEMS };
// For compilers too: of extensions, and what Triton and torch.compile make.

// ---- the program

const char *const *lifted_copy_list(const char *const *list, struct arena *a) {
  size_t n = 0;
  while (list && list[n])
    n++;
  const char **copy = arena_calloc(a, n + 1, sizeof *copy);
  for (size_t i = 0; copy && i < n; i++)
    if (!(copy[i] = arena_strdup(a, list[i])))
      return NULL;
  return copy;
}

bool lifted_init(struct lifted_program *p, const struct lifted_kind *kind, const struct toolchain *toolchain,
                 const struct program_options *o, const char *source, size_t n) {
  struct arena *a = &p->arena;
  p->base.toolchain = toolchain;
  p->kind = kind;
  memcpy(p->base.target, o->target, strnlen(o->target, sizeof p->base.target - 1));
  p->device_index = o->device_index;
  p->budget_ns = o->budget_ns;
  p->pauses = o->pauses;
  p->source = arena_strndup(a, source, n);
  p->source_bytes = n;
  p->paths = o->paths;
  p->source_name = arena_strdup(a, o->name ? o->name : kind->source_file);
  p->defines = lifted_copy_list(o->defines, a);
  return p->source && p->source_name && p->defines;
}

static void drop_files(struct lift_item *item) {
  for (int i = 0; i < 2 * LIFTS; i++)
    if (item->fds[i] >= 0)
      close(item->fds[i]);
  for (int i = 0; i < 2 * LIFTS; i++)
    item->fds[i] = -1;
}

void lifted_release(struct program *base) {
  struct lifted_program *p = (struct lifted_program *)base;
  if (p->kind->release)
    p->kind->release(p);
  for (int i = 0; i < p->n_items; i++)
    drop_files(&p->items[i]);
  arena_release(&p->arena);
  base_free(p);
}

// ---- what is sent to a worker

static json_t *make_draw(const struct plan_draw *d) {
  if (!d || !d->kind)
    return NULL;
  return json_pack("{s:s, s:f, s:f, s:[f, f], s:b, s:b, s:b, s:b, s:b, s:b}", "kind", d->kind, "a", d->a, "b", d->b,
                   "scale", d->scale_lo, d->scale_hi, "softmax", d->softmax, "symmetric", d->symmetric, "triu", d->triu,
                   "tril", d->tril, "regular", d->regular, "definite", d->definite);
}

static json_t *make_workload(const struct plan_subject *s) {
  json_t *symbols = json_object(), *inputs = json_array(), *outputs = json_array();
  for (int i = 0; i < s->n_symbols; i++)
    json_object_set_new(symbols, s->symbols[i].name, json_integer(s->symbols[i].value));
  for (int i = 0; i < s->n_inputs; i++) {
    bool is_static = s->statics && s->statics[i];
    json_array_append_new(inputs, json_pack("{s:s, s:b, s:o*}", "name", s->input_names[i], "static", is_static, "draw",
                                            make_draw(s->draws ? &s->draws[i] : NULL)));
  }
  for (int i = 0; i < s->n_outputs; i++)
    json_array_append_new(outputs, json_string(s->output_names[i]));
  json_t *call = s->library_call ? json_loads(s->library_call, 0, NULL) : NULL;
  return json_pack("{s:s, s:o, s:o, s:o, s:s?, s:o*}", "task", s->task, "symbols", symbols, "inputs", inputs, "outputs",
                   outputs, "init", s->init_arguments, "library", call);
}

// The JSON's text, and its end.
static enum assay_status put_json(json_t *v, struct buf *out, struct assay_error *err) {
  char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;
  json_decref(v);
  if (!text)
    return error_nomem(err, "a worker's workload");
  buf_puts(out, text);
  free(text);
  return buf_status(out, err);
}

enum assay_status python_workload(const struct plan_subject *s, struct buf *out, struct assay_error *err) {
  return put_json(make_workload(s), out, err);
}

// ---- the workloads

static const char *const *copy_names(const char *const *names, int n, struct arena *a) {
  const char **copy = arena_calloc(a, (size_t)n + 1, sizeof *copy);
  for (int i = 0; copy && i < n; i++)
    if (!(copy[i] = arena_strdup(a, names[i])))
      return NULL;
  return copy;
}

static void *copy_bytes(const void *from, size_t n, struct arena *a) {
  void *copy = arena_alloc(a, n + 1);
  if (copy && n)
    memcpy(copy, from, n);
  return copy;
}

static bool copy_subject(const struct plan_subject *s, struct arena *a, struct plan_subject *out) {
  *out = *s;
  out->task = arena_strdup(a, s->task);
  out->workload = arena_strdup(a, s->workload);
  out->init_arguments = s->init_arguments ? arena_strdup(a, s->init_arguments) : NULL;
  out->library_call = s->library_call ? arena_strdup(a, s->library_call) : NULL;
  out->library_refusal = NULL; // such a one is not asked for
  out->input_names = copy_names(s->input_names, s->n_inputs, a);
  out->output_names = copy_names(s->output_names, s->n_outputs, a);
  out->inputs = copy_bytes(s->inputs, (size_t)s->n_inputs * sizeof *s->inputs, a);
  out->outputs = copy_bytes(s->outputs, (size_t)s->n_outputs * sizeof *s->outputs, a);
  out->statics = s->statics ? copy_bytes(s->statics, (size_t)s->n_inputs * sizeof *s->statics, a) : NULL;
  struct plan_draw *draws = s->draws ? copy_bytes(s->draws, (size_t)s->n_inputs * sizeof *s->draws, a) : NULL;
  out->draws = draws;
  for (int i = 0; draws && i < s->n_inputs; i++)
    if (draws[i].kind && !(draws[i].kind = arena_strdup(a, draws[i].kind)))
      return false;
  struct plan_symbol *symbols = copy_bytes(s->symbols, (size_t)s->n_symbols * sizeof *s->symbols, a);
  out->symbols = symbols;
  for (int i = 0; symbols && i < s->n_symbols; i++)
    if (!(symbols[i].name = arena_strdup(a, s->symbols[i].name)))
      return false;
  return out->task && out->workload && out->input_names && out->output_names && out->inputs && out->outputs &&
         out->symbols && (out->statics || !s->statics) && (draws || !s->draws) &&
         (out->init_arguments || !s->init_arguments) && (out->library_call || !s->library_call);
}

static bool same_subject(const struct plan_subject *s, const struct plan_subject *t) {
  bool same = strcmp(s->workload, t->workload) == 0 && s->n_symbols == t->n_symbols && s->n_inputs == t->n_inputs &&
              s->n_outputs == t->n_outputs;
  for (int i = 0; same && i < s->n_symbols; i++)
    same = s->symbols[i].value == t->symbols[i].value && strcmp(s->symbols[i].name, t->symbols[i].name) == 0;
  return same;
}

// The program's item for the subject; a new one where there is none, in the last's place when there are too many.
static enum assay_status find_item(struct lifted_program *p, const struct plan_subject *subject, struct lift_item **out,
                                   struct assay_error *err) {
  for (int i = 0; i < p->n_items; i++)
    if (same_subject(&p->items[i].subject, subject)) {
      *out = &p->items[i];
      return ASSAY_OK;
    }
  if (p->n_items == MOST_ITEMS)
    drop_files(&p->items[--p->n_items]);
  struct lift_item *item = &p->items[p->n_items];
  *item = (struct lift_item){.fds = {-1, -1, -1, -1}};
  if (!copy_subject(subject, &p->arena, &item->subject))
    return error_nomem(err, "a plan's subject");
  p->n_items++;
  *out = item;
  return ASSAY_OK;
}

enum assay_status lifted_expect(struct program *base, const struct plan_subject *subjects, int n,
                                struct assay_error *err) {
  struct lifted_program *p = (struct lifted_program *)base;
  struct plan_report report = {0};
  struct lift_item *item;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n && i < MOST_ITEMS && !status; i++)
    if (!p->kind->takes || p->kind->takes(p, &subjects[i], &report))
      status = find_item(p, &subjects[i], &item, err);
  plan_report_release(&report);
  return status;
}

// ---- a run of the worker

struct lift_run {
  struct lifted_program *program;
  struct lift_item *items[MOST_ITEMS]; // what is to be recorded, in this order
  int n_items;
  struct buf text; // what it printed, cleaned
  struct sandbox_end end;
};

// Two sets of tensors, one after the other; what the program allocates comes after both.
static enum assay_status make_files(struct lifted_program *p, struct lift_item *item, struct assay_error *err) {
  struct record_device device;
  uint64_t address = RECORD_FIRST_ADDRESS;
  enum assay_status status = record_device_of_target(p->base.target, &device, err);
  drop_files(item);
  for (int i = 0; i < LIFTS && !status; i++) {
    status = record_request_make_at(&item->subject, &device, address, &p->arena, &item->requests[i],
                                    &item->request_bytes[i], err);
    address = status ? 0 : item->requests[i]->first_free;
  }
  for (int i = 0; i < LIFTS && !status; i++) {
    item->requests[i]->first_free = address;
    status = record_make_files(item->requests[i], item->request_bytes[i], &item->fds[2 * i], err);
  }
  return status;
}

static json_t *make_defines(const struct lifted_program *p) {
  json_t *defines = json_array();
  for (size_t i = 0; p->defines[i]; i++)
    json_array_append_new(defines, json_string(p->defines[i]));
  return defines;
}

// What worker.py (receive_order) and assay-library (vendor/order.c) read.
static enum assay_status make_order(const struct lift_run *r, const char *candidate, struct buf *out,
                                    struct assay_error *err) {
  json_t *workloads = json_array();
  for (int i = 0; i < r->n_items; i++)
    json_array_append_new(workloads, make_workload(&r->items[i]->subject));
  return put_json(
      json_pack("{s:s, s:o, s:o}", "candidate", candidate, "defines", make_defines(r->program), "workloads", workloads),
      out, err);
}

enum assay_status lifted_make_order(const struct lifted_program *p, const char *candidate, struct buf *out,
                                    struct assay_error *err) {
  return put_json(json_pack("{s:s, s:o, s:[], s:s}", "candidate", candidate, "defines", make_defines(p), "workloads",
                            "extensions", "make"),
                  out, err);
}

int64_t lifted_deadline_ns(const struct lifted_program *p) {
  int64_t left_ns = p->spent_ns < p->budget_ns ? p->budget_ns - p->spent_ns : 0;
  return p->budget_ns > 0 ? clock_monotonic_ns() + left_ns : INT64_MAX;
}

static enum assay_status run_worker(struct lift_run *r, struct assay_error *err) {
  struct lifted_program *p = r->program;
  struct lift_worker *w = NULL;
  struct buf order = {0};
  char candidate[4096];
  int fds[LIFT_WORKER_FDS], n_fds = 0;
  enum assay_status status = p->kind->start_worker(p, &w, err);
  for (int i = 0; i < r->n_items && !status; i++) {
    status = make_files(p, r->items[i], err);
    for (int k = 0; k < 2 * LIFTS && !status; k++)
      fds[n_fds++] = r->items[i]->fds[k];
  }
  if (!status) { // where Triton looks for the source too
    snprintf(candidate, sizeof candidate, "%s/%s", lift_worker_folder(w), p->kind->source_file);
    status = file_write(candidate, p->source, p->source_bytes, err);
  }
  if (!status)
    status = make_order(r, candidate, &order, err);
  if (!status)
    status = lift_worker_order(w, &order, fds, n_fds, err);
  buf_clear(&r->text);
  int64_t start_ns = clock_monotonic_ns();
  int64_t deadline_ns = lifted_deadline_ns(p);
  if (!status)
    status = lift_worker_wait(w, p->pauses, deadline_ns, &r->text, &r->end, err);
  p->spent_ns += clock_monotonic_ns() - start_ns - (status ? 0 : r->end.starved_ns + r->end.paused_ns);
  lift_worker_end(w);
  buf_release(&order);
  return status;
}

// ---- what came of it

// The text's last line that is not empty: of a traceback the one that says what happened.
static const char *last_line(const struct buf *b, int *length) {
  const char *text = buf_str(b), *end = text + strlen(text);
  while (end > text && end[-1] == '\n')
    end--;
  const char *begin = end;
  while (begin > text && begin[-1] != '\n')
    begin--;
  *length = (int)(end - begin > 300 ? 300 : end - begin);
  return begin;
}

// Says why there is nothing to read, and returns false; true when there is. A recording that is complete is valid,
// however the worker ended after it.
static bool returned(const struct lift_run *r, const struct record_header *h, struct plan_report *report) {
  int length;
  const char *line = last_line(&r->text, &length), *call = r->program->kind->call;
  if (h->stage == RECORD_RETURNED)
    return true;
  if (h->stage == RECORD_NOT_LOADED)
    plan_report_refuse(report, PLAN_RAISED, "%s", h->message);
  else if (h->stage == RECORD_REFUSED)
    plan_report_refuse(report, PLAN_REFUSED, "%s", h->message);
  else if (r->end.deadline)
    plan_report_refuse(report, PLAN_HOST_TIMED_OUT, "%s was still at work when the candidate's budget of %.0f s ended",
                       call, (double)r->program->budget_ns * 1e-9);
  else if (!r->end.exited)
    plan_report_refuse(report, PLAN_HOST_CRASHED, "the worker was ended by signal %d (%s)%s%.*s", r->end.signal,
                       strsignal(r->end.signal), length ? ": " : "", length, line);
  else
    plan_report_refuse(report, PLAN_HOST_CRASHED, "the worker ended (exit code %d) before %s returned%s%.*s",
                       r->end.code, call, length ? ": " : "", length, line);
  return false;
}

static enum assay_status read_one(const struct lift_run *r, const struct lift_item *item, int i, struct plan *out,
                                  struct plan_report *report, struct assay_error *err) {
  const struct lifted_program *p = r->program;
  const struct record_context context = {.reading = RECORD_ONE_OF_TWO,
                                         .request = item->requests[i],
                                         .subject = &item->subject,
                                         .target = p->base.target,
                                         .toolchain = p->toolchain,
                                         .source_name = p->source_name};
  enum assay_status status = ASSAY_OK;
  struct record_header head;
  void *log = mmap(NULL, RECORD_LOG_BYTES, PROT_READ, MAP_SHARED, item->fds[2 * i + 1], 0);
  if (log == MAP_FAILED)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot map the recording: %s", strerror(errno));
  memcpy(&head, log, sizeof head);
  if (head.stage == RECORD_STARTED) { // nothing of the candidate was there yet
    munmap(log, RECORD_LOG_BYTES);
    enum { SHOWN = 800 }; // of a traceback the end
    const char *text = buf_str(&r->text);
    text += strlen(text) > SHOWN ? strlen(text) - SHOWN : 0;
    return p->kind->cannot_start(p, text[0] ? text : "it said nothing", err);
  }
  for (size_t k = 0; k < sizeof head.message; k++) // one line of text, whatever it was
    head.message[k] = head.message[k] && (unsigned char)head.message[k] < ' ' ? ' ' : head.message[k];
  head.message[sizeof head.message - 1] = '\0';
  if (returned(r, &head, report))
    status = record_read(log, RECORD_LOG_BYTES, &context, out, report, err);
  munmap(log, RECORD_LOG_BYTES);
  return status;
}

// Both plans, and that they are one.
static enum assay_status read_both(const struct lift_run *r, const struct lift_item *item, struct plan *out,
                                   struct plan_report *report, struct assay_error *err) {
  struct plan first = {0}, second = {0};
  struct plan_report again = {0};
  char difference[256];
  enum assay_status status = read_one(r, item, 0, &first, report, err);
  if (status || report->outcome != PLAN_MADE)
    return status;
  status = read_one(r, item, 1, &second, &again, err);
  if (status || again.outcome != PLAN_MADE) {
    report->outcome = again.outcome;
    memcpy(report->detail, again.detail, sizeof report->detail);
  } else if (plan_points_outside(&first, &second, difference, sizeof difference)) {
    plan_report_refuse(report, PLAN_REFUSED, "%s", difference);
  } else if (plan_difference(&first, &second, difference, sizeof difference)) {
    plan_report_refuse(report, PLAN_REFUSED,
                       "what it launches depends on data, addresses or earlier calls: with other inputs %s",
                       difference);
  } else if (first.n_steps == 0) {
    plan_report_refuse(report, PLAN_REFUSED, "%s", r->program->kind->nothing);
  }
  plan_release(&second);
  plan_report_release(&again);
  if (!status && report->outcome == PLAN_MADE)
    *out = first;
  else
    plan_release(&first);
  return status;
}

static uint32_t stage_of(const struct lift_item *item, int i) {
  struct record_header head = {.stage = RECORD_STARTED};
  return pread(item->fds[2 * i + 1], &head, sizeof head, 0) == (ssize_t)sizeof head ? head.stage : RECORD_STARTED;
}

static bool is_complete(const struct lift_item *item) {
  return stage_of(item, 0) == RECORD_RETURNED && stage_of(item, 1) == RECORD_RETURNED;
}

// Records `item`, and with it those that are expected and have no recording yet.
static enum assay_status record_items(struct lift_run *r, struct lift_item *item, struct assay_error *err) {
  struct lifted_program *p = r->program;
  r->items[r->n_items++] = item;
  for (int i = 0; i < p->n_items; i++)
    if (&p->items[i] != item && !p->items[i].recorded)
      r->items[r->n_items++] = &p->items[i];
  enum assay_status status = run_worker(r, err);
  // A driver may want files that the rules do not name; the plan is judged in another process anyway.
  if (!status && stage_of(item, 0) == RECORD_STARTED && !p->without_landlock) {
    p->without_landlock = true;
    status = run_worker(r, err);
  }
  // What failed after the first is tried again when it is asked for, in a process that saw nothing else.
  for (int i = 0; i < r->n_items && !status; i++)
    r->items[i]->recorded = i == 0 || is_complete(r->items[i]);
  if (p->kind->worker_is_gone)
    p->kind->worker_is_gone(p);
  return status;
}

enum assay_status lifted_plan(struct program *base, const struct plan_subject *subject, struct plan *out,
                              struct plan_report *report, struct assay_error *err) {
  struct lift_run r = {.program = (struct lifted_program *)base, .end = {.exited = true}};
  struct lift_item *item = NULL;
  if (r.program->kind->takes && !r.program->kind->takes(r.program, subject, report))
    return ASSAY_OK;
  buf_init(&r.text);
  enum assay_status status = find_item(r.program, subject, &item, err);
  if (!status && !item->recorded)
    status = record_items(&r, item, err);
  if (!status)
    status = read_both(&r, item, out, report, err);
  if (!status && r.text.len > 0 && !(report->log = base_strndup(buf_str(&r.text), r.text.len)))
    status = error_nomem(err, "what the worker printed");
  buf_release(&r.text);
  return status;
}
