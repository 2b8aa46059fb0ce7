// SPDX-License-Identifier: Apache-2.0
// Names of values in Python. ONNX's may hold any character, and may be words that Python or the module has a use for.
#include <stdio.h>
#include <string.h>

#include "report/pytorch.h"

// Python's keywords, what the translations and the modules themselves call, and what nn.Module has.
static const char *const taken[] = {
    "False",   "None",       "True",     "and",      "as",         "assert",     "async",
    "await",   "break",      "class",    "continue", "def",        "del",        "elif",
    "else",    "except",     "finally",  "for",      "from",       "global",     "if",
    "import",  "in",         "is",       "lambda",   "nonlocal",   "not",        "or",
    "pass",    "raise",      "return",   "try",      "while",      "with",       "yield",
    "torch",   "nn",         "F",        "self",     "recurrent",  "Model",      "ModelNew",
    "float",   "int",        "tuple",    "range",    "super",      "_",          "inputs",
    "forward", "compute",    "compiled", "train",    "eval",       "training",   "type",
    "to",      "half",       "double",   "bfloat16", "cpu",        "cuda",       "apply",
    "buffers", "parameters", "children", "modules",  "state_dict", "get_inputs", "get_init_inputs"};

static bool is_taken(const char *name) {
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (strcmp(taken[i], name) == 0)
      return true;
  return false;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Letters, digits and '_', not a digit first. In the arena, with room for a number after it.
static char *plain(struct arena *arena, const char *name) {
  enum { NUMBER_BYTES = 16 };
  size_t n = strlen(name), used = 0;
  char *out = arena_alloc(arena, n + NUMBER_BYTES);
  if (!out)
    return NULL;
  if (n == 0 || (name[0] >= '0' && name[0] <= '9'))
    out[used++] = 'v';
  for (size_t i = 0; i < n; i++)
    out[used++] = is_word(name[i]) ? name[i] : '_';
  out[used] = '\0';
  return out;
}

static bool is_used(const char *const *names, int n, const char *name) {
  bool used = false;
  for (int i = 0; i < n && !used; i++)
    used = strcmp(names[i], name) == 0;
  return used;
}

enum assay_status pytorch_make_names(const struct graph *g, struct arena *arena, const char *const **out,
                                     struct assay_error *err) {
  const char **names = arena_calloc(arena, (size_t)g->n_values + 1, sizeof *names);
  for (int v = 0; v < g->n_values; v++) {
    char *name = names ? plain(arena, g->values[v].name) : NULL;
    if (!name)
      return error_nomem(err, "a module");
    size_t n = strlen(name);
    for (int i = 2; is_taken(name) || is_used(names, v, name); i++)
      snprintf(name + n, 16, "_%d", i);
    names[v] = name;
  }
  *out = names;
  return names ? ASSAY_OK : error_nomem(err, "a module");
}
