// SPDX-License-Identifier: Apache-2.0
// Movement, gathering, scattering and constants: results known by hand (most from ONNX's operator documentation), index
// arithmetic, and inverses.
#include "op_call.h"

#include <stdio.h>

static const double count6[] = {1, 2, 3, 4, 5, 6};

static double *ramp(struct call *c, int n) {
  double *v = arena_calloc(&c->arena, (size_t)n, sizeof *v);
  for (int i = 0; i < n; i++)
    v[i] = i;
  return v;
}

// Every permutation of a shape, against index arithmetic; large enough for tiles and threads.
static void test_transpose(void **state) {
  (void)state;
  static const char *const shapes[] = {"3,70,50", "2,3,4", "1,65,33", "128,1,300"};
  static const int64_t perms[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int s = 0; s < 4; s++)
    for (int p = 0; p < 6; p++) {
      struct call c;
      call_begin(&c, "Transpose", 13);
      c.threads = 3;
      struct shape from = call_shape(shapes[s]);
      call_f(&c, shapes[s], ramp(&c, (int)shape_count(&from)));
      call_attr_ints(&c, "perm", 3, perms[p]);
      call_run(&c, 1);
      int64_t strides[SHAPE_MAX_RANK], i = 0;
      shape_strides(&from, strides);
      const struct shape *o = &c.out[0].shape;
      for (int64_t a = 0; a < o->dims[0]; a++)
        for (int64_t b = 0; b < o->dims[1]; b++)
          for (int64_t d = 0; d < o->dims[2]; d++, i++)
            assert_true(c.out[0].f64[i] ==
                        (double)(a * strides[perms[p][0]] + b * strides[perms[p][1]] + d * strides[perms[p][2]]));
      call_end(&c);
    }
  struct call c;
  call_begin(&c, "Transpose", 13); // reversed by default
  call_f(&c, "2,3", count6);
  call_run(&c, 1);
  call_check_f(&c, 0, "3,2", D(1, 4, 2, 5, 3, 6));
  call_end(&c);
  call_begin(&c, "Transpose", 13);
  call_f(&c, "2,3", count6);
  call_attr_ints(&c, "perm", 2, I(0, 0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "permutation");
}

static void reshape(const char *from, const char *want, size_t n, const int64_t *shape, int allow_zero) {
  struct call c;
  char rank[8];
  snprintf(rank, sizeof rank, "%zu", n);
  call_begin(&c, "Reshape", 14);
  struct shape s = call_shape(from);
  call_f(&c, from, ramp(&c, (int)shape_count(&s) + 1));
  call_i(&c, rank, shape);
  if (allow_zero)
    call_attr_int(&c, "allowzero", 1);
  if (!want) {
    call_fails(&c, 1, ASSAY_ERR_INVALID, "");
    return;
  }
  call_run(&c, 1);
  call_check_f(&c, 0, want, c.in[0].f64);
  call_end(&c);
}

static void test_reshape(void **state) {
  (void)state;
  reshape("2,3,4", "4,6", 2, I(4, -1), 0);
  reshape("2,3,4", "2,12", 2, I(0, -1), 0);
  reshape("2,3,4", "24", 1, I(24), 0);
  reshape("1", "", 0, I(0), 0);
  reshape("0,3", "3,0", 2, I(3, 0), 1);
  reshape("2,3", NULL, 2, I(-1, -1), 0);
  reshape("2,3", NULL, 2, I(4, -1), 0);
  reshape("2,3", NULL, 2, I(2, 2), 0);
  reshape("2,3", NULL, 3, I(2, 3, 0), 0);
  reshape("2,3", NULL, 2, I(INT64_MAX, INT64_MAX), 0);
  reshape("2,3", NULL, 2, I(-2, -3), 0);
  struct call c;
  call_begin(&c, "Reshape", 14);
  call_f(&c, "2,3", count6);
  call_i(&c, "1", I(6));
  c.in[1].bits = NULL; // not known
  call_fails(&c, 1, ASSAY_ERR_UNSUPPORTED, "constant");
}

static void check_dims(const char *op, int version, const char *from, const char *want, const char *attr,
                       const int64_t *axes, size_t n) {
  struct call c;
  char rank[8];
  snprintf(rank, sizeof rank, "%zu", n);
  call_begin(&c, op, version);
  struct shape s = call_shape(from);
  call_f(&c, from, ramp(&c, (int)shape_count(&s)));
  if (attr && strcmp(attr, "axis") == 0)
    call_attr_int(&c, attr, axes[0]);
  else if (attr)
    call_attr_ints(&c, attr, n, axes);
  else if (axes)
    call_i(&c, rank, axes);
  call_run(&c, 1);
  call_check_f(&c, 0, want, c.in[0].f64);
  call_end(&c);
}

static void test_squeeze_and_flatten(void **state) {
  (void)state;
  check_dims("Squeeze", 13, "1,3,1,2", "3,2", NULL, NULL, 0);
  check_dims("Squeeze", 13, "1,3,1,2", "1,3,2", NULL, I(-2), 1);
  check_dims("Squeeze", 11, "1,3,1,2", "3,1,2", "axes", I(0), 1);
  check_dims("Unsqueeze", 13, "3,2", "1,3,2,1", NULL, I(3, 0), 2);
  check_dims("Unsqueeze", 11, "3,2", "3,1,2", "axes", I(-2), 1);
  check_dims("Flatten", 13, "2,3,4", "2,12", NULL, NULL, 0);
  check_dims("Flatten", 13, "2,3,4", "1,24", "axis", I(0), 1);
  check_dims("Flatten", 13, "2,3,4", "24,1", "axis", I(3), 1);
  check_dims("Flatten", 13, "2,3,4", "6,4", "axis", I(-1), 1);
  struct call c;
  call_begin(&c, "Squeeze", 13);
  call_f(&c, "2,3", count6);
  call_i(&c, "1", I(0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "cannot be squeezed");
  call_begin(&c, "Unsqueeze", 13);
  call_f(&c, "2,3", count6);
  call_i(&c, "2", I(1, 1));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "twice");
  call_begin(&c, "Unsqueeze", 13);
  call_f(&c, "1,1,1,1,1,1,1,1", count6);
  call_i(&c, "1", I(1));
  call_fails(&c, 1, ASSAY_ERR_LIMIT, "9 dimensions");
}

static void test_expand_and_tile(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "Expand", 13);
  call_f(&c, "3,1", count6);
  call_i(&c, "3", I(2, 1, 2));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,3,2", D(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3));
  call_end(&c);
  call_begin(&c, "Expand", 13); // the input may be the larger one
  call_f(&c, "2,3", count6);
  call_i(&c, "1", I(1));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,3", count6);
  call_end(&c);
  call_begin(&c, "Tile", 13);
  call_f(&c, "2,2", count6);
  call_i(&c, "2", I(2, 3));
  call_run(&c, 1);
  call_check_f(&c, 0, "4,6", D(1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4));
  call_end(&c);
  call_begin(&c, "Tile", 13);
  call_f(&c, "2,2", count6);
  call_i(&c, "2", I(0, 3));
  call_run(&c, 1);
  call_check_shape(&c, 0, "0,6");
  call_end(&c);
  call_begin(&c, "Tile", 13);
  call_f(&c, "2,2", count6);
  call_i(&c, "2", I(INT64_MAX, 3));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "repeat 0");
}

