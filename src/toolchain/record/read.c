// SPDX-License-Identifier: Apache-2.0
// The recorder's log, read with distrust, and the plan that comes of it.
#include "toolchain/record/read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/names.h"
#include "toolchain/record/name.h"
#include "toolchain/record/private.h"

bool reader_refuse(struct record_reader *r, const char *fmt, ...) {
  char text[sizeof r->report->detail];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  plan_report_refuse(r->report, PLAN_REFUSED, "%s", text);
  return false;
}

bool reader_damaged(struct record_reader *r, const char *what) {
  return reader_refuse(r, "the recording is damaged: %s", what);
}

bool reader_exhausted(struct record_reader *r) {
  r->no_memory = true;
  return false;
}

// The name of a step for a message: "launch of relu", "memset of scratch 0".
enum { STEP_TEXT = 160 };
static const char *step_text(const struct record_reader *r, int index, char out[STEP_TEXT]) {
  char shown[PLAN_SHOWN_BYTES];
  if (index < 0 || index >= r->plan->n_steps) {
    snprintf(out, STEP_TEXT, "freeing of memory");
    return out;
  }
  const struct plan_step *s = &r->plan->steps[index];
  if (s->kind == PLAN_LAUNCH)
    snprintf(out, STEP_TEXT, "launch of %s", plan_shown(s->label ? s->label : s->kernel, shown));
  else if (s->kind == PLAN_SET_SYMBOL)
    snprintf(out, STEP_TEXT, "copy to the symbol %s", plan_shown(s->symbol, shown));
  else
    snprintf(out, STEP_TEXT, "%s %s", s->kind == PLAN_FILL ? "memset of" : "copy to",
             plan_shown(r->plan->buffers[s->to.buffer].name, shown));
  return out;
}

static bool is_of_library(const struct record_reader *r, int step) {
  static const char mark[] = "library: ";
  const struct plan_step *s = step >= 0 && step < r->plan->n_steps ? &r->plan->steps[step] : NULL;
  return s && s->kind == PLAN_LAUNCH && strncmp(r->plan->modules[s->module].name, mark, sizeof mark - 1) == 0;
}

// A library's own business: cuDNN makes streams for itself and gives them parts of one buffer, and where its parts end
// nobody can see. (Who forges that gets a plan all the same, in which one step comes after the other.)
static bool is_internal(const struct record_reader *r, uint32_t stream, int step, uint32_t other_stream,
                        int other_step) {
  return (r->of_library[stream] || r->of_library[other_stream]) && is_of_library(r, step) &&
         is_of_library(r, other_step);
}

bool reader_check_order(struct record_reader *r, const struct place *place, const char *name, struct record_stamp stamp,
                        int step) {
  char this_text[STEP_TEXT], other_text[STEP_TEXT];
  for (uint32_t s = 0; s < (uint32_t)r->order.n_streams; s++)
    if (place->number[s] && !order_before(&r->order, (struct record_stamp){s, place->number[s]}, stamp) &&
        !is_internal(r, s, place->step[s], stamp.stream, step))
      return reader_refuse(
          r,
          "%s and %s use %s on two streams, and nothing says which comes first: let one stream wait for the "
          "other (cudaEventRecord, cudaStreamWaitEvent) or use one stream",
          step_text(r, place->step[s], other_text), step_text(r, step, this_text), name);
  return true;
}

void reader_note_use(struct place *place, struct record_stamp stamp, int step) {
  place->number[stamp.stream] = stamp.number;
  place->step[stamp.stream] = step;
}

bool reader_use_place(struct record_reader *r, struct place *place, struct record_stamp stamp, int step) {
  char shown[PLAN_SHOWN_BYTES];
  if (place->read_only)
    return true;
  if (!reader_check_order(r, place, plan_shown(place_name(&r->places, place), shown), stamp, step))
    return false;
  reader_note_use(place, stamp, step);
  return true;
}

