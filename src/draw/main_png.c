// SPDX-License-Identifier: Apache-2.0
// assay-png: an SVG from standard input, as a PNG of twice its size on standard output. A program of its own, so that
// the judge does not carry the libraries that draw.
#include <librsvg/rsvg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 16 << 20, SCALE = 2 };

static cairo_status_t put(void *to, const unsigned char *data, unsigned int n) {
  return fwrite(data, 1, n, to) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static int convert(const unsigned char *svg, size_t n) {
  GError *error = NULL;
  RsvgHandle *handle = rsvg_handle_new_from_data(svg, n, &error);
  gdouble width = 0, height = 0;
  if (!handle || !rsvg_handle_get_intrinsic_size_in_pixels(handle, &width, &height)) {
    fprintf(stderr, "assay-png: %s\n", error ? error->message : "it has no size");
    return 1;
  }
  cairo_surface_t *surface =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(SCALE * width), (int)(SCALE * height));
  cairo_t *cr = cairo_create(surface);
  cairo_set_source_rgb(cr, 1, 1, 1);
  cairo_paint(cr);
  const RsvgRectangle all = {0, 0, SCALE * width, SCALE * height};
  gboolean drawn = rsvg_handle_render_document(handle, cr, &all, &error);
  cairo_status_t written = drawn ? cairo_surface_write_to_png_stream(surface, put, stdout) : CAIRO_STATUS_NO_MEMORY;
  if (written != CAIRO_STATUS_SUCCESS)
    fprintf(stderr, "assay-png: %s\n", error ? error->message : cairo_status_to_string(written));
  cairo_destroy(cr);
  cairo_surface_destroy(surface);
  g_object_unref(handle);
  return written != CAIRO_STATUS_SUCCESS || fflush(stdout) != 0;
}

int main(void) {
  unsigned char *svg = malloc(MOST_BYTES);
  size_t n = svg ? fread(svg, 1, MOST_BYTES, stdin) : 0;
  int code = svg ? convert(svg, n) : 1;
  free(svg);
  return code;
}
