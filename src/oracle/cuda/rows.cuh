// SPDX-License-Identifier: Apache-2.0
// Offsets of rows and of positions in them. Comes after common.cuh and rows_args.h.

// Index `index` of the row-major dims, in strides. The first dimension needs no division: nothing is in front of it.
// Divisions are long: expanded at every place, they would take seconds to compile.
DEVICE_FN_LARGE int64_t offset_of(int n, const int64_t *dims, const int64_t *strides, int64_t index) {
  int64_t offset = 0;
  for (int i = n - 1; i > 0; i--) {
    int64_t rest = index / dims[i];
    offset += (index - rest * dims[i]) * strides[i];
    index = rest;
  }
  return n > 0 ? offset + index * strides[0] : 0;
}

// The offset of a row's first element.
DEVICE_FN int64_t rows_begin(const struct gpu_rows *r, int64_t row) {
  if (r->n_kept > 1)
    return offset_of(r->n_kept, r->kept, r->kept_stride, row);
  return r->n_kept ? row * r->kept_stride[0] : 0;
}

// The offset of position `at` from the first element of its row.
DEVICE_FN int64_t rows_ahead(const struct gpu_rows *r, int64_t at) {
  if (r->n_reduced > 1)
    return offset_of(r->n_reduced, r->reduced, r->reduced_stride, at);
  return r->n_reduced ? at * r->reduced_stride[0] : 0;
}

// Which part of which row thread t of count * parts works on. Each of `count` rows has `parts` parts; neighbouring
// threads take parts of a row, or rows.
DEVICE_FN void rows_place(int64_t t, int32_t row_fastest, int64_t count, int64_t parts, int64_t *row,
                          int64_t *part) {
  if (row_fastest) {
    *part = t / count;
    *row = t - *part * count;
  } else {
    *row = t / parts;
    *part = t - *row * parts;
  }
}

// Element i's first n offsets.
DEVICE_FN void walk_find(const struct gpu_walk *w, int n, int64_t i, int64_t *offsets) {
  for (int k = 0; k < n; k++)
    offsets[k] = 0;
  for (int d = w->rank - 1; d >= 0; d--) {
    int64_t rest = d > 0 ? i / w->dims[d] : 0, index = i - rest * w->dims[d];
    for (int k = 0; k < n; k++)
      offsets[k] += index * w->step[k][d];
    i = rest;
  }
}

// An integer result as its type (base/dtype.h, by ONNX's number) holds it: wrapped to the type's width.
DEVICE_FN int64_t rows_wrap(int32_t dtype, uint64_t value) {
  switch (dtype) {
  case 9: // bool
    return value != 0;
  case 2:
    return (int64_t)(uint8_t)value;
  case 3:
    return (int64_t)(int8_t)value;
  case 4:
    return (int64_t)(uint16_t)value;
  case 5:
    return (int64_t)(int16_t)value;
  case 6:
    return (int64_t)(int32_t)value;
  case 12:
    return (int64_t)(uint32_t)value;
  case 21: // uint4
    return (int64_t)(value & 15);
  case 22:
    return (int64_t)(value << 60) >> 60;
  case 25: // uint2
    return (int64_t)(value & 3);
  case 26:
    return (int64_t)(value << 62) >> 62;
  default:
    return (int64_t)value;
  }
}
