// SPDX-License-Identifier: Apache-2.0
// Files of named tensors in the format safetensors: eight bytes with the length of a header (little-endian), the
// header, a JSON object from names to {"dtype", "shape", "data_offsets"}, and the tensors' bytes, row-major.
#ifndef TASK_SAFETENSORS_H
#define TASK_SAFETENSORS_H

#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"

// The format's own limit is 100 MB of header.
enum { SAFETENSORS_MAX_HEADER = 100000000, SAFETENSORS_MAX_TENSORS = 1 << 20, SAFETENSORS_LENGTH_BYTES = 8 };

struct safetensor {
  char *name;
  enum dtype dtype; // DTYPE_UNDEFINED: one that Assay does not compute with
  struct shape shape;
  int file;    // which of a checkpoint's files has it; 0 of a single one
  uint64_t at; // where its bytes are in the file; elements need not be aligned
  size_t bytes;
};

struct safetensors {
  struct safetensor *tensors;
  int n;
};

// What the file's first SAFETENSORS_LENGTH_BYTES say of its header: how many bytes these and the header are together.
// ASSAY_ERR_SYNTAX (no such file, or cut short), _LIMIT.
enum assay_status safetensors_head_bytes(const void *bytes, uint64_t file_bytes, const char *name, size_t *head,
                                         struct assay_error *err);
// Reads that head of a file of `file_bytes`. Each tensor lies within the file, and has as many bytes as its shape and
// type say. A name that the metadata have another's for (as safetensors.torch.save_model notes what is tied) is that
// tensor, too. `name` is for messages. ASSAY_ERR_SYNTAX, _LIMIT, _NOMEM.
enum assay_status safetensors_read(const void *head, size_t head_bytes, uint64_t file_bytes, const char *name,
                                   struct safetensors *out, struct assay_error *err);
void safetensors_release(struct safetensors *s);

#endif