struct plan_step *reader_add_step(struct record_reader *r, enum plan_step_kind kind, uint32_t stream,
                                  struct record_stamp *stamp) {
  struct plan *p = r->plan;
  if (p->n_steps >= PLAN_MAX_STEPS) {
    reader_refuse(r, "it puts more than %d steps into its streams", PLAN_MAX_STEPS);
    return NULL;
  }
  if (!order_work(&r->order, stream, stamp)) {
    reader_damaged(r, "work on a stream that is not there");
    return NULL;
  }
  size_t capacity = r->step_capacity;
  if ((size_t)p->n_steps == capacity) {
    struct plan_step *steps = arena_grow(&p->arena, p->steps, (size_t)p->n_steps, &capacity, sizeof *steps);
    size_t stamp_capacity = r->step_capacity;
    void *stamps = arena_grow(&r->arena, r->stamps, (size_t)p->n_steps, &stamp_capacity, sizeof *r->stamps);
    if (!steps || !stamps) {
      reader_exhausted(r);
      return NULL;
    }
    p->steps = steps;
    r->stamps = stamps;
    r->step_capacity = capacity;
  }
  r->stamps[p->n_steps] = *stamp;
  struct plan_step *s = &p->steps[p->n_steps++];
  *s = (struct plan_step){.kind = kind, .carveout = -1};
  return s;
}

// Where [address, address + bytes) is, of which `what` (a memset, ...) speaks.
static bool locate(struct record_reader *r, uint64_t address, uint64_t bytes, const char *what, struct place **place,
                   struct plan_place *out) {
  char shown[PLAN_SHOWN_BYTES];
  int64_t offset = 0;
  enum found found = places_find(&r->places, address, place, &offset);
  if (found == FOUND_NONE)
    return reader_refuse(r, "%s: 0x%" PRIx64 " is not the address of anything that was given or allocated", what,
                         address);
  plan_shown(place_name(&r->places, *place), shown);
  if (found == FOUND_FREED)
    return reader_refuse(r, "%s uses %s, which was freed", what, shown);
  if (found == FOUND_OUTSIDE || bytes > (*place)->bytes - (uint64_t)offset)
    return reader_refuse(r, "%s is of %" PRIu64 " bytes from %s%+" PRId64 ", which has %" PRIu64, what, bytes, shown,
                         offset, (*place)->bytes);
  *out = (struct plan_place){(*place)->buffer, offset};
  return true;
}

static bool on_alloc(struct record_reader *r, const struct record_alloc *e) {
  struct place *place;
  struct record_stamp stamp;
  const char *why;
  if (!places_alloc(&r->places, e->address, e->bytes, &place, &why))
    return reader_refuse(r, "%s", why);
  if (e->stream == RECORD_NO_STREAM)
    return true;
  if (!order_work(&r->order, e->stream, &stamp))
    return reader_damaged(r, "an allocation on a stream that is not there");
  return reader_use_place(r, place, stamp, -1);
}

static bool on_free(struct record_reader *r, const struct record_free *e) {
  struct place *place;
  struct record_stamp stamp;
  int64_t offset = 0;
  enum found found = places_find(&r->places, e->address, &place, &offset);
  if (found == FOUND_FREED)
    return reader_refuse(r, "%s is freed twice", place_name(&r->places, place));
  if (found != FOUND_INSIDE || offset != 0 || r->plan->buffers[place->buffer].role != PLAN_SCRATCH)
    return reader_refuse(r, "cudaFree of an address that no cudaMalloc returned");
  if (e->stream == RECORD_NO_STREAM) {
    order_host_wait(&r->order, RECORD_AWAIT_DEVICE, 0);
  } else {
    if (!order_work(&r->order, e->stream, &stamp))
      return reader_damaged(r, "memory is freed on a stream that is not there");
    if (!reader_use_place(r, place, stamp, -1))
      return false;
  }
  places_free(&r->places, place);
  return true;
}

static bool on_module(struct record_reader *r, const uint8_t *bytes, size_t n, const char *name) {
  struct plan *p = r->plan;
  struct assay_error why = {0};
  if (p->n_modules >= PLAN_MAX_MODULES)
    return reader_refuse(r, "it has more than %d modules of device code", PLAN_MAX_MODULES);
  if (n > PLAN_MAX_MODULE_BYTES)
    return reader_refuse(r, "a module of device code is larger than 256 MiB");
  uint8_t *copy = arena_alloc(&p->arena, n + 1);
  if (!copy)
    return reader_exhausted(r);
  memcpy(copy, bytes, n);
  enum assay_status status = cubin_read(copy, n, &p->arena, &r->modules[p->n_modules].info, &why);
  if (status == ASSAY_ERR_NOMEM)
    return reader_exhausted(r);
  if (status != ASSAY_OK)
    return reader_refuse(r, "its device code cannot be read: %s", why.message);
  const char *own_name = arena_strdup(&p->arena, name);
  if (!own_name)
    return reader_exhausted(r);
  p->modules[p->n_modules++] =
      (struct plan_module){.name = own_name, .code = PLAN_CUBIN, .bytes = copy, .size = n, .options = ""};
  return true;
}

