// SPDX-License-Identifier: Apache-2.0
// An entry is one file, FOLDER/KEY: a line with the hash of the rest, then the rest.
#include "compute/code_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"

enum { PATH_BYTES = 4096, ENTRY_BYTES = 256 << 20 };

enum assay_status code_cache_key(const char *const *parts, char key[HASH_HEX_BYTES], struct assay_error *err) {
  struct buf all = {0};
  for (int i = 0; parts[i]; i++)
    buf_printf(&all, "%zu:%s", strlen(parts[i]), parts[i]);
  enum assay_status status = buf_status(&all, err);
  if (!status)
    hash_sha256_hex(buf_str(&all), all.len, key);
  buf_release(&all);
  return status;
}

static enum assay_status entry_path(const char *folder, const char *key, char *path, struct assay_error *err) {
  int n = snprintf(path, PATH_BYTES, "%s/%s", folder, key);
  if (n < 0 || n >= PATH_BYTES)
    return error_set(err, ASSAY_ERR_IO, "the path of the cache of compiled code is too long");
  return ASSAY_OK;
}

enum assay_status code_cache_read(const char *folder, const char *key, char **data, size_t *n,
                                  struct assay_error *err) {
  char path[PATH_BYTES], *bytes = NULL, hash[HASH_HEX_BYTES];
  size_t len = 0;
  if (!folder)
    return error_set(err, ASSAY_ERR_NOT_FOUND, "compiled code is not kept");
  enum assay_status status = entry_path(folder, key, path, err);
  if (!status)
    status = file_read(path, ENTRY_BYTES, &bytes, &len, err);
  if (status)
    return status == ASSAY_ERR_NOMEM ? status : error_set(err, ASSAY_ERR_NOT_FOUND, "no compiled code in %s", path);
  bool sound = len > HASH_HEX_BYTES && bytes[HASH_HEX_BYTES - 1] == '\n';
  if (sound) {
    len -= HASH_HEX_BYTES;
    hash_sha256_hex(bytes + HASH_HEX_BYTES, len, hash);
    sound = memcmp(hash, bytes, HASH_HEX_BYTES - 1) == 0;
  }
  if (!sound) {
    base_free(bytes);
    return error_set(err, ASSAY_ERR_NOT_FOUND, "the compiled code in %s is damaged", path);
  }
  memmove(bytes, bytes + HASH_HEX_BYTES, len + 1);
  *data = bytes;
  *n = len;
  return ASSAY_OK;
}

enum assay_status code_cache_write(const char *folder, const char *key, const void *data, size_t n,
                                   struct assay_error *err) {
  char path[PATH_BYTES], hash[HASH_HEX_BYTES];
  struct buf entry = {0};
  enum assay_status status = file_make_folders(folder, err);
  if (!status)
    status = entry_path(folder, key, path, err);
  if (status)
    return status;
  hash_sha256_hex(data, n, hash);
  buf_printf(&entry, "%s\n", hash);
  buf_append(&entry, data, n);
  status = buf_status(&entry, err);
  if (!status)
    status = file_write(path, entry.data, entry.len, err);
  buf_release(&entry);
  return status;
}