static void test_concat_and_split(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "Concat", 13);
  call_attr_int(&c, "axis", -1);
  call_f(&c, "2,2", D(1, 2, 3, 4));
  call_f(&c, "2,1", D(5, 6));
  call_f(&c, "2,0", count6);
  call_run(&c, 1);
  call_check_f(&c, 0, "2,3", D(1, 2, 5, 3, 4, 6));
  call_end(&c);
  call_begin(&c, "Concat", 13);
  call_attr_int(&c, "axis", 0);
  call_f(&c, "2,2", D(1, 2, 3, 4));
  call_f(&c, "2,1", D(5, 6));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "cannot be joined");
  call_begin(&c, "Split", 13);
  call_attr_int(&c, "axis", 1);
  call_f(&c, "2,3", count6);
  call_i(&c, "2", I(2, 1));
  call_run(&c, 2);
  call_check_f(&c, 0, "2,2", D(1, 2, 4, 5));
  call_check_f(&c, 1, "2,1", D(3, 6));
  call_end(&c);
  call_begin(&c, "Split", 18); // the last part is smaller
  call_attr_int(&c, "num_outputs", 4);
  call_f(&c, "5", count6);
  call_run(&c, 4);
  call_check_f(&c, 0, "2", D(1, 2));
  call_check_f(&c, 2, "1", D(5));
  call_check_shape(&c, 3, "0");
  call_end(&c);
  call_begin(&c, "Split", 2);
  call_attr_ints(&c, "split", 2, I(1, 5));
  call_f(&c, "6", count6);
  call_run(&c, 2);
  call_check_f(&c, 1, "5", D(2, 3, 4, 5, 6));
  call_end(&c);
  call_begin(&c, "Split", 13);
  call_f(&c, "5", count6);
  call_fails(&c, 2, ASSAY_ERR_INVALID, "evenly");
  call_begin(&c, "Split", 13);
  call_f(&c, "6", count6);
  call_i(&c, "2", I(2, 3));
  call_fails(&c, 2, ASSAY_ERR_INVALID, "5 elements, the input 6");
}