// The text at s (of n bytes), if it is one.
static const char *text_at(struct record_reader *r, const uint8_t *s, size_t n) {
  const char *end = memchr(s, '\0', n);
  if (!end || end == (const char *)s || end - (const char *)s >= PLAN_MAX_NAME) {
    reader_damaged(r, "a name is not text");
    return NULL;
  }
  char *copy = arena_strndup(&r->plan->arena, (const char *)s, (size_t)(end - (const char *)s));
  if (!copy)
    reader_exhausted(r);
  return copy;
}

static bool on_kernel(struct record_reader *r, const struct record_kernel *e, const uint8_t *rest, size_t n) {
  char shown[PLAN_SHOWN_BYTES];
  const char *name = text_at(r, rest, n);
  if (!name)
    return false;
  if (e->module >= (uint32_t)r->plan->n_modules || r->n_kernels >= RECORD_MAX_KERNELS)
    return reader_damaged(r, "a kernel without its module");
  const struct cubin_kernel *cubin = cubin_find(&r->modules[e->module].info, name);
  if (!cubin || cubin->n_parameters < 0)
    return reader_refuse(r, "the kernel %s: the device code %s", plan_shown(name, shown),
                         cubin ? "does not say what its parameters are" : "does not have it");
  if (r->n_kernels == r->kernel_capacity) {
    void *grown = arena_grow(&r->arena, r->kernels, r->n_kernels, &r->kernel_capacity, sizeof *r->kernels);
    if (!grown)
      return reader_exhausted(r);
    r->kernels = grown;
  }
  int length;
  const char *simple = record_short_name(name, &length);
  const char *label = arena_strndup(&r->plan->arena, simple, (size_t)length);
  if (!label)
    return reader_exhausted(r);
  r->kernels[r->n_kernels++] = (struct reader_kernel){(int)e->module, name, label, cubin};
  return true;
}

static bool on_fill(struct record_reader *r, const struct record_fill *e) {
  struct place *place;
  struct plan_place to;
  struct record_stamp stamp;
  if (e->bytes == 0)
    return true;
  if (!locate(r, e->address, e->bytes, "a memset", &place, &to))
    return false;
  struct plan_step *s = reader_add_step(r, PLAN_FILL, e->stream, &stamp);
  if (!s)
    return false;
  s->to = to;
  s->bytes = e->bytes;
  s->value = e->value;
  s->width = e->width;
  return reader_use_place(r, place, stamp, r->plan->n_steps - 1);
}

static bool on_copy(struct record_reader *r, const struct record_copy *e) {
  struct place *to_place, *from_place;
  struct plan_place to, from;
  struct record_stamp stamp;
  if (e->bytes == 0)
    return true;
  if (!locate(r, e->to, e->bytes, "a copy", &to_place, &to) ||
      !locate(r, e->from, e->bytes, "a copy", &from_place, &from))
    return false;
  struct plan_step *s = reader_add_step(r, PLAN_COPY, e->stream, &stamp);
  if (!s)
    return false;
  s->to = to;
  s->from = from;
  s->bytes = e->bytes;
  int step = r->plan->n_steps - 1;
  return reader_use_place(r, to_place, stamp, step) && reader_use_place(r, from_place, stamp, step);
}

// A constant of the plan with what host code wants to have on the device; -1 where that cannot be.
static int host_bytes(struct record_reader *r, const uint8_t *bytes, size_t n) {
  char shown[PLAN_SHOWN_BYTES];
  const char *why;
  const struct place *place = places_mentioned(&r->places, bytes, n);
  if (place) {
    reader_refuse(
        r,
        "it copies the address of %s to the device, inside other data: addresses can be kernel arguments (also in "
        "structs) and nothing else",
        plan_shown(place_name(&r->places, place), shown));
    return -1;
  }
  if (reader_has_token(bytes, n)) {
    reader_refuse(r,
                  "it copies a tensor map to the device: pass it as a parameter (const __grid_constant__ CUtensorMap)");
    return -1;
  }
  int buffer = places_constant(&r->places, bytes, n, &why);
  if (buffer < 0)
    reader_refuse(r, "%s", why);
  return buffer;
}

