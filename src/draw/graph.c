// SPDX-License-Identifier: Apache-2.0
// A graph in layers, after Sugiyama: the layer of a box is the longest way to it, an edge over several layers gets a
// point in each, points of a layer are put into an order with few crossings by averages over their neighbours, and then
// moved towards them as far as their widths allow.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "draw/svg.h"

enum { MOST_POINTS = 1024, MOST_LINKS = 2 * MOST_POINTS, SWEEPS = 12, PULLS = 8 };
enum { BOX_HEIGHT = 24, LAYER_HEIGHT = 48, GAP = 12, BEND = 6, WIDEST = 220, LEAST = 16 };

// A box, or where a long edge passes a layer. The points from 0 on are the boxes.
struct point {
  int layer, place; // place: within its layer
  double x, width, key;
};

struct link { // between neighbouring layers
  int from, to;
};

struct layout {
  const struct draw_graph *c;
  struct point *points;
  struct link *links;
  int *order; // points by layer and place
  int *first; // of each layer in `order`; one more than there are layers
  int n, n_links, n_layers;
};

static bool is_edge(const struct draw_graph *c, const struct draw_edge *e) {
  return e->from >= 0 && e->from < e->to && e->to < c->n;
}

static void find_layers(struct layout *l) {
  for (int to = 0; to < l->c->n; to++)
    for (int i = 0; i < l->c->n_edges; i++) {
      const struct draw_edge *e = &l->c->edges[i];
      if (is_edge(l->c, e) && e->to == to && l->points[e->from].layer >= l->points[to].layer)
        l->points[to].layer = l->points[e->from].layer + 1;
    }
  for (int i = 0; i < l->n; i++)
    l->n_layers = l->points[i].layer + 1 > l->n_layers ? l->points[i].layer + 1 : l->n_layers;
}

// An input stands right above the first that reads it.
static void lower_ends(struct layout *l) {
  for (int i = l->c->n - 1; i >= 0; i--) {
    int least = l->n_layers;
    for (int k = 0; k < l->c->n_edges && l->points[i].layer == 0; k++)
      if (is_edge(l->c, &l->c->edges[k]) && l->c->edges[k].from == i && l->points[l->c->edges[k].to].layer < least)
        least = l->points[l->c->edges[k].to].layer;
    if (l->c->boxes[i].is_end && l->points[i].layer == 0 && least < l->n_layers)
      l->points[i].layer = least - 1;
  }
}

// The links of an edge, with a point in each layer that it passes; false: they are too many.
static bool add_links(struct layout *l, const struct draw_edge *e) {
  int from = e->from;
  for (int layer = l->points[e->from].layer + 1; layer <= l->points[e->to].layer; layer++) {
    int to = e->to;
    if (layer < l->points[e->to].layer) {
      if (l->n == MOST_POINTS)
        return false;
      to = l->n++;
      l->points[to] = (struct point){.layer = layer, .width = BEND};
    }
    if (l->n_links == MOST_LINKS)
      return false;
    l->links[l->n_links++] = (struct link){from, to};
    from = to;
  }
  return true;
}

static void list_layers(struct layout *l) {
  int at = 0;
  for (int layer = 0; layer < l->n_layers; layer++) {
    l->first[layer] = at;
    for (int i = 0; i < l->n; i++)
      if (l->points[i].layer == layer) {
        l->points[i].place = at - l->first[layer];
        l->order[at++] = i;
      }
  }
  l->first[l->n_layers] = at;
}

static long crossings(const struct layout *l) {
  long n = 0;
  for (int i = 0; i < l->n_links; i++)
    for (int k = i + 1; k < l->n_links; k++) {
      const struct point *a = &l->points[l->links[i].from], *b = &l->points[l->links[k].from];
      const struct point *c = &l->points[l->links[i].to], *d = &l->points[l->links[k].to];
      n += a->layer == b->layer && (a->place - b->place) * (c->place - d->place) < 0;
    }
  return n;
}

