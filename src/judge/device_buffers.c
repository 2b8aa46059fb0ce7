// SPDX-License-Identifier: Apache-2.0
#include "judge/device_buffers.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/streams.h"
#include "task/device_draw.h"

static struct device_buffers *of(struct subject *s) {
  return &((struct device_subject *)s)->buffers;
}

static const struct device_buffers *look_at(const struct subject *s) {
  return &((const struct device_subject *)s)->buffers;
}

void device_buffers_init(struct device_buffers *b, const struct subject_env *env, struct assay_workbench *bench,
                         bool cuda, bool own) {
  *b = (struct device_buffers){
      .env = env, .bench = bench, .cuda = cuda, .own = own, .bands = (uint32_t)rng_secret(env->secret, STREAM_BANDS)};
}

enum assay_status device_buffers_open(struct device_buffers *b, struct subject_loaded *out, int64_t *waited_ns,
                                      struct assay_error *err) {
  if (!b->bench)
    return ASSAY_OK;
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = workbench_wait(b->bench, err);
  *waited_ns = clock_monotonic_ns() - start_ns;
  if (status)
    return status;
  const struct device_facts *f = workbench_facts(b->bench);
  snprintf(out->device, sizeof out->device, "%.100s, driver %.40s", f->name, f->driver);
  out->not_a_gpu = !f->is_gpu;
  out->reaches_host = f->reaches_host;
  return ASSAY_OK;
}

// ---- memory

static void drop_own(struct shared_memory *m, int n) {
  for (int i = 0; i < n; i++)
    shared_release(&m[i]);
}

void device_buffers_drop(struct device_buffers *b) {
  if (b->own) {
    drop_own(b->in, b->n_in);
    drop_own(b->out, b->n_out);
  }
  b->n_in = b->n_out = 0;
}

void device_buffers_forget(struct device_buffers *b) {
  if (b->scales.kept.n_answers > 0)
    device_scales_release(workbench_compute(b->bench), &b->scales);
}

void device_buffers_release(struct device_buffers *b) {
  base_free(b->copies);
  b->copies = NULL;
}

static enum assay_status take(struct device_buffers *b, bool input, int i, size_t bytes, struct shared_memory *out,
                              struct assay_error *err) {
  struct shared_memory *kept;
  if (b->own)
    return shared_create(b->cuda ? workbench_compute(b->bench) : NULL, bytes, out, err);
  enum assay_status status = workbench_buffer(b->bench, input, i, bytes, &kept, err);
  if (!status)
    *out = *kept;
  return status;
}

void device_buffers_leave_room(struct device_buffers *b, const struct layout *l) {
  enum { SETS = 4 };
  const size_t large = (size_t)1 << 30;
  size_t bytes = (size_t)l->output_bytes;
  for (int i = 0; i < l->n_in; i++)
    bytes += tensor_type_bytes(&l->in[i]);
  if (b->cuda && b->bench && bytes >= large)
    workbench_make_room(b->bench, SETS * bytes);
}

enum assay_status device_buffers_make(struct device_buffers *b, const struct layout *l, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  if (l->n_in > RUNNER_MAX_BUFFERS || l->n_out > RUNNER_MAX_BUFFERS)
    return error_set(err, ASSAY_ERR_LIMIT, "a task may have at most %d inputs or outputs", RUNNER_MAX_BUFFERS);
  device_buffers_drop(b);
  if (!b->own)
    workbench_drop_buffers(b->bench, l->n_in, l->n_out);
  while (b->n_in < l->n_in && !status) {
    status = take(b, true, b->n_in, tensor_type_bytes(&l->in[b->n_in]), &b->in[b->n_in], err);
    if (!status && l->inputs_first)
      b->in[b->n_in].offset = 0;
    b->n_in += !status;
  }
  while (b->n_out < l->n_out && !status) {
    struct shared_memory *m = &b->out[b->n_out];
    status = take(b, false, b->n_out, (size_t)layout_output_bytes(l, b->n_out), m, err);
    b->n_out += !status;
    if (!status)
      status = shared_poison(m, b->bands, true, err);
  }
  return status;
}

// ---- before a call

static device_ptr place_of(const struct shared_memory *m) {
  return m->device + m->offset;
}

enum assay_status device_buffers_draw(struct device_buffers *b, const struct workload *w, enum probe probe,
                                      uint64_t key, struct assay_error *err) {
  if (b->cuda) {
    device_ptr buffers[RUNNER_MAX_BUFFERS];
    for (int i = 0; i < b->n_in; i++)
      buffers[i] = place_of(&b->in[i]);
    return task_make_inputs_on_device(b->env->task, w, probe, key, workbench_compute(b->bench), buffers, err);
  }
  void *buffers[RUNNER_MAX_BUFFERS];
  for (int i = 0; i < b->n_in; i++)
    buffers[i] = b->in[i].host + b->in[i].offset;
  return task_make_inputs(b->env->task, w, probe, key, b->env->options->threads, buffers, err);
}

enum assay_status device_buffers_settle(struct device_buffers *b, struct assay_error *err) {
  return b->cuda ? compute_sync(workbench_compute(b->bench), err) : ASSAY_OK;
}

enum assay_status device_buffers_poison(struct device_buffers *b, uint32_t poison, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < b->n_out && !status; i++)
    status = shared_fill(&b->out[i], poison, err);
  return status ? status : device_buffers_settle(b, err);
}

enum assay_status device_buffers_wipe(struct device_buffers *b, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < b->n_in && !status; i++)
    status = shared_fill(&b->in[i], 0, err);
  return status ? status : device_buffers_poison(b, POISON_NAN, err);
}

// ---- after it

