// SPDX-License-Identifier: Apache-2.0
// The colours of charts and what carries them. Contrast with the page and the separation of the series, also for
// readers who see fewer colours, were measured for these values: text above 4.5, lines above 3 to 1.
#include "draw/draw.h"

static const struct {
  const char *class, *property, *light, *dark;
} colours[] = {
    {"text", "stroke", "#FFFFFF", "#0F1318"},    {"muted", "stroke", "#FFFFFF", "#0F1318"},
    {"page", "fill", "#FFFFFF", "#0F1318"},      {"text", "fill", "#16191D", "#E6EAF0"},
    {"title", "fill", "#16191D", "#E6EAF0"},     {"muted", "fill", "#59616B", "#A3ADB9"},
    {"axis", "stroke", "#8A929C", "#6B7684"},    {"grid", "stroke", "#D5D9DE", "#2A313A"},
    {"s1", "stroke", "#3547DC", "#728AFF"},      {"s2", "stroke", "#A53C05", "#EFD940"},
    {"s3", "stroke", "#00815A", "#3FD7A5"},      {"s4", "stroke", "#5C3160", "#CF5A95"},
    {"s5", "stroke", "#816983", "#C2C7F1"},      {"s0", "stroke", "#8A929C", "#6B7684"},
    {"f1", "fill", "#3547DC", "#728AFF"},        {"f2", "fill", "#A53C05", "#EFD940"},
    {"f3", "fill", "#00815A", "#3FD7A5"},        {"f4", "fill", "#5C3160", "#CF5A95"},
    {"f5", "fill", "#816983", "#C2C7F1"},        {"f0", "fill", "#8A929C", "#6B7684"},
    {"ok", "stroke", "#00704F", "#4CC9A0"},      {"bad", "stroke", "#A3195B", "#F08FC0"},
    {"caution", "stroke", "#8F4700", "#F5A742"}, {"level", "stroke", "#59616B", "#A3ADB9"},
    {"band", "fill", "#59616B", "#A3ADB9"},      {"edge", "stroke", "#8A929C", "#6B7684"},
    {"box", "stroke", "#8A929C", "#6B7684"},
};

static const char shapes[] =
    ".c-chart text{font:12px system-ui,\"DejaVu Sans\",sans-serif;font-variant-numeric:tabular-nums}\n"
    ".c-chart text{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}\n" // lines pass behind it
    ".c-chart .c-title{font-size:14px;font-weight:600}\n"
    ".c-middle{text-anchor:middle}\n.c-end{text-anchor:end}\n"
    ".c-axis,.c-grid,.c-level,.c-s0,.c-s1,.c-s2,.c-s3,.c-s4,.c-s5{fill:none}\n"
    ".c-band{fill-opacity:.18}\n"
    ".c-area{fill-opacity:.18}\n"
    ".c-edge,.c-box{fill:none}\n"
    ".c-level{stroke-dasharray:4 3;stroke-width:1.5}\n"
    ".c-bar{stroke-width:2}\n.c-curve{stroke-width:2}\n"
    ".c-dash2{stroke-dasharray:8 3}\n.c-dash3{stroke-dasharray:2 3}\n.c-dash4{stroke-dasharray:8 3 2 3}\n"
    ".c-dash5{stroke-dasharray:1 4}\n"
    ".c-dot{stroke-width:8;stroke-linecap:round}\n"
    ".c-speck{stroke-width:3;stroke-linecap:round;stroke-opacity:.7}\n"
    ".c-speck,.c-curve{vector-effect:non-scaling-stroke}\n" // also where a path is used again, narrower
    ".c-ring,.c-cross,.c-triangle{fill:none;stroke-width:2}\n";

static void put_colours(struct buf *out, const char *before, bool dark) {
  for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
    buf_printf(out, "%s.c-%s{%s:%s}\n", before, colours[i].class, colours[i].property,
               dark ? colours[i].dark : colours[i].light);
}

// Plain values rather than variables: programs that make pictures of SVG know no variables.
void draw_style(struct buf *out) {
  buf_puts(out, shapes);
  put_colours(out, "", false);
  buf_puts(out, "@media screen and (prefers-color-scheme:dark){\n");
  put_colours(out, ":root:not([data-theme=light]) ", true);
  buf_puts(out, "}\n");
  buf_puts(out, "@media screen{\n");
  put_colours(out, ":root[data-theme=dark] ", true);
  buf_puts(out, "}\n");
}