// The average place (or x) of a point's neighbours above or below it; `otherwise` where it has none.
static double average(const struct layout *l, int point, bool above, bool of_x, double otherwise) {
  double sum = 0;
  int n = 0;
  for (int i = 0; i < l->n_links; i++) {
    const int here = above ? l->links[i].to : l->links[i].from, there = above ? l->links[i].from : l->links[i].to;
    if (here != point)
      continue;
    sum += of_x ? l->points[there].x : l->points[there].place;
    n++;
  }
  return n ? sum / n : otherwise;
}

static void sort_layer(struct layout *l, int layer, bool by_above) {
  int *order = l->order + l->first[layer];
  const int n = l->first[layer + 1] - l->first[layer];
  for (int i = 0; i < n; i++)
    l->points[order[i]].key = average(l, order[i], by_above, false, i);
  for (int i = 1; i < n; i++) { // stable
    const int point = order[i];
    int at = i;
    for (; at > 0 && l->points[order[at - 1]].key > l->points[point].key; at--)
      order[at] = order[at - 1];
    order[at] = point;
  }
  for (int i = 0; i < n; i++)
    l->points[order[i]].place = i;
}

static void uncross(struct layout *l, int *best) {
  long fewest = crossings(l);
  memcpy(best, l->order, (size_t)l->n * sizeof *best);
  for (int sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const bool down = sweep % 2 == 0;
    for (int i = 0; i < l->n_layers; i++)
      sort_layer(l, down ? i : l->n_layers - 1 - i, down);
    const long now = crossings(l);
    if (now < fewest) {
      fewest = now;
      memcpy(best, l->order, (size_t)l->n * sizeof *best);
    }
  }
  memcpy(l->order, best, (size_t)l->n * sizeof *best);
  for (int layer = 0; layer < l->n_layers; layer++)
    for (int i = l->first[layer]; i < l->first[layer + 1]; i++)
      l->points[l->order[i]].place = i - l->first[layer];
}

// Whether the fullest layer can stand side by side.
static bool has_room(const struct layout *l, int width) {
  for (int layer = 0; layer < l->n_layers; layer++)
    if ((l->first[layer + 1] - l->first[layer]) * (LEAST + GAP) > width - 16)
      return false;
  return true;
}

// Widths as labels need them, less where a layer has no room for that.
static void set_widths(struct layout *l, int width) {
  for (int i = 0; i < l->c->n; i++)
    l->points[i].width = fmin(svg_text_width(l->c->boxes[i].label) + 16, WIDEST);
  for (int layer = 0; layer < l->n_layers; layer++) {
    const int n = l->first[layer + 1] - l->first[layer];
    double sum = 0, room = width - 16.0 - GAP * (n - 1);
    for (int i = l->first[layer]; i < l->first[layer + 1]; i++)
      sum += l->points[l->order[i]].width;
    for (int i = l->first[layer]; i < l->first[layer + 1] && sum > room; i++)
      l->points[l->order[i]].width *= fmax(room, 8) / sum;
  }
}

// Keeps a layer's points apart and within the picture.
static void part(struct layout *l, int layer, int width) {
  double edge = 8;
  for (int i = l->first[layer]; i < l->first[layer + 1]; i++) {
    struct point *p = &l->points[l->order[i]];
    p->x = fmax(p->x, edge + p->width / 2);
    edge = p->x + p->width / 2 + GAP;
  }
  edge = width - 8;
  for (int i = l->first[layer + 1] - 1; i >= l->first[layer]; i--) {
    struct point *p = &l->points[l->order[i]];
    p->x = fmin(p->x, edge - p->width / 2);
    edge = p->x - p->width / 2 - GAP;
  }
}

static void place(struct layout *l, int width) {
  for (int layer = 0; layer < l->n_layers; layer++) {
    const int n = l->first[layer + 1] - l->first[layer];
    for (int i = 0; i < n; i++)
      l->points[l->order[l->first[layer] + i]].x = width * (i + 0.5) / n;
    part(l, layer, width);
  }
  for (int pull = 0; pull < PULLS; pull++)
    for (int k = 0; k < l->n_layers; k++) {
      const int layer = pull % 2 ? l->n_layers - 1 - k : k;
      for (int i = l->first[layer]; i < l->first[layer + 1]; i++) {
        struct point *p = &l->points[l->order[i]];
        p->x = average(l, l->order[i], pull % 2 == 0, true, p->x);
      }
      part(l, layer, width);
    }
}

