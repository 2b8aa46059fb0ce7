// SPDX-License-Identifier: Apache-2.0
// Whole files.
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Reads a regular file of at most limit_bytes; *data (free with base_free) has a NUL after its *len bytes.
// ASSAY_ERR_NOT_FOUND, ASSAY_ERR_IO, ASSAY_ERR_LIMIT, ASSAY_ERR_NOMEM.
enum assay_status file_read(const char *path, size_t limit_bytes, char **data, size_t *len, struct assay_error *err);

// The same, but of a larger file its first limit_bytes; *size: how many it has.
enum assay_status file_read_start(const char *path, size_t limit_bytes, char **data, size_t *len, int64_t *size,
                                  struct assay_error *err);

// Writes a regular file whole or not at all (a temporary file in the same folder, fsync, rename). Symbolic links stay:
// what they point at is written. A device, a pipe or a terminal stays what it is and gets the bytes. A pipe without a
// reader is waited for. ASSAY_ERR_IO.
enum assay_status file_write(const char *path, const void *data, size_t len, struct assay_error *err);

// ASSAY_ERR_IO for a file that could not be written, by errno; with the limit to raise where it was one of the shell's.
enum assay_status file_write_error(struct assay_error *err, const char *path, int code);

// Makes the folder and those above it, as far as they are not there ("mkdir -p"). ASSAY_ERR_IO names the one that
// cannot be made.
enum assay_status file_make_folders(const char *folder, struct assay_error *err);

#endif
