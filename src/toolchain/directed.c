// SPDX-License-Identifier: Apache-2.0
// Building sources with directive lines, and their plans.
#include "toolchain/directed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "toolchain/cc.h"

struct directed_build {
  struct program_build base;
  struct directed_program *program; // under construction
  struct builder *own;              // a builder of our own, for one build
  struct builder_job *job;
  const char *source;
  size_t n;
  const char *const *flags; // all of them, for the command and the module
  const char *rejected;     // by us, before any compiler
  int64_t start_ns;
};

static void destroy_program(struct directed_program *p) {
  if (!p)
    return;
  arena_release(&p->arena);
  base_free(p);
}

static void destroy(struct directed_build *b) {
  builder_job_cancel(b->job);
  builder_close(b->own);
  destroy_program(b->program);
  base_free(b);
}

// ---- start

// The toolchain's flags, then the defines, then the source's own.
static const char *const *all_flags(const struct directed_build *b, const struct program_options *o, struct arena *a,
                                    int *n) {
  const char *const *first = b->program->way->flags(o, a);
  const struct directive_set *set = &b->program->set;
  size_t n_first = 0, n_defines = 0, count = 0;
  while (first && first[n_first])
    n_first++;
  while (o->defines && o->defines[n_defines])
    n_defines++;
  const char **list = arena_calloc(a, n_first + n_defines + (size_t)set->n_options + 1, sizeof *list);
  if (!first || !list)
    return NULL;
  for (size_t i = 0; i < n_first; i++)
    list[count++] = first[i];
  for (size_t i = 0; i < n_defines; i++)
    if (!(list[count++] = arena_printf(a, "-D%s", o->defines[i])))
      return NULL;
  for (int i = 0; i < set->n_options; i++)
    list[count++] = set->options[i];
  *n = (int)count;
  return list;
}

static int architecture_of(const char *target) {
  const char *digits = strpbrk(target, "0123456789");
  return digits ? atoi(digits) : 0;
}

// Reads the directives; a source that is refused for them is not an error.
static enum assay_status read_directives(struct directed_build *b, struct assay_error *err) {
  struct directed_program *p = b->program;
  struct assay_error why = {0};
  if (b->n > BUILDER_MAX_SOURCE || memchr(b->source, 0, b->n)) {
    b->rejected = b->n > BUILDER_MAX_SOURCE ? "the source is larger than 16 MiB" : "the source has a NUL character";
    return ASSAY_OK;
  }
  size_t limit = p->arena.limit_bytes;
  p->arena.limit_bytes = p->arena.used_bytes + DIRECTIVE_ARENA_BYTES;
  enum assay_status status = directive_parse(p->name, b->source, b->n, &p->arena, &p->set, &why);
  p->arena.limit_bytes = limit;
  if (status == ASSAY_ERR_SYNTAX || status == ASSAY_ERR_LIMIT) {
    b->rejected = arena_strdup(&p->arena, why.message);
    return b->rejected ? ASSAY_OK : error_nomem(err, "a build");
  }
  if (status == ASSAY_OK && p->set.n == 0) {
    b->rejected = arena_printf(&p->arena,
                               "%s:1:1: error: nothing is launched: write a line for each launch, such as `// assay: "
                               "launch KERNEL grid=ceil_div(x.count, 256) block=256 args=x, y, x.count`, where x and y "
                               "are the task's names of an input and an output",
                               p->name);
    return b->rejected ? ASSAY_OK : error_nomem(err, "a build");
  }
  return status == ASSAY_OK ? ASSAY_OK : error_set(err, status, "%s", why.message);
}

static enum assay_status submit(struct directed_build *b, const struct program_options *o, struct assay_error *err) {
  struct directed_program *p = b->program;
  struct builder_request request = {.language = b->program->way->language,
                                    .name = p->name,
                                    .source = b->source,
                                    .source_bytes = b->n,
                                    .architecture = architecture_of(p->base.target),
                                    .n_kernels = p->set.n_kernels,
                                    .kernels = p->set.kernels};
  request.options = b->flags = all_flags(b, o, &p->arena, &request.n_options);
  if (!b->flags)
    return error_nomem(err, "a build");
  const struct builder_limits limits = {.deadline_ns = b->start_ns + o->timeout_ns,
                                        .cpu_seconds = o->timeout_ns / 1000000000 + 1,
                                        .memory_bytes = o->memory_bytes,
                                        .file_bytes = o->file_bytes};
  // An OpenCL implementation writes where it compiles: such a builder serves one source.
  const bool shared = o->builder && b->program->way->language == BUILDER_CUDA;
  const struct builder_start how = {.kind =
                                        b->program->way->language == BUILDER_CUDA ? BUILDER_COLD : BUILDER_FOR_OPENCL,
                                    .folder = o->folder,
                                    .file_bytes = o->file_bytes};
  enum assay_status status = shared ? ASSAY_OK : builder_spawn(o->paths, &how, &b->own, err);
  return status == ASSAY_OK ? builder_submit(shared ? o->builder : b->own, &request, &limits, &b->job, err) : status;
}

