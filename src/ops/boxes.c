// SPDX-License-Identifier: Apache-2.0
// Boxes in images: the best ones that do not lie on each other.
#include "ops/boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/families.h"
#include "ops/pytorch.h"

enum { IN_BOXES, IN_SCORES, IN_MOST, IN_OVERLAP, IN_SCORE };

// Low and high ends in both directions.
struct box {
  double low[2], high[2];
};

static struct box box_read(const double *v, bool centred) {
  struct box b;
  for (int d = 0; d < 2; d++) {
    double half = v[2 + d] / 2;
    b.low[d] = centred ? v[d] - half : fmin(v[d], v[2 + d]);
    b.high[d] = centred ? v[d] + half : fmax(v[d], v[2 + d]);
  }
  return b;
}

static double area(const struct box *b) {
  return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]);
}

// What two boxes share, of what they cover together.
static double overlap(const struct box *a, const struct box *b) {
  double shared = 1;
  for (int d = 0; d < 2; d++)
    shared *= fmax(fmin(a->high[d], b->high[d]) - fmax(a->low[d], b->low[d]), 0);
  double first = area(a), second = area(b), all = first + second - shared;
  return shared > 0 && first > 0 && second > 0 && all > 0 ? shared / all : 0;
}

struct candidate {
  double score;
  int64_t box;
};

// The best first; of equal ones the first.
static int by_score(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  return x->score > y->score ? -1 : x->score < y->score ? 1 : (x->box > y->box) - (x->box < y->box);
}

struct selection {
  const struct op_infer *c;
  int64_t boxes, most;
  double overlap, score; // score: above it; -infinity where all count
  bool centred, scored;
  struct candidate *candidates;
  struct box *kept;
};

static int64_t select_class(const struct selection *s, int64_t batch, int64_t class, int64_t n_classes, int64_t *out) {
  const double *scores = s->c->in[IN_SCORES]->f64 + (batch * n_classes + class) * s->boxes;
  const double *boxes = s->c->in[IN_BOXES]->f64 + batch * s->boxes * 4;
  int64_t n = 0, kept = 0;
  for (int64_t i = 0; i < s->boxes; i++)
    if (!s->scored || scores[i] > s->score)
      s->candidates[n++] = (struct candidate){scores[i], i};
  if (n > 0)
    qsort(s->candidates, (size_t)n, sizeof *s->candidates, by_score);
  for (int64_t i = 0; i < n && kept < s->most; i++) {
    struct box b = box_read(boxes + 4 * s->candidates[i].box, s->centred);
    bool suppressed = false;
    for (int64_t k = 0; k < kept && !suppressed; k++)
      suppressed = overlap(&b, &s->kept[k]) > s->overlap;
    if (suppressed)
      continue;
    if (out)
      memcpy(out + 3 * kept, (const int64_t[]){batch, class, s->candidates[i].box}, 3 * sizeof *out);
    s->kept[kept++] = b;
  }
  return kept;
}

// A scalar that may be left out, or have no element.
static const struct array *scalar(const struct op_infer *c, int i) {
  return op_has(c, i) && shape_count(&c->in[i]->shape) > 0 ? c->in[i] : NULL;
}

enum assay_status boxes_select(const struct op_infer *c, int64_t *count, int64_t *out, struct assay_error *err) {
  const struct shape *scores = &c->in[IN_SCORES]->shape;
  const struct array *most = scalar(c, IN_MOST), *part = scalar(c, IN_OVERLAP), *score = scalar(c, IN_SCORE);
  struct selection s = {.c = c,
                        .boxes = scores->dims[2],
                        .most = most && most->i64[0] > 0 ? most->i64[0] : 0,
                        .overlap = part ? part->f64[0] : 0,
                        .scored = score != NULL,
                        .score = score ? score->f64[0] : 0,
                        .centred = node_int(c->node, "center_point_box", 0) != 0};
  s.candidates = base_calloc((size_t)s.boxes + 1, sizeof *s.candidates);
  s.kept = base_calloc((size_t)s.boxes + 1, sizeof *s.kept);
  enum assay_status status = s.candidates && s.kept ? ASSAY_OK : error_nomem(err, "boxes");
  *count = 0;
  for (int64_t i = 0; i < scores->dims[0] * scores->dims[1] && !status; i++)
    *count +=
        select_class(&s, i / scores->dims[1], i % scores->dims[1], scores->dims[1], out ? out + 3 * *count : NULL);
  base_free(s.candidates);
  base_free(s.kept);
  return status;
}

static enum assay_status suppression_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *boxes = &c->in[IN_BOXES]->shape, *scores = &c->in[IN_SCORES]->shape;
  int64_t dims[2] = {0, 3};
  if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] ||
      boxes->dims[1] != scores->dims[2])
    return op_invalid(c->node, err, "boxes must be [batches, boxes, 4] and scores [batches, classes, boxes]");
  for (int i = 0; i < c->n_in; i++) {
    if (c->in[i] && dtype_is_float(c->in[i]->dtype) != (i != IN_MOST))
      return op_invalid(c->node, err, "input %d is %s", i, dtype_name(c->in[i]->dtype));
    if (c->in[i] && !c->in[i]->bits)
      return op_unsupported(c->node, err, "input %d must be a constant, because the output's shape depends on it", i);
  }
  enum assay_status status = boxes_select(c, &dims[0], NULL, err);
  return status ? status : op_output(c, 0, DTYPE_INT64, 2, dims, err);
}

static enum assay_status suppression_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer infer = op_infer_of(c);
  int64_t count;
  return boxes_select(&infer, &count, c->out[0].i64, err);
}

static const struct op_attr attrs[] = {{"center_point_box", ATTR_INT, false, "0"}, {0}};

static const struct op_def rows[] = {
    {OP_ROW("NonMaxSuppression", 10, 2, 5, 1, 1, OP_GATHER), .attrs = attrs, .infer = suppression_infer,
     .eval = suppression_eval, .cost = op_cost_none, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true,
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc =
         "Batch, class and number of the boxes that are kept, for each class the best scores first: at most input 2 of "
         "a class, of those with scores above input 4, none of which overlaps a better one by more than input 3 of "
         "what both cover.",
     .example = "() => (int64[2,3] y) <float[1,3,4] b = {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11},"
                " float[1,1,3] s = {0.9, 0.75, 0.6}, int64 most = {3}, float overlap = {0.5}>"
                " { y = NonMaxSuppression(b, s, most, overlap) }"},
};

const struct op_family ops_boxes_family = {"Boxes", rows, sizeof rows / sizeof rows[0]};