static bool on_upload(struct record_reader *r, const struct record_upload *e, const uint8_t *rest, size_t n) {
  struct place *place;
  struct plan_place to;
  struct record_stamp stamp;
  if (n == 0)
    return true;
  if (!locate(r, e->to, n, "a copy from the host", &place, &to))
    return false;
  int buffer = host_bytes(r, rest, n);
  struct plan_step *s = buffer < 0 ? NULL : reader_add_step(r, PLAN_COPY, e->stream, &stamp);
  if (!s)
    return false;
  s->to = to;
  s->from = (struct plan_place){buffer, 0};
  s->bytes = n;
  return reader_use_place(r, place, stamp, r->plan->n_steps - 1);
}

static bool on_symbol(struct record_reader *r, const struct record_symbol *e, const uint8_t *rest, size_t n) {
  struct record_stamp stamp;
  if (e->module >= (uint32_t)r->plan->n_modules || e->name_bytes > n || e->offset > INT64_MAX)
    return reader_damaged(r, "a symbol without its module");
  const char *name = text_at(r, rest, e->name_bytes);
  if (!name)
    return false;
  if (n == e->name_bytes)
    return true;
  int buffer = host_bytes(r, rest + e->name_bytes, n - e->name_bytes);
  struct plan_step *s = buffer < 0 ? NULL : reader_add_step(r, PLAN_SET_SYMBOL, e->stream, &stamp);
  if (!s)
    return false;
  s->module = (int)e->module;
  s->symbol = name;
  s->to = (struct plan_place){0, (int64_t)e->offset};
  s->from = (struct plan_place){buffer, 0};
  s->bytes = n - e->name_bytes;
  struct reader_module *m = &r->modules[e->module];
  int step = r->plan->n_steps - 1;
  reader_note_use(&m->set, stamp, step);
  return reader_check_order(r, &m->set, "global variables", stamp, step) &&
         reader_check_order(r, &m->launched, "global variables", stamp, step);
}

static bool on_stream(struct record_reader *r, const struct record_stream *e) {
  if (!order_add_stream(&r->order, e->stream, e->non_blocking != 0))
    return reader_refuse(r, "it makes more than %d streams", RECORD_MAX_STREAMS - 2);
  r->of_library[e->stream] = e->of_library != 0;
  return true;
}

static bool on_waiting(struct record_reader *r, uint32_t kind, const struct record_wait *e) {
  bool ok =
      kind == RECORD_EVENT ? order_record(&r->order, e->event, e->stream) : order_wait(&r->order, e->stream, e->event);
  return ok || reader_damaged(r, "an event or a stream that is not there");
}

static bool on_output(struct record_reader *r, const struct record_output *e) {
  return places_promise_output(&r->places, e->address, e->index) ||
         reader_damaged(r, "an allocation is to be an output that is not there");
}

// Memory from before the recording. Addresses in what it held would be addresses of the recording's device.
static bool on_state(struct record_reader *r, const struct record_state *e, const uint8_t *bytes, size_t n) {
  struct place *place;
  struct record_stamp stamp;
  const char *why;
  if (n > 0 && n < e->bytes)
    return reader_damaged(r, "memory of which a part is known");
  int buffer = n > 0 ? host_bytes(r, bytes, (size_t)e->bytes) : -1;
  if (n > 0 && buffer < 0)
    return false;
  if (buffer >= 0 && !(r->plan->buffers[buffer].name = arena_printf(&r->plan->arena, "state %d", r->n_states++)))
    return reader_exhausted(r);
  bool constant = n > 0 && e->kind == RECORD_STATE_CONSTANT;
  if (constant ? !places_alloc_as(&r->places, e->address, e->bytes, buffer, &place, &why)
               : !places_alloc(&r->places, e->address, e->bytes, &place, &why))
    return reader_refuse(r, "%s", why);
  place->read_only = constant;
  r->plan->buffers[place->buffer].zeroed = n == 0; // a workspace: what it held is not known, and zeros do most often
  if (n == 0 || constant)
    return true;
  struct plan_step *s = reader_add_step(r, PLAN_COPY, RECORD_DEFAULT_STREAM, &stamp);
  if (!s)
    return false;
  s->to = (struct plan_place){place->buffer, 0};
  s->from = (struct plan_place){buffer, 0};
  s->bytes = e->bytes;
  r->restores = true;
  return reader_use_place(r, place, stamp, r->plan->n_steps - 1);
}