enum assay_status device_buffers_inspect(struct device_buffers *b, struct runner_report *report,
                                         struct assay_error *err) {
  int damaged = -1;
  int64_t distance = 0;
  enum assay_status status = shared_check_all(b->out, b->n_out, b->bands, &damaged, &distance, err);
  if (status || damaged < 0)
    return status;
  report->event = RUNNER_OUT_OF_BOUNDS;
  snprintf(report->detail, sizeof report->detail, "wrote %lld byte%s %s output %d",
           (long long)(distance < 0 ? -distance : distance), distance == 1 || distance == -1 ? "" : "s",
           distance < 0 ? "before the start of" : "after the end of", damaged);
  return ASSAY_OK;
}

const void *device_buffers_output(const struct subject *s, int o) {
  const struct device_buffers *b = look_at(s);
  return b->cuda ? NULL : b->out[o].host + b->out[o].offset;
}

enum assay_status device_buffers_read(struct subject *s, int o, void *to, struct assay_error *err) {
  return shared_read(&of(s)->out[o], to, err);
}

// Offset of the copy of output o in a slot. For n_out: the size of a slot.
static size_t place_of_copy(const struct device_buffers *b, int o) {
  size_t place = 0;
  for (int i = 0; i < o; i++)
    place += (b->out[i].bytes + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT;
  return place;
}

// Makes memory for all slots, of the same kind as the outputs.
static enum assay_status copies(struct device_buffers *b, size_t slot_bytes, device_ptr *device,
                                struct assay_error *err) {
  size_t bytes = slot_bytes * (size_t)b->env->options->verified_calls;
  if (b->cuda)
    return workbench_copies(b->bench, bytes, device, err);
  if (!b->copies)
    b->copies = base_alloc(bytes);
  return b->copies ? ASSAY_OK : error_nomem(err, "copies of outputs");
}

// On a GPU the copy is queued with the judge's other work, so the next call's inputs are drawn after it.
enum assay_status device_buffers_keep(struct subject *s, int slot, struct assay_error *err) {
  struct device_buffers *b = of(s);
  size_t slot_bytes = place_of_copy(b, b->n_out);
  device_ptr to = 0;
  enum assay_status status = copies(b, slot_bytes, &to, err);
  for (int o = 0; o < b->n_out && !status; o++) {
    size_t place = (size_t)slot * slot_bytes + place_of_copy(b, o);
    if (b->cuda)
      status = compute_copy(workbench_compute(b->bench), to + place, place_of(&b->out[o]), b->out[o].bytes, err);
    else
      memcpy(b->copies + place, b->out[o].host + b->out[o].offset, b->out[o].bytes);
  }
  return status;
}

enum assay_status device_buffers_read_kept(struct subject *s, int slot, int o, void *to, struct assay_error *err) {
  struct device_buffers *b = of(s);
  size_t slot_bytes = place_of_copy(b, b->n_out), place = (size_t)slot * slot_bytes + place_of_copy(b, o);
  device_ptr from = 0;
  enum assay_status status = copies(b, slot_bytes, &from, err);
  if (!status && b->cuda)
    return compute_download(workbench_compute(b->bench), to, from + place, b->out[o].bytes, err);
  if (!status)
    memcpy(to, b->copies + place, b->out[o].bytes);
  return status;
}

// ---- comparing on the device

bool device_buffers_answer(const struct subject *s, const struct layout *l) {
  return look_at(s)->cuda && device_check_worth(s->env.task, l);
}

static enum assay_status make_apart(struct device_buffers *b, const struct question *q, device_ptr *in, device_ptr *out,
                                    struct assay_error *err) {
  struct compute *c = workbench_compute(b->bench);
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < b->n_out && !status; i++) { // + 1: an empty tensor has an address too
    status = compute_alloc(c, b->out[i].bytes + 1, &out[i], err);
    if (!status)
      status = compute_copy(c, out[i], place_of(&b->out[i]), b->out[i].bytes, err);
  }
  for (int i = 0; i < b->n_in && !status; i++)
    status = compute_alloc(c, b->in[i].bytes + 1, &in[i], err);
  return status ? status : task_make_inputs_on_device(b->env->task, q->layout->workload, q->probe, q->key, c, in, err);
}

static void rest(void *arg, bool waits) {
  struct subject *s = arg;
  if (waits)
    subject_rest(s);
  else
    subject_resume(s);
}

enum assay_status device_buffers_check(struct subject *s, const struct question *q, uint32_t poison,
                                       struct assay_check *checks, struct assay_error *err) {
  struct device_buffers *b = of(s);
  const bool apart = b->own;
  struct compute *c = workbench_compute(b->bench);
  device_ptr in[RUNNER_MAX_BUFFERS] = {0}, out[RUNNER_MAX_BUFFERS] = {0};
  const struct device_check_request request = {.compute = c,
                                               .task = b->env->task,
                                               .question = q,
                                               .in = in,
                                               .out = out,
                                               .poison = poison,
                                               .options = b->env->options,
                                               .scales = &b->scales};
  enum assay_status status = ASSAY_OK;
  if (apart)
    status = make_apart(b, q, in, out, err);
  for (int i = 0; i < b->n_in && !apart; i++)
    in[i] = place_of(&b->in[i]);
  for (int i = 0; i < b->n_out && !apart; i++)
    out[i] = place_of(&b->out[i]);
  compute_tell(c, rest, s);
  if (!status)
    status = device_check(&request, checks, err);
  compute_tell(c, NULL, NULL);
  for (int i = 0; i < b->n_in && apart; i++)
    compute_free(c, in[i]);
  for (int i = 0; i < b->n_out && apart; i++)
    compute_free(c, out[i]);
  return status;
}
