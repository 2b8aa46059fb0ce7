// SPDX-License-Identifier: Apache-2.0
// What a candidate lets a tuner choose. Comment lines declare parameters and what must hold between them:
//
//   // assay: tune TILE_M 64,128,256
//   // assay: tune UNROLL 1,2,4
//   // assay: constraint TILE_M * UNROLL <= 256 && M % UNROLL == 0
//
// (`# assay:` in Python.) A configuration has one value of each. In its source the line of a parameter defines it: as a
// macro and, for launch lines, as a name; in Python as a global variable. The file as it is has the first values, if it
// guards its own definitions with #ifndef. Values are numbers, words or texts in quotes; constraints are expressions of
// the directive language (toolchain/directive/directive.h) over parameters whose values are numbers, and dimensions of
// the task.
#ifndef TUNE_SPACE_H
#define TUNE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "plan/subject.h"

enum {
  TUNE_MOST_PARAMETERS = 16,
  TUNE_MOST_VALUES = 64,
  TUNE_MOST_CONSTRAINTS = 32,
  TUNE_MOST_CONFIGURATIONS = 1 << 20
};

struct tune_parameter {
  const char *name;
  int line;    // from 1
  bool python; // its line begins with #
  int n;
  const char *values[TUNE_MOST_VALUES];
};

struct tune_space {
  int n, n_constraints;
  struct tune_parameter parameters[TUNE_MOST_PARAMETERS];
  const char *constraints[TUNE_MOST_CONSTRAINTS];
  int constraint_lines[TUNE_MOST_CONSTRAINTS];
  int64_t size; // configurations, allowed or not
};

// Reads the lines of a source; strings are the arena's. ASSAY_ERR_SYNTAX, _LIMIT: "FILE:LINE: what, and what to write
// instead"; ASSAY_ERR_USAGE: it declares no parameter.
enum assay_status tune_space_read(const char *file, const char *source, size_t n, struct arena *arena,
                                  struct tune_space *out, struct assay_error *err);

// The values of configuration `number`, 0 <= number < size: the last parameter changes fastest, 0 has the first values.
void tune_space_pick(const struct tune_space *s, int64_t number, const char *values[TUNE_MOST_PARAMETERS]);

// "TILE_M=64,UNROLL=2".
void tune_space_name(const struct tune_space *s, const char *const *values, struct buf *out);

struct tune_order {
  const char *file; // for messages
  const struct plan_symbol *symbols;
  int n_symbols;
  uint64_t seed;
};

// Numbers of the configurations that the constraints allow for these dimensions, in the arena: number 0 first, if it is
// allowed, then a random order that follows from the seed alone. ASSAY_ERR_SYNTAX, _INVALID: a constraint that means
// nothing; ASSAY_ERR_USAGE: they allow none.
enum assay_status tune_space_order(const struct tune_space *s, const struct tune_order *o, struct arena *arena,
                                   int64_t **numbers, int64_t *count, struct assay_error *err);

// The source of a configuration: complete, to be judged as it is.
void tune_space_source(const struct tune_space *s, const char *source, size_t n, const char *const *values,
                       struct buf *out);

#endif