// Python's own rule for one axis, spelled out element by element.
static void test_slice(void **state) {
  (void)state;
  const int64_t bounds[] = {INT64_MIN, -8, -7, -3, -1, 0, 1, 4, 6, 7, 8, INT64_MAX};
  const int64_t steps[] = {1, 2, 3, 100, INT64_MAX, -1, -2, -100, INT64_MIN};
  for (int s = 0; s < 12; s++)
    for (int e = 0; e < 12; e++)
      for (int t = 0; t < 9; t++) {
        double want[7];
        int n = 0;
        const int64_t extent = 7, step = steps[t];
        int64_t start = bounds[s], end = bounds[e];
        start += start < 0 ? extent : 0;
        end = end < -extent ? -1 : end < 0 ? end + extent : end;
        if (start < 0)
          start = 0;
        if (step < 0 && start > extent - 1)
          start = extent - 1;
        for (int64_t i = 0; i < extent; i++) {
          int64_t at = step > 0 ? i : extent - 1 - i, off = step > 0 ? at - start : start - at;
          bool inside = off >= 0 && (step > 0 ? at < end : at > end);
          uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
          if (inside && (uint64_t)off % stride == 0)
            want[n++] = (double)at;
        }
        struct call c;
        char shape[16];
        snprintf(shape, sizeof shape, "%d", n);
        call_begin(&c, "Slice", 13);
        call_f(&c, "7", ramp(&c, 7));
        call_i(&c, "1", &bounds[s]);
        call_i(&c, "1", &bounds[e]);
        call_i(&c, "1", I(0));
        call_i(&c, "1", &steps[t]);
        call_run(&c, 1);
        call_check_f(&c, 0, shape, want);
        call_end(&c);
      }
  struct call c;
  call_begin(&c, "Slice", 1);
  call_f(&c, "2,3", count6);
  call_attr_ints(&c, "axes", 1, I(1));
  call_attr_ints(&c, "starts", 1, I(1));
  call_attr_ints(&c, "ends", 1, I(1000));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,2", D(2, 3, 5, 6));
  call_end(&c);
  call_begin(&c, "Slice", 13);
  call_f(&c, "2,3", count6);
  for (int i = 0; i < 4; i++)
    call_i(&c, "1", I(0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "step");
}

static void pad(const char *mode, int64_t before, int64_t after, const char *want_shape, const double *want) {
  struct call c;
  call_begin(&c, "Pad", 18);
  call_attr_string(&c, "mode", mode);
  call_f(&c, "2,3", count6);
  call_i(&c, "4", I(0, before, 0, after));
  call_f(&c, "", D(9));
  call_run(&c, 1);
  call_check_f(&c, 0, want_shape, want);
  call_end(&c);
}

static void test_pad(void **state) {
  (void)state;
  pad("constant", 2, 1, "2,6", D(9, 9, 1, 2, 3, 9, 9, 9, 4, 5, 6, 9));
  pad("edge", 2, 1, "2,6", D(1, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 6));
  pad("reflect", 2, 1, "2,6", D(3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5));
  pad("wrap", 2, 1, "2,6", D(2, 3, 1, 2, 3, 1, 5, 6, 4, 5, 6, 4));
  pad("constant", -1, -1, "2,1", D(2, 5));
  pad("constant", -1, 1, "2,3", D(2, 3, 9, 5, 6, 9));
  pad("wrap", 4, 0, "2,7", D(3, 1, 2, 3, 1, 2, 3, 6, 4, 5, 6, 4, 5, 6));
  struct call c;
  call_begin(&c, "Pad", 18); // rows, named by a negative axis
  call_i(&c, "2,3", I(1, 2, 3, 4, 5, 6));
  call_i(&c, "2", I(1, 0));
  call_none(&c);
  call_i(&c, "1", I(-2));
  call_run(&c, 1);
  call_check_i(&c, 0, "3,3", I(0, 0, 0, 1, 2, 3, 4, 5, 6));
  call_end(&c);
  call_begin(&c, "Pad", 2);
  call_attr_float(&c, "value", 7);
  call_attr_ints(&c, "pads", 2, I(1, 1));
  call_f(&c, "1", D(5));
  call_run(&c, 1);
  call_check_f(&c, 0, "3", D(7, 5, 7));
  call_end(&c);
  call_begin(&c, "Pad", 18);
  call_attr_string(&c, "mode", "mirror");
  call_f(&c, "2,3", count6);
  call_i(&c, "4", I(0, 0, 0, 0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "mirror");
}

static void trilu(int upper, int64_t k, const double *want) {
  struct call c;
  call_begin(&c, "Trilu", 14);
  call_attr_int(&c, "upper", upper);
  call_f(&c, "2,3", count6);
  call_i(&c, "", &k);
  call_run(&c, 1);
  call_check_f(&c, 0, "2,3", want);
  call_end(&c);
}

static void test_trilu_and_reverse(void **state) {
  (void)state;
  trilu(1, 0, D(1, 2, 3, 0, 5, 6));
  trilu(1, 1, D(0, 2, 3, 0, 0, 6));
  trilu(1, -1, D(1, 2, 3, 4, 5, 6));
  trilu(1, INT64_MAX, D(0, 0, 0, 0, 0, 0));
  trilu(0, 0, D(1, 0, 0, 4, 5, 0));
  trilu(0, -1, D(0, 0, 0, 4, 0, 0));
  trilu(0, INT64_MAX, count6);
  trilu(0, INT64_MIN, D(0, 0, 0, 0, 0, 0));
  struct call c;
  call_begin(&c, "ReverseSequence", 10); // time along the rows, as in ONNX's first example
  call_f(&c, "3,2", count6);
  call_i(&c, "2", I(3, 2));
  call_run(&c, 1);
  call_check_f(&c, 0, "3,2", D(5, 4, 3, 2, 1, 6));
  call_end(&c);
  call_begin(&c, "ReverseSequence", 10);
  call_attr_int(&c, "time_axis", 1);
  call_attr_int(&c, "batch_axis", 0);
  call_f(&c, "2,3", count6);
  call_i(&c, "2", I(1, 3));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,3", D(1, 2, 3, 6, 5, 4));
  call_end(&c);
}

static void test_depth_to_space(void **state) {
  (void)state;
  struct call c, back;
  for (int crd = 0; crd < 2; crd++) {
    call_begin(&c, "DepthToSpace", 13);
    call_attr_int(&c, "blocksize", 2);
    call_attr_string(&c, "mode", crd ? "CRD" : "DCR");
    call_f(&c, "2,8,3,5", ramp(&c, 240));
    call_run(&c, 1);
    call_check_shape(&c, 0, "2,2,6,10");
    for (int64_t i = 0; i < 240; i++) {
      int64_t x = i % 10, y = i / 10 % 6, ch = i / 60 % 2, n = i / 120;
      int64_t block = y % 2 * 2 + x % 2, channel = crd ? ch * 4 + block : block * 2 + ch;
      assert_true(c.out[0].f64[i] == (double)(((n * 8 + channel) * 3 + y / 2) * 5 + x / 2));
    }
    call_begin(&back, "SpaceToDepth", crd ? 28 : 13); // modes since version 28
    call_attr_int(&back, "blocksize", 2);
    if (crd)
      call_attr_string(&back, "mode", "CRD");
    call_f(&back, "2,2,6,10", c.out[0].f64);
    call_run(&back, 1);
    call_check_f(&back, 0, "2,8,3,5", c.in[0].f64);
    call_end(&back);
    call_end(&c);
  }
}

static void test_depth_modes(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "SpaceToDepth", 28);
  call_attr_int(&c, "blocksize", 2);
  call_attr_string(&c, "mode", "RCD");
  call_f(&c, "1,1,2,2", count6);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "RCD");
}