static enum assay_status start(const struct directed_way *way, const struct program_options *o, const char *source,
                               size_t n, struct program_build **out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct directed_build *b = base_calloc(1, sizeof *b);
  struct directed_program *p = base_calloc(1, sizeof *p);
  if (!b || !p) {
    base_free(b);
    base_free(p);
    return error_nomem(err, "a build");
  }
  *b = (struct directed_build){.base = {way->toolchain}, .program = p, .n = n, .start_ns = clock_monotonic_ns()};
  p->base.toolchain = way->toolchain;
  p->way = way;
  snprintf(p->base.target, sizeof p->base.target, "%s", o->target ? o->target : "");
  p->name = arena_strdup(&p->arena, o->name && o->name[0] ? o->name : "candidate");
  b->source = n <= BUILDER_MAX_SOURCE ? arena_strndup(&p->arena, source, n) : source;
  if (!p->name || !b->source)
    status = error_nomem(err, "a build");
  if (status == ASSAY_OK)
    status = read_directives(b, err);
  if (status == ASSAY_OK && !b->rejected)
    status = submit(b, o, err);
  if (status == ASSAY_OK)
    *out = &b->base;
  else
    destroy(b);
  return status;
}

static void directed_cancel(struct program_build *base) {
  destroy((struct directed_build *)base);
}

// ---- finish

// The command as one would write it, were it a program.
static char *command_of(const struct directed_build *b) {
  struct buf text;
  buf_init(&text);
  buf_puts(&text, b->program->way->command);
  for (int i = 0; b->flags && b->flags[i]; i++)
    buf_printf(&text, " %s", b->flags[i]);
  buf_printf(&text, " %s", b->program->name);
  char *copy = text.failed ? NULL : base_strndup(buf_str(&text), text.len);
  buf_release(&text);
  return copy;
}

// Whether NVRTC complains of a kernel's name: it quotes a line of its own, and after it the name with blanks.
static bool complains_of(const char *log, const char *kernel) {
  struct buf quoted = {0}, said = {0};
  buf_printf(&quoted, "#pragma nv_mangled_name %s\n", kernel);
  buf_printf(&said, "Input name expression was: \" %s\"", kernel);
  bool found = !quoted.failed && !said.failed && (strstr(log, buf_str(&quoted)) || strstr(log, buf_str(&said)));
  buf_release(&quoted);
  buf_release(&said);
  return found;
}

// Whether an error in the source itself is among the messages.
static bool blames_source(const struct directed_program *p, const char *log) {
  static const char error[] = "): error";
  const size_t length = strlen(p->name);
  for (const char *line = log; *line;) {
    size_t n = strcspn(line, "\n");
    if (n > length && strncmp(line, p->name, length) == 0 && line[length] == '(' &&
        memmem(line, n, error, strlen(error)))
      return true;
    line += n + (line[n] == '\n');
  }
  return false;
}

// What NVRTC says of a kernel that is launched and not there is about a file that nobody wrote. The line that launches
// it comes first, unless an error in the source is why.
static void name_missing_kernels(const struct directed_program *p, const char *log, struct buf *out) {
  for (int k = 0; k < p->set.n_kernels && !blames_source(p, log); k++) {
    int line, column;
    if (complains_of(log, p->set.kernels[k]) && directive_launch_place(&p->set, k, &line, &column))
      buf_printf(out, "%s:%d:%d: error: there is no __global__ function %s%s, which this line launches\n", p->name,
                 line, column, p->set.kernels[k],
                 strchr(p->set.kernels[k], '<') ? " with these template arguments" : "");
  }
}

static char *clean_text(const struct directed_build *b, const char *s) {
  const struct directed_program *p = b->program;
  struct buf raw, clean;
  buf_init(&raw);
  buf_init(&clean);
  if (p->way->language == BUILDER_CUDA)
    name_missing_kernels(p, s, &raw);
  if (p->way->language == BUILDER_CUDA)
    diagnostics_of_cuda(s, p->name, b->source, &raw);
  else
    diagnostics_of_opencl(s, p->name, &raw);
  diagnostics_clean(&raw, NULL, NULL, &clean);
  char *copy = raw.failed || clean.failed ? NULL : base_strndup(buf_str(&clean), clean.len);
  buf_release(&raw);
  buf_release(&clean);
  return copy;
}

static const char *join(const char *const *words, struct arena *a) {
  const char *all = "";
  for (int i = 0; all && words[i]; i++)
    all = arena_printf(a, "%s%s%s", all, i ? " " : "", words[i]);
  return all;
}