// What was done so far is prepared, if that is so: steps that use anything but weights are every call's.
static bool on_prepared(struct record_reader *r, const struct plan_subject *subject) {
  struct plan *p = r->plan;
  bool ahead = !r->restores;
  for (int i = 0; i < p->n_steps && ahead; i++)
    ahead = plan_call_buffer(&p->steps[i], p->buffers, subject) < 0;
  p->n_prepare = ahead ? p->n_steps : 0;
  return true;
}

static bool on_name(struct record_reader *r, const struct record_name *e, const uint8_t *rest, size_t n) {
  if (e->module >= (uint32_t)r->plan->n_modules)
    return reader_damaged(r, "a name of nothing");
  const char *name = text_at(r, rest, n);
  if (!name)
    return false;
  r->plan->modules[e->module].name = name;
  return true;
}

static bool on_share(struct record_reader *r, const struct record_share *e) {
  if (e->origin >= PLAN_ORIGINS || e->ns > INT64_MAX)
    return reader_damaged(r, "kernels of nobody");
  r->report->shares.known = true;
  r->report->shares.launches[e->origin] = e->launches;
  r->report->shares.ns[e->origin] = (int64_t)e->ns;
  return true;
}

// The fixed part of every kind of entry; 0: it has none.
static size_t fixed_bytes(uint32_t kind) {
  static const size_t bytes[RECORD_LAST_KIND + 1] = {
      [RECORD_ALLOC] = sizeof(struct record_alloc),
      [RECORD_FREE] = sizeof(struct record_free),
      [RECORD_KERNEL] = sizeof(struct record_kernel),
      [RECORD_LAUNCH] = sizeof(struct record_launch),
      [RECORD_FILL] = sizeof(struct record_fill),
      [RECORD_COPY] = sizeof(struct record_copy),
      [RECORD_UPLOAD] = sizeof(struct record_upload),
      [RECORD_SYMBOL] = sizeof(struct record_symbol),
      [RECORD_TENSOR_MAP] = sizeof(struct record_tensor_map),
      [RECORD_STREAM] = sizeof(struct record_stream),
      [RECORD_EVENT] = sizeof(struct record_wait),
      [RECORD_WAIT] = sizeof(struct record_wait),
      [RECORD_HOST_WAIT] = sizeof(struct record_host_wait),
      [RECORD_OUTPUT] = sizeof(struct record_output),
      [RECORD_STATE] = sizeof(struct record_state),
      [RECORD_NAME] = sizeof(struct record_name),
      [RECORD_SHARE] = sizeof(struct record_share),
      [RECORD_WORD] = sizeof(struct record_word),
  };
  return bytes[kind];
}

static bool on_entry(struct record_reader *r, uint32_t kind, const uint8_t *payload, size_t n,
                     const struct record_context *context) {
  // A copy, for the log's bytes need not be aligned for anything.
  union {
    struct record_alloc alloc;
    struct record_free free;
    struct record_kernel kernel;
    struct record_launch launch;
    struct record_fill fill;
    struct record_copy copy;
    struct record_upload upload;
    struct record_symbol symbol;
    struct record_tensor_map map;
    struct record_stream stream;
    struct record_wait wait;
    struct record_host_wait host_wait;
    struct record_output output;
    struct record_state state;
    struct record_name name;
    struct record_share share;
    struct record_word word;
  } e;
  if (kind == 0 || kind > RECORD_LAST_KIND || n < fixed_bytes(kind))
    return reader_damaged(r, "an unknown entry");
  memcpy(&e, payload, fixed_bytes(kind));
  const uint8_t *rest = payload + fixed_bytes(kind);
  n -= fixed_bytes(kind);
  switch ((enum record_kind)kind) {
  case RECORD_ALLOC:
    return on_alloc(r, &e.alloc);
  case RECORD_FREE:
    return on_free(r, &e.free);
  case RECORD_MODULE:
    return on_module(r, rest, n, context->source_name);
  case RECORD_KERNEL:
    return on_kernel(r, &e.kernel, rest, n);
  case RECORD_LAUNCH:
    return reader_on_launch(r, &e.launch, rest, n);
  case RECORD_FILL:
    return on_fill(r, &e.fill);
  case RECORD_COPY:
    return on_copy(r, &e.copy);
  case RECORD_UPLOAD:
    return on_upload(r, &e.upload, rest, n);
  case RECORD_SYMBOL:
    return on_symbol(r, &e.symbol, rest, n);
  case RECORD_TENSOR_MAP:
    return reader_on_tensor_map(r, &e.map);
  case RECORD_STREAM:
    return on_stream(r, &e.stream);
  case RECORD_EVENT:
  case RECORD_WAIT:
    return on_waiting(r, kind, &e.wait);
  case RECORD_HOST_WAIT:
    return order_host_wait(&r->order, e.host_wait.what, e.host_wait.id) ||
           reader_damaged(r, "host code waits for nothing");
  case RECORD_OUTPUT:
    return on_output(r, &e.output);
  case RECORD_STATE:
    return on_state(r, &e.state, rest, n);
  case RECORD_NAME:
    return on_name(r, &e.name, rest, n);
  case RECORD_SHARE:
    return on_share(r, &e.share);
  case RECORD_WORD:
    return reader_on_word(r, &e.word);
  case RECORD_PREPARED:
    return on_prepared(r, context->subject);
  }
  return reader_damaged(r, "an unknown entry");
}

