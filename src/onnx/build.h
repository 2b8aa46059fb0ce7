// SPDX-License-Identifier: Apache-2.0
// What the text parser, the binary reader and the inliner share: putting a graph together in the model's arena, with
// the checks that do not depend on where it came from. Internal to src/onnx.
#ifndef ONNX_BUILD_H
#define ONNX_BUILD_H

#include <locale.h>

#include "graph/graph.h"
#include "onnx/onnx.h"

// Everything the readers make lives in the model's arena, so that a failure needs no cleanup: they leave at once.
#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    enum assay_status try_status_ = (call);                                                                            \
    if (try_status_)                                                                                                   \
      return try_status_;                                                                                              \
  } while (0)

// Lists that are searched one by one, so that hostile files cannot make the search expensive.
enum { BUILD_MAX_LIST = 1024, BUILD_NEWEST_IR = 14, BUILD_OLDEST_IR = 3 };

// n * size zeroed bytes. Sets the error (ASSAY_ERR_LIMIT or _NOMEM) and returns NULL when there is no room.
void *build_alloc(struct arena *a, size_t n, size_t size, const char *what, struct assay_error *err);

// A copy with a NUL after it; refuses a NUL inside (ASSAY_ERR_INVALID). `at` is for that message.
enum assay_status build_string(struct arena *a, const char *s, size_t n, const struct source_location *at,
                               const char **out, struct assay_error *err);

// Makes room for one more element after *items (an arena array of n elements).
enum assay_status build_grow(struct arena *a, void *items, size_t n, size_t *capacity, size_t size, const char *what,
                             struct assay_error *err);

// "line 3, column 4: message", or with the path of a binary model.
enum assay_status build_error(struct assay_error *err, enum assay_status status, const struct source_location *at,
                              const char *fmt, ...) ASSAY_PRINTF(4, 5);

// Names to indices. Zero-initialise.
struct name_slot {
  const char *key;
  int index;
};
struct name_table {
  struct name_slot *slots;
  size_t n, n_slots;
};
int name_table_find(const struct name_table *t, const char *s, size_t len); // -1: absent
enum assay_status name_table_add(struct name_table *t, struct arena *a, const char *key, int index,
                                 struct assay_error *err);

// A declared type: DTYPE_UNDEFINED and rank -1 where nothing is said.
struct value_type {
  enum dtype dtype;
  int rank;
  struct dim dims[SHAPE_MAX_RANK];
};

struct graph_builder {
  struct arena *arena;
  struct graph *graph;
  struct name_table names;
  unsigned char *defined; // for each value: an input, a constant or the output of a node so far
  size_t cap_values, cap_defined, cap_nodes, cap_inputs, cap_outputs;
};

void onnx_build_start(struct graph_builder *b, struct arena *arena, struct graph *graph);

// The value of this name, made when it is new.
enum assay_status build_value(struct graph_builder *b, const char *name, size_t len, const struct source_location *at,
                              int *index, struct assay_error *err);
// The same for a name that must have been defined before.
enum assay_status build_use(struct graph_builder *b, const char *name, size_t len, const struct source_location *at,
                            int *index, struct assay_error *err);
// The same for a name that gets its one definition here.
enum assay_status build_define(struct graph_builder *b, const char *name, size_t len, const struct source_location *at,
                               int *index, struct assay_error *err);
// Adds what a declaration says to what is known of the value; contradictions are errors.
enum assay_status build_declare(struct graph_builder *b, int index, const struct value_type *type,
                                const struct source_location *at, struct assay_error *err);
// A constant. onnx_build_finish drops an input of the same name (ONNX calls the initializer its default).
enum assay_status build_constant(struct graph_builder *b, int index, const struct tensor *t,
                                 const struct source_location *at, struct assay_error *err);
enum assay_status build_input(struct graph_builder *b, const char *name, size_t len, const struct value_type *type,
                              const struct source_location *at, int *index, struct assay_error *err);
// Outputs may be named before they are defined; onnx_build_finish checks.
enum assay_status build_output(struct graph_builder *b, const char *name, size_t len, const struct value_type *type,
                               const struct source_location *at, struct assay_error *err);
// A zeroed node at the end of the graph.
enum assay_status build_node(struct graph_builder *b, struct node **out, struct assay_error *err);
// Notes that the node (the graph's last one) makes its outputs.
void build_produced(struct graph_builder *b, const struct node *n);
enum assay_status onnx_build_finish(struct graph_builder *b, struct assay_error *err);

// "" for "ai.onnx", the domain otherwise.
const char *build_domain(const char *domain);
// Checks versions against the newest ones that the operator table speaks, and doubles.
enum assay_status build_check_opsets(struct opset_import *opsets, int n, const struct source_location *at,
                                     struct assay_error *err);
enum assay_status build_check_ir(int64_t version, const struct source_location *at, struct assay_error *err);

// Numbers are read and printed with a point whatever the program's locale says: for this thread, until the end.
struct build_locale {
  locale_t c, before;
};
enum assay_status build_locale_start(struct build_locale *l, struct assay_error *err);
void build_locale_end(struct build_locale *l);

// Opens a model and, after `status`, hands it over or drops it with "name: " in front of the message.
void build_model_start(struct model *m);
enum assay_status build_model_end(struct model *m, const char *name, enum assay_status status, struct assay_error *err);

#endif