static enum assay_status collect(struct directed_build *b, struct builder_found *found, struct assay_error *err) {
  struct directed_program *p = b->program;
  *found = (struct builder_found){.outcome = BUILD_REJECTED, .version = "", .diagnostics = b->rejected};
  if (b->rejected) {
    found->elapsed_ns = clock_monotonic_ns() - b->start_ns;
    return ASSAY_OK;
  }
  struct builder_job *job = b->job;
  b->job = NULL;
  enum assay_status status = builder_collect(job, &p->arena, found, err);
  const char *refusal = NULL;
  if (status == ASSAY_OK && found->outcome == BUILD_OK) {
    p->version = found->version;
    p->options = join(b->flags, &p->arena);
    if (!p->options)
      return error_nomem(err, "a build");
    status = b->program->way->complete(p, &found->reply, b->source, b->n, &refusal, err);
  }
  if (refusal) {
    found->outcome = BUILD_REJECTED;
    found->diagnostics = refusal;
  }
  return status;
}

// The code, its options where it is a text, and the directives: all that plans are made of.
static bool hash_built(const struct directed_program *p, char hex[HASH_HEX_BYTES]) {
  struct buf all = {0};
  buf_printf(&all, "%s\n%s\n%s\n", p->base.target, p->way->code == PLAN_OPENCL_C ? p->options : "", p->set.hash);
  buf_append(&all, (const char *)p->code, p->code_bytes);
  bool whole = !all.failed;
  if (whole)
    hash_sha256_hex(buf_str(&all), all.len, hex);
  buf_release(&all);
  return whole;
}

static enum assay_status directed_finish(struct program_build *base, struct build_result *result,
                                         struct program **program, struct assay_error *err) {
  struct directed_build *b = (struct directed_build *)base;
  struct builder_found found;
  struct build_result r = {0};
  enum assay_status status = collect(b, &found, err);
  if (status == ASSAY_OK) {
    r = (struct build_result){.outcome = found.outcome,
                              .diagnostics = clean_text(b, found.diagnostics),
                              .command = command_of(b),
                              .compiler_version = clean_text(b, found.version),
                              .elapsed_ns = found.elapsed_ns,
                              .cpu_ns = found.cpu_ns};
    bool hashed = r.outcome != BUILD_OK || hash_built(b->program, r.built);
    if (!r.diagnostics || !r.command || !r.compiler_version || !hashed)
      status = error_nomem(err, "the result of a build");
  }
  if (status == ASSAY_OK) {
    *result = r;
    if (r.outcome == BUILD_OK) {
      *program = &b->program->base;
      b->program = NULL;
    }
  } else {
    build_result_release(&r);
  }
  destroy(b);
  return status;
}

static void directed_release(struct program *p) {
  destroy_program((struct directed_program *)p);
}

// ---- plans

static struct plan_module *copy_module(const struct directed_program *p, enum plan_code code, struct arena *a) {
  struct plan_module *m = arena_calloc(a, 1, sizeof *m);
  uint8_t *bytes = arena_alloc(a, p->code_bytes + 1);
  if (!m || !bytes)
    return NULL;
  memcpy(bytes, p->code, p->code_bytes);
  bytes[p->code_bytes] = 0;
  *m = (struct plan_module){.name = arena_strdup(a, p->name),
                            .code = code,
                            .bytes = bytes,
                            .size = p->code_bytes,
                            .options = arena_strdup(a, code == PLAN_OPENCL_C ? p->options : "")};
  return m->name && m->options ? m : NULL;
}

static enum assay_status directed_plan(struct program *base, const struct plan_subject *subject, struct plan *out,
                                       struct plan_report *report, struct assay_error *err) {
  const struct directed_program *p = (const struct directed_program *)base;
  struct plan plan = {0};
  struct assay_error why = {0};
  enum assay_status status = ASSAY_OK;
  if (!plan_set_title(&plan, subject, base->toolchain->device, base->target, p->version) ||
      !(plan.modules = copy_module(p, p->way->code, &plan.arena)))
    status = error_nomem(&why, "a plan");
  plan.n_modules = 1;
  if (status == ASSAY_OK)
    status = directive_plan(&p->set, p->kernels, subject, &plan, &why);
  report->outcome = PLAN_MADE;
  if (status == ASSAY_OK) {
    *out = plan;
    return ASSAY_OK;
  }
  plan_release(&plan);
  if (status != ASSAY_ERR_INVALID)
    return error_set(err, status, "%s", why.message);
  plan_report_refuse(report, PLAN_REFUSED, "%.500s", why.message);
  return ASSAY_OK;
}

static enum assay_status start_nvrtc(const struct program_options *o, const char *source, size_t n,
                                     struct program_build **out, struct assay_error *err) {
  return start(&nvrtc_way, o, source, n, out, err);
}

static enum assay_status start_opencl(const struct program_options *o, const char *source, size_t n,
                                      struct program_build **out, struct assay_error *err) {
  return start(&opencl_way, o, source, n, out, err);
}

const struct toolchain_ops toolchain_ops_nvrtc = {.takes = directive_launches,
                                                  .start = start_nvrtc,
                                                  .finish = directed_finish,
                                                  .cancel = directed_cancel,
                                                  .plan = directed_plan,
                                                  .release = directed_release};
const struct toolchain_ops toolchain_ops_opencl = {.start = start_opencl,
                                                   .finish = directed_finish,
                                                   .cancel = directed_cancel,
                                                   .plan = directed_plan,
                                                   .release = directed_release};