static void test_gather(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "Gather", 13);
  call_f(&c, "3,2", count6);
  call_i(&c, "2,2", I(0, 1, -2, 2));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,2,2", D(1, 2, 3, 4, 3, 4, 5, 6));
  call_end(&c);
  call_begin(&c, "Gather", 13);
  call_attr_int(&c, "axis", 1);
  call_f(&c, "2,3", count6);
  call_i(&c, "", I(2));
  call_run(&c, 1);
  call_check_f(&c, 0, "2", D(3, 6));
  call_end(&c);
  call_begin(&c, "Gather", 13);
  call_f(&c, "3,2", count6);
  call_i(&c, "1", I(3));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "index 3");
  call_begin(&c, "GatherElements", 13);
  call_attr_int(&c, "axis", 0);
  call_f(&c, "3,3", D(1, 2, 3, 4, 5, 6, 7, 8, 9));
  call_i(&c, "2,3", I(1, 2, 0, 2, 0, 0));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,3", D(4, 8, 3, 7, 2, 3));
  call_end(&c);
  call_begin(&c, "GatherND", 13);
  call_f(&c, "2,2,2", ramp(&c, 8));
  call_i(&c, "2,2", I(0, 1, 1, 0));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,2", D(2, 3, 4, 5));
  call_end(&c);
  call_begin(&c, "GatherND", 13);
  call_attr_int(&c, "batch_dims", 1);
  call_f(&c, "2,2,2", ramp(&c, 8));
  call_i(&c, "2,1", I(1, 0));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,2", D(2, 3, 4, 5));
  call_end(&c);
}