static double top_of(const struct point *p) {
  return SVG_TOP + 4 + LAYER_HEIGHT * p->layer;
}

static void put_links(struct svg *s, const struct layout *l) {
  if (l->n_links == 0)
    return; // a path without a point is none
  svg_path(s, "c-edge");
  for (int i = 0; i < l->n_links; i++) {
    const struct point *from = &l->points[l->links[i].from], *to = &l->points[l->links[i].to];
    svg_to(s, 'M', (struct svg_point){from->x, top_of(from) + BOX_HEIGHT});
    svg_to(s, 'L', (struct svg_point){to->x, top_of(to)});
    if (l->links[i].to >= l->c->n)
      svg_along(s, 'V', top_of(to) + BOX_HEIGHT);
  }
  svg_path_end(s);
}

static void put_boxes(struct svg *s, const struct layout *l) {
  for (int i = 0; i < l->c->n; i++) {
    const struct point *p = &l->points[i];
    const double top = top_of(p);
    if (!l->c->boxes[i].is_end)
      svg_rect(s, "c-box", (struct svg_point){p->x - p->width / 2, top}, (struct svg_point){p->width, BOX_HEIGHT});
    svg_text(s, l->c->boxes[i].is_end ? "c-muted" : "c-text", (struct svg_point){p->x, top + 16}, 'm', p->width - 4,
             l->c->boxes[i].label);
  }
}

static void describe(const struct draw_graph *c, struct buf *desc) {
  enum { MOST = 12 };
  int steps = 0, named = 0;
  for (int i = 0; i < c->n; i++)
    steps += !c->boxes[i].is_end;
  buf_printf(desc, "%d box%s from inputs to outputs: ", steps, steps == 1 ? "" : "es");
  for (int i = 0; i < c->n && named < MOST; i++)
    if (!c->boxes[i].is_end)
      buf_printf(desc, "%s%s", named++ ? ", " : "", c->boxes[i].label);
  buf_puts(desc, steps > MOST ? ", and so on." : ".");
}

static void draw(struct layout *l, const struct draw_page *page, struct buf *out) {
  struct buf desc = {0};
  struct svg s = {.out = out};
  describe(l->c, &desc);
  svg_begin(&s, page, SVG_TOP + LAYER_HEIGHT * l->n_layers, l->c->title, buf_str(&desc));
  put_links(&s, l);
  put_boxes(&s, l);
  svg_end(&s);
  out->failed = out->failed || desc.failed;
  buf_release(&desc);
}

void draw_graph(const struct draw_graph *c, const struct draw_page *page, struct buf *out) {
  struct layout l = {.c = c, .n = c->n};
  bool fits = true;
  if (c->n <= 0 || c->n > DRAW_MOST_BOXES) {
    svg_empty(page, out, c->title, c->n > 0 ? "It has more boxes than a picture can show." : "It has no nodes.");
    return;
  }
  l.points = base_calloc(MOST_POINTS, sizeof *l.points);
  l.links = base_calloc(MOST_LINKS, sizeof *l.links);
  l.order = base_calloc(2 * MOST_POINTS, sizeof *l.order);
  l.first = base_calloc(DRAW_MOST_BOXES + 1, sizeof *l.first);
  const bool memory = l.points && l.links && l.order && l.first;
  if (memory) {
    find_layers(&l);
    lower_ends(&l);
    for (int i = 0; i < c->n_edges && fits; i++)
      fits = !is_edge(c, &c->edges[i]) || add_links(&l, &c->edges[i]);
    list_layers(&l);
    uncross(&l, l.order + MOST_POINTS);
    fits = fits && has_room(&l, page->width);
    set_widths(&l, page->width);
    place(&l, page->width);
  }
  if (memory && fits)
    draw(&l, page, out);
  else if (memory)
    svg_empty(page, out, c->title, "It is wider than a picture can show.");
  out->failed = out->failed || !memory;
  base_free(l.points);
  base_free(l.links);
  base_free(l.order);
  base_free(l.first);
}
