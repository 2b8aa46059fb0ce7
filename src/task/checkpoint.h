// SPDX-License-Identifier: Apache-2.0
// A model's tensors on disk: one safetensors file, or several with an index that says which tensor is in which, as
// transformers writes large models.
#ifndef TASK_CHECKPOINT_H
#define TASK_CHECKPOINT_H

#include "base/hash.h"
#include "task/safetensors.h"

enum { CHECKPOINT_MAX_FILES = 10000 };

struct checkpoint_file;

struct checkpoint {
  struct checkpoint_file *files;
  int n_files;
  struct safetensors of_all; // a tensor's `file` says which of the files has it
};

// `path`: a safetensors file; an index (NAME.json, a JSON object whose weight_map is an object of tensors' names and
// the files next to the index that have them); or a folder with model.safetensors or model.safetensors.index.json. What
// an index does not name is left out. Few of many files stay open: the others must not be replaced meanwhile.
// ASSAY_ERR_NOT_FOUND, _IO, _SYNTAX, _LIMIT, _NOMEM.
enum assay_status checkpoint_open(const char *path, struct checkpoint *out, struct assay_error *err);
void checkpoint_close(struct checkpoint *c);

// n bytes of a tensor from its byte `first` on. ASSAY_ERR_IO: the file cannot be read any more, was cut short, or
// is another by now.
enum assay_status checkpoint_read(const struct checkpoint *c, const struct safetensor *t, uint64_t first, void *to,
                                  size_t n, struct assay_error *err);

// SHA-256 of the file; of several that of the lines which the index and each of them have for theirs.
enum assay_status checkpoint_hash(const struct checkpoint *c, char hex[HASH_HEX_BYTES], struct assay_error *err);

#endif