static void test_data_dependent(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "Compress", 11);
  call_attr_int(&c, "axis", 1);
  call_f(&c, "3,2", count6);
  call_input(&c, DTYPE_BOOL, "2", I(0, 1));
  call_run(&c, 1);
  call_check_f(&c, 0, "3,1", D(2, 4, 6));
  call_end(&c);
  call_begin(&c, "Compress", 11);
  call_f(&c, "3,2", count6);
  call_input(&c, DTYPE_BOOL, "5", I(0, 1, 0, 0, 1));
  call_run(&c, 1);
  call_check_f(&c, 0, "2", D(2, 5));
  call_end(&c);
  call_begin(&c, "NonZero", 13);
  call_i(&c, "2,2", I(1, 0, 1, 1));
  call_run(&c, 1);
  call_check_i(&c, 0, "2,3", I(0, 1, 1, 0, 0, 1));
  call_end(&c);
  call_begin(&c, "NonZero", 13);
  call_i(&c, "2,2", I(1, 0, 1, 1));
  c.in[0].bits = NULL;
  call_fails(&c, 1, ASSAY_ERR_UNSUPPORTED, "constant");
  call_begin(&c, "OneHot", 11);
  call_attr_int(&c, "axis", 1);
  call_i(&c, "2,2", I(1, 9, -1, 3));
  call_i(&c, "", I(4));
  call_f(&c, "2", D(0.5, 3));
  call_run(&c, 1);
  call_check_f(&c, 0, "2,4,2", D(0.5, 0.5, 3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 3, 3));
  call_end(&c);
}

