// SPDX-License-Identifier: Apache-2.0
// Private to src/compare: how an output is cut into panels, and its groups (compare.c says why).
#ifndef COMPARE_LAYOUT_H
#define COMPARE_LAYOUT_H

#include "compare/compare.h"

enum { PANEL_COLUMNS = 1024, PANEL_ELEMENTS = 1 << 15, MAX_CHUNKS = 2048, TILE = 16, GROUP_MIN = 16 };

// A matrix cut into panels of nearly equal size.
struct panels {
  int64_t rows, columns, down, across, chunks;
  int64_t panel_rows, panel_columns;                            // of the largest panel
  int64_t tile_rows, tile_columns, pooled_rows, pooled_columns; // sizes of groups
};
void panels_init(struct panels *l, const struct shape *shape);

// Where part i begins when n is cut into `parts` of nearly equal size.
int64_t part_begin(int64_t n, int64_t parts, int64_t i);

struct partial {
  int64_t n, n_nan, n_inf, n_poison, n_exact, n_over, n_not_close, n_not_loose, n_groups, n_rows;
  int64_t first_over, last_over;
  double max_abs, max_rel, z_max, sum_z2, sum_z, sum_z_outward, sum_z_size, sum_size2;
  double row2, column2, tile2; // largest mean squares
  bool infinite;               // some z is
  int64_t histogram[COMPARE_HISTOGRAM];
  int n_worst;
  struct compare_element worst[COMPARE_WORST];
  bool worst_mismatch[COMPARE_WORST];
};

struct scorer;
struct segment;

// Puts an element among the worst if it belongs there.
void keep_worst(struct partial *p, const struct compare_element *e, bool mismatch);
void merge_partial(struct partial *to, const struct partial *p);

// The neighbours whose scales are looked at where an element is wrong (facts.z_near).
enum { NEAR = 8, NEAR_MOST = 2 * NEAR + 1 };
struct near_range {
  int64_t begin;
  int n; // at most NEAR_MOST
};
struct near_range near_of(int64_t index, int64_t n);

// sigma: the n scales there; NULL: integers have none, and are infinitely far off.
void note_near(struct compare_facts *f, int worst, const float *sigma, int n);

// A hint that was made from elements [begin, begin + n) alone.
void take_hint(struct compare_facts *f, const struct compare_facts *part, int64_t begin, int64_t n);

// Facts from the sums over all elements; hint and hint_text are left empty.
void facts_finish(const struct scorer *s, const struct partial *t, struct compare_facts *f);

#endif
