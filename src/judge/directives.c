// SPDX-License-Identifier: Apache-2.0
#include "judge/directives.h"

#include <string.h>

#include "base/nearest.h"
#include "base/remark.h"
#include "toolchain/directive/directive.h"

// The next word of *p, which ends at `end`; empty at the end.
static const char *word(struct arena *a, const char **p, const char *end) {
  while (*p < end && (**p == ' ' || **p == '\t'))
    ++*p;
  const char *start = *p;
  while (*p < end && **p != ' ' && **p != '\t' && **p != '\r')
    ++*p;
  return arena_strndup(a, start, (size_t)(*p - start));
}

// Notes the first malformed line. The candidate can be judged all the same, but its twins not be told.
static enum assay_status malformed(struct arena *arena, struct directives *d, int line, const char *form,
                                   struct assay_error *err) {
  if (!d->malformed)
    d->malformed = arena_printf(arena, "line %d: write `// assay: %s`", line, form);
  return d->malformed ? ASSAY_OK : error_nomem(err, "a candidate's directives");
}

// A word that no directive begins with: a line that would count for nothing in silence.
static enum assay_status unknown(struct arena *arena, struct directives *d, int line, const char *verb,
                                 struct assay_error *err) {
  struct nearest near = {.word = verb};
  char hint[64];
  for (const char *const *v = directive_verbs(); *v; v++) {
    if (strcmp(*v, verb) == 0)
      return ASSAY_OK; // another toolchain's, or the tuner's
    nearest_offer(&near, *v);
  }
  if (d->malformed)
    return ASSAY_OK;
  d->malformed = arena_printf(arena, "line %d: there is no directive '%.40s'%s", line, verb,
                              nearest_text(&near, hint, sizeof hint));
  return d->malformed ? ASSAY_OK : error_nomem(err, "a candidate's directives");
}

#define TWIN_FORM "twin MACRO [at WORKLOAD] [on DEVICE] expect CODE -- note"

// What stands after the macro. False: it is malformed, or memory fails.
static bool read_twin(struct arena *arena, const char *p, const char *end, struct twin *t) {
  const char *next = word(arena, &p, end);
  if (next && strcmp(next, "at") == 0) {
    t->workload = word(arena, &p, end);
    next = word(arena, &p, end);
  }
  if (next && strcmp(next, "on") == 0) {
    const char *device = word(arena, &p, end);
    if (!device || plan_device_parse(device, &t->device, NULL) != ASSAY_OK)
      return false;
    next = word(arena, &p, end);
  }
  t->expect = word(arena, &p, end);
  while (p < end && (*p == ' ' || *p == '-'))
    p++;
  t->note = arena_strndup(arena, p, (size_t)(end - p));
  return next && t->expect && strcmp(next, "expect") == 0 && t->expect[0] && t->note;
}

static enum assay_status read_line(struct arena *arena, const char *p, const char *end, int line, struct directives *d,
                                   size_t *capacity, struct assay_error *err) {
  const char *verb = word(arena, &p, end), *value = word(arena, &p, end);
  if (!verb || !value)
    return error_nomem(err, "a candidate's directives");
  if (strcmp(verb, "task") == 0) {
    if (!value[0])
      return malformed(arena, d, line, "task SUITE/LEVEL/PROBLEM", err);
    d->task = value;
  } else if (strcmp(verb, "expect") == 0) {
    d->twins[0].expect = value;
  } else if (strcmp(verb, "twin") == 0) {
    struct twin t = {.define = value};
    if (!read_twin(arena, p, end, &t))
      return malformed(arena, d, line, TWIN_FORM, err);
    if ((size_t)d->n_twins == *capacity) {
      struct twin *more = arena_grow(arena, d->twins, (size_t)d->n_twins, capacity, sizeof *more);
      if (!more)
        return error_nomem(err, "a candidate's directives");
      d->twins = more;
    }
    d->twins[d->n_twins++] = t;
  } else {
    return unknown(arena, d, line, verb, err);
  }
  return ASSAY_OK;
}

enum assay_status directives_read(const char *source, size_t n, struct arena *arena, struct directives *out,
                                  struct assay_error *err) {
  size_t capacity = 0;
  struct directives d = {.n_twins = 1};
  d.twins = arena_grow(arena, NULL, 0, &capacity, sizeof *d.twins);
  if (!d.twins)
    return error_nomem(err, "a candidate's directives");
  const char *end = source + n;
  int line = 1;
  bool goes_on = false; // a directive's line ended in a backslash
  for (const char *p = source; p < end; line++) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    stop = stop ? stop : end;
    bool python;
    const char *directive = remark_text(p, stop, &python);
    const bool continues = goes_on;
    goes_on = (directive || continues) && remark_goes_on(p, stop);
    if (directive && !continues) {
      enum assay_status status = read_line(arena, directive, stop, line, &d, &capacity, err);
      if (status)
        return status;
    }
    p = stop + 1;
  }
  *out = d;
  return ASSAY_OK;
}