static void test_scatter(void **state) {
  (void)state;
  static const struct {
    const char *reduction;
    double want[5];
  } cases[] = {{"none", {1, 7, 3, 9, 5}},
               {"add", {1, 2 + 1.1 + 7, 3, 13, 5}},
               {"mul", {1, 2 * 1.1 * 7, 3, 36, 5}},
               {"max", {1, 7, 3, 9, 5}},
               {"min", {1, 1.1, 3, 4, 5}}};
  struct call c;
  for (int i = 0; i < 5; i++) {
    call_begin(&c, "ScatterElements", 18);
    call_attr_int(&c, "axis", 1);
    call_attr_string(&c, "reduction", cases[i].reduction);
    call_f(&c, "1,5", D(1, 2, 3, 4, 5));
    call_i(&c, "1,3", I(1, -4, 3)); // the first two name one element
    call_f(&c, "1,3", D(1.1, 7, 9));
    call_run(&c, 1);
    call_check_f(&c, 0, "1,5", cases[i].want);
    call_end(&c);
  }
  call_begin(&c, "ScatterND", 18);
  call_f(&c, "3,2", count6);
  call_i(&c, "2,1", I(2, 0));
  call_f(&c, "2,2", D(10, 20, 30, 40));
  call_run(&c, 1);
  call_check_f(&c, 0, "3,2", D(30, 40, 3, 4, 10, 20));
  call_end(&c);
  call_begin(&c, "ScatterND", 18);
  call_attr_string(&c, "reduction", "add");
  call_input(&c, DTYPE_INT8, "3", I(100, 1, 2));
  call_i(&c, "2,1", I(0, 0));
  call_input(&c, DTYPE_INT8, "2", I(20, 20));
  call_run(&c, 1);
  call_check_i(&c, 0, "3", I(-116, 1, 2));
  call_end(&c);
  call_begin(&c, "ScatterND", 18);
  call_f(&c, "3,2", count6);
  call_i(&c, "2,1", I(2, 0));
  call_f(&c, "2", D(10, 20));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "updates");
}

static void test_constants(void **state) {
  (void)state;
  struct call c;
  const float data[] = {1.5f, -2};
  struct tensor t = {.type = {DTYPE_FLOAT, call_shape("2")}, .data = data};
  call_begin(&c, "Constant", 13);
  call_attr(&c, "value", ATTR_TENSOR, 1)->tensor = &t;
  call_run(&c, 1);
  call_check_f(&c, 0, "2", D(1.5, -2));
  call_end(&c);
  call_begin(&c, "Constant", 13);
  call_attr_ints(&c, "value_ints", 2, I(4, 5));
  call_run(&c, 1);
  call_check_i(&c, 0, "2", I(4, 5));
  call_end(&c);
  call_begin(&c, "Constant", 13);
  call_attr_float(&c, "value_float", 0.25);
  call_run(&c, 1);
  call_check_f(&c, 0, "", D(0.25));
  call_end(&c);
  call_begin(&c, "Constant", 13);
  call_fails(&c, 1, ASSAY_ERR_UNSUPPORTED, "value");
  t.type.shape = call_shape("1");
  call_begin(&c, "ConstantOfShape", 9);
  call_attr(&c, "value", ATTR_TENSOR, 1)->tensor = &t;
  call_i(&c, "2", I(1, 3));
  call_run(&c, 1);
  call_check_f(&c, 0, "1,3", D(1.5, 1.5, 1.5));
  call_end(&c);
  call_begin(&c, "ConstantOfShape", 9);
  call_i(&c, "0", I(0));
  call_run(&c, 1);
  call_check_f(&c, 0, "", D(0));
  call_end(&c);
  call_begin(&c, "EyeLike", 9);
  call_attr_int(&c, "k", -1);
  call_attr_int(&c, "dtype", DTYPE_INT32);
  call_f(&c, "2,3", count6);
  call_run(&c, 1);
  call_check_i(&c, 0, "2,3", I(0, 0, 0, 1, 0, 0));
  call_end(&c);
}