static bool read_entries(struct record_reader *r, const uint8_t *entries, uint64_t used,
                         const struct record_context *context) {
  for (uint64_t at = 0; at < used;) {
    struct record_entry entry;
    if (used - at < sizeof entry)
      return reader_damaged(r, "it ends within an entry");
    memcpy(&entry, entries + at, sizeof entry);
    at += sizeof entry;
    if (entry.bytes > used - at)
      return reader_damaged(r, "it ends within an entry");
    if (!on_entry(r, entry.kind, entries + at, entry.bytes, context))
      return false;
    uint64_t step = ((uint64_t)entry.bytes + 7) / 8 * 8;
    at = step > used - at ? used : at + step;
  }
  return true;
}

// All work must be done when the entry's stream is.
static bool check_end(struct record_reader *r) {
  char text[STEP_TEXT];
  order_end(&r->order);
  for (int i = 0; i < r->plan->n_steps; i++)
    if (!order_ended(&r->order, r->stamps[i]))
      return reader_refuse(
          r,
          "%s on another stream is not waited for: before the entry returns, its stream must wait for that "
          "one (cudaEventRecord, cudaStreamWaitEvent)",
          step_text(r, i, text));
  return true;
}

static bool read_log(struct record_reader *r, const uint8_t *log, size_t n, const struct record_context *context) {
  struct record_header head;
  if (n < sizeof head)
    return reader_damaged(r, "it is too short");
  memcpy(&head, log, sizeof head);
  if (head.magic != RECORD_MAGIC || head.used > n - sizeof head)
    return reader_damaged(r, "it does not begin as a log does");
  struct plan *p = r->plan;
  p->modules = arena_calloc(&p->arena, PLAN_MAX_MODULES, sizeof *p->modules);
  r->modules = arena_calloc(&r->arena, PLAN_MAX_MODULES, sizeof *r->modules);
  if (!p->modules || !r->modules || !places_init(&r->places, &r->arena, p, context->request, context->subject))
    return reader_exhausted(r);
  order_init(&r->order, &r->arena);
  return read_entries(r, log + sizeof head, head.used, context) && check_end(r);
}

enum assay_status record_read(const uint8_t *log, size_t n, const struct record_context *context, struct plan *out,
                              struct plan_report *report, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct plan plan = {0};
  struct record_reader *r = base_calloc(1, sizeof *r);
  if (!r)
    return error_nomem(err, "reading a recording");
  r->plan = &plan;
  r->report = report;
  r->one_of_two = context->reading == RECORD_ONE_OF_TWO;
  bool made = read_log(r, log, n, context);
  if (made && !plan_set_title(&plan, context->subject, &plan_device_cuda, context->target, context->toolchain))
    made = reader_exhausted(r);
  if (made) {
    report->outcome = PLAN_MADE;
    *out = plan;
  } else {
    plan_release(&plan);
  }
  if (r->no_memory)
    status = error_nomem(err, "the plan of a recording");
  arena_release(&r->arena);
  base_free(r);
  return status;
}
