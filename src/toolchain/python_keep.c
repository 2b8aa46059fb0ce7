// SPDX-License-Identifier: Apache-2.0
// An entry is a list of files: "NAME BYTES\n", then the bytes; NAME is "made_with" or HASH/LIBRARY.so.
#include "toolchain/python_keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "compute/code_cache.h"

enum { MOST_SCRIPT = 4 << 20, MOST_NAME = 200, HASH_LETTERS = 32 };
static const char made_with[] = "made_with", text_of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                               "0123456789_-+.";

bool python_keep_asked(const char *source, size_t n) {
  static const char word[] = "cpp_extension"; // as worker.py looks for it
  return memmem(source, n, word, sizeof word - 1) != NULL;
}

enum assay_status python_keep_key(const struct python_place *p, const struct python_kept *k, char key[HASH_HEX_BYTES],
                                  struct assay_error *err) {
  char hashes[2][HASH_HEX_BYTES], *script = NULL;
  size_t script_bytes = 0;
  struct buf settings = {0};
  enum assay_status status = file_read(p->script, MOST_SCRIPT, &script, &script_bytes, err);
  if (status)
    return status;
  hash_sha256_hex(k->source, k->bytes, hashes[0]);
  hash_sha256_hex(script, script_bytes, hashes[1]);
  base_free(script);
  for (size_t i = 0; k->defines && k->defines[i]; i++)
    buf_printf(&settings, "%zu:%s", strlen(k->defines[i]), k->defines[i]);
  buf_puts(&settings, "|");
  for (size_t i = 0; p->environment && p->environment[i]; i++)
    buf_printf(&settings, "%zu:%s", strlen(p->environment[i]), p->environment[i]);
  const char *const parts[] = {
      "Python extensions, 2", hashes[0], hashes[1], p->interpreter, p->path_env ? p->path_env : "", buf_str(&settings),
      k->gpu ? k->gpu : "",   NULL};
  status = buf_status(&settings, err);
  if (!status)
    status = code_cache_key(parts, key, err);
  buf_release(&settings);
  return status;
}

// ---- names

static bool is_plain(const char *name) {
  size_t n = strlen(name);
  return n > 0 && n < MOST_NAME && name[0] != '.' && strspn(name, text_of_names) == n;
}

static bool is_folder_name(const char *name) {
  return strlen(name) == HASH_LETTERS && strspn(name, "0123456789abcdef") == HASH_LETTERS;
}

static bool is_library_name(const char *name) {
  size_t n = strlen(name);
  return is_plain(name) && n > 3 && strcmp(name + n - 3, ".so") == 0;
}

// ---- keeping

struct collection {
  struct buf bytes;
  int n;
  bool failed;
};

// One file of a folder that the candidate could write to.
static void collect(struct collection *c, int folder, const char *file, const char *name) {
  struct stat st;
  int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  bool fits = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
              ++c->n <= PYTHON_KEEP_FILES && st.st_size <= PYTHON_KEEP_BYTES - (int64_t)c->bytes.len;
  char *bytes = fits ? base_alloc((size_t)st.st_size + 1) : NULL;
  size_t done = 0;
  for (ssize_t got = 1; bytes && got > 0 && done<(size_t)st.st_size; done += got> 0 ? (size_t)got : 0)
    got = read(fd, bytes + done, (size_t)st.st_size - done);
  if (bytes && done == (size_t)st.st_size) {
    buf_printf(&c->bytes, "%s %zu\n", name, done);
    buf_append(&c->bytes, bytes, done);
  } else {
    c->failed = true;
  }
  base_free(bytes);
  if (fd >= 0)
    close(fd);
}

static void collect_libraries(struct collection *c, int folder, const char *hash) {
  int fd = openat(folder, hash, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  for (struct dirent *e; dir && !c->failed && (e = readdir(dir));) {
    char name[MOST_NAME + HASH_LETTERS + 2];
    if (!is_library_name(e->d_name))
      continue;
    snprintf(name, sizeof name, "%.32s/%.200s", hash, e->d_name);
    collect(c, dirfd(dir), e->d_name, name);
  }
  c->failed = c->failed || !dir;
  if (dir)
    closedir(dir);
  else if (fd >= 0)
    close(fd);
}

void python_keep_store(const char *cache, const char *key, const char *folder) {
  struct collection c = {0};
  char path[4096];
  snprintf(path, sizeof path, "%s/extensions", folder);
  int fd = cache ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    if (fd >= 0)
      close(fd);
    return;
  }
  collect(&c, fd, made_with, made_with); // fails where it is not to be kept
  for (struct dirent *e; !c.failed && (e = readdir(dir));)
    if (is_folder_name(e->d_name))
      collect_libraries(&c, fd, e->d_name);
  if (!c.failed && !c.bytes.failed)
    (void)code_cache_write(cache, key, c.bytes.data, c.bytes.len, NULL);
  buf_release(&c.bytes);
  closedir(dir);
}

// ---- bringing back

// "NAME BYTES\n" at *at; false where it is not one. name has room for MOST_NAME + HASH_LETTERS + 2.
static bool read_head(const char **at, const char *end, char *name, size_t *bytes) {
  const char *line = memchr(*at, '\n', (size_t)(end - *at));
  char text[MOST_NAME + HASH_LETTERS + 40];
  if (!line || (size_t)(line - *at) >= sizeof text)
    return false;
  memcpy(text, *at, (size_t)(line - *at));
  text[line - *at] = '\0';
  char *blank = strchr(text, ' '), *rest = NULL, *slash = strchr(text, '/');
  if (!blank || blank - text >= MOST_NAME + HASH_LETTERS + 2)
    return false;
  *blank = '\0';
  *bytes = strtoull(blank + 1, &rest, 10);
  *at = line + 1;
  strcpy(name, text);
  if (slash)
    *slash = '\0';
  return *rest == '\0' && *bytes <= (size_t)(end - *at) &&
         (slash ? is_folder_name(text) && is_library_name(slash + 1) : strcmp(text, made_with) == 0);
}

bool python_keep_restore(const char *cache, const char *key, const char *folder) {
  char *bytes = NULL, name[MOST_NAME + HASH_LETTERS + 2], path[4096 + sizeof name];
  size_t n = 0, length = 0;
  if (code_cache_read(cache, key, &bytes, &n, NULL) != ASSAY_OK)
    return false;
  const char *at = bytes, *end = bytes + n;
  bool good = true;
  while (good && at < end && (good = read_head(&at, end, name, &length))) {
    const char *slash = strchr(name, '/');
    snprintf(path, sizeof path, "%.4000s/extensions%s%.*s", folder, slash ? "/" : "", slash ? (int)(slash - name) : 0,
             name);
    good = file_make_folders(path, NULL) == ASSAY_OK;
    snprintf(path, sizeof path, "%.4000s/extensions/%s", folder, name);
    good = good && file_write(path, at, length, NULL) == ASSAY_OK;
    at += length;
  }
  base_free(bytes);
  return good;
}

bool python_keep_is_there(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%.4000s/extensions/made_with", folder);
  return access(path, R_OK) == 0;
}