static void test_shapes_and_ranges(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "Shape", 15);
  call_f(&c, "1,2,3", count6);
  call_run(&c, 1);
  call_check_i(&c, 0, "3", I(1, 2, 3));
  call_end(&c);
  call_begin(&c, "Shape", 15);
  call_attr_int(&c, "start", -2);
  call_attr_int(&c, "end", 10);
  call_f(&c, "1,2,3", count6);
  call_run(&c, 1);
  call_check_i(&c, 0, "2", I(2, 3));
  call_end(&c);
  call_begin(&c, "Size", 13);
  call_f(&c, "1,2,3", count6);
  call_run(&c, 1);
  call_check_i(&c, 0, "", I(6));
  call_end(&c);
  call_begin(&c, "Range", 11);
  call_i(&c, "", I(10));
  call_i(&c, "", I(4));
  call_i(&c, "", I(-3));
  call_run(&c, 1);
  call_check_i(&c, 0, "2", I(10, 7));
  call_end(&c);
  call_begin(&c, "Range", 11);
  call_f(&c, "", D(1));
  call_f(&c, "", D(5));
  call_f(&c, "", D(2));
  call_run(&c, 1);
  call_check_f(&c, 0, "2", D(1, 3));
  call_end(&c);
  call_begin(&c, "Range", 11);
  call_i(&c, "", I(1));
  call_i(&c, "", I(5));
  call_i(&c, "", I(0));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "delta");
}

static void resize(const char *mode, const char *how, const char *shape, const double *scales, const char *want_shape,
                   const double *want) {
  struct call c;
  call_begin(&c, "Resize", 19);
  call_attr_string(&c, "mode", mode);
  call_attr_string(&c, "coordinate_transformation_mode", how);
  call_f(&c, shape, D(1, 2, 3, 4));
  call_none(&c);
  call_f(&c, "2", scales);
  call_run(&c, 1);
  call_check_f(&c, 0, want_shape, want);
  call_end(&c);
}

static void test_resize(void **state) {
  (void)state;
  resize("nearest", "asymmetric", "2,2", D(1, 2), "2,4", D(1, 1, 2, 2, 3, 3, 4, 4));
  resize("nearest", "half_pixel", "1,4", D(1, 0.5), "1,2", D(1, 3)); // 0.5 and 2.5 go down
  resize("linear", "half_pixel", "1,4", D(1, 0.5), "1,2", D(1.5, 3.5));
  resize("linear", "align_corners", "1,4", D(1, 1.75), "1,7", D(1, 1.5, 2, 2.5, 3, 3.5, 4));
  resize("linear", "half_pixel", "2,2", D(2, 1), "4,2", D(1, 2, 1.5, 2.5, 2.5, 3.5, 3, 4));
  resize("cubic", "align_corners", "1,4", D(1, 1), "1,4", D(1, 2, 3, 4));
  struct call c;
  call_begin(&c, "Resize", 19);
  call_f(&c, "2,2", count6);
  call_none(&c);
  call_f(&c, "2", D(1e12, 1e12));
  call_fails(&c, 1, ASSAY_ERR_LIMIT, "2^40");
  call_begin(&c, "Resize", 19);
  call_f(&c, "2,2", count6);
  call_none(&c);
  call_f(&c, "2", D(NAN, 1));
  call_fails(&c, 1, ASSAY_ERR_INVALID, "scale of axis 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transpose),
      cmocka_unit_test(test_reshape),
      cmocka_unit_test(test_squeeze_and_flatten),
      cmocka_unit_test(test_expand_and_tile),
      cmocka_unit_test(test_concat_and_split),
      cmocka_unit_test(test_slice),
      cmocka_unit_test(test_pad),
      cmocka_unit_test(test_trilu_and_reverse),
      cmocka_unit_test(test_depth_to_space),
      cmocka_unit_test(test_depth_modes),
      cmocka_unit_test(test_resize),
      cmocka_unit_test(test_gather),
      cmocka_unit_test(test_data_dependent),
      cmocka_unit_test(test_scatter),
      cmocka_unit_test(test_constants),
      cmocka_unit_test(test_shapes_and_ranges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
