// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static enum assay_status read_error(struct assay_error *err, const char *path, int code) {
  return error_set(err, code == ENOENT ? ASSAY_ERR_NOT_FOUND : ASSAY_ERR_IO, "cannot read %s: %s", path,
                   strerror(code));
}

// Opens a regular file; not one whose end never comes.
static enum assay_status open_regular(const char *path, int *out, int64_t *size, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return read_error(err, path, errno);
  if (fstat(fd, &st) != 0)
    status = read_error(err, path, errno);
  else if (!S_ISREG(st.st_mode))
    status = error_set(err, ASSAY_ERR_IO, "cannot read %s: it is not a regular file", path);
  if (status)
    close(fd);
  else
    *out = fd, *size = st.st_size;
  return status;
}

enum assay_status file_read_start(const char *path, size_t limit_bytes, char **data, size_t *len, int64_t *size,
                                  struct assay_error *err) {
  int fd = -1;
  int64_t all = 0;
  enum assay_status status = open_regular(path, &fd, &all, err);
  if (status)
    return status;
  size_t wanted = (uint64_t)all > limit_bytes ? limit_bytes : (size_t)all, n = 0;
  char *bytes = base_alloc(wanted + 1);
  if (!bytes)
    status = error_nomem(err, "the content of a file");
  while (!status && n < wanted) {
    ssize_t got = read(fd, bytes + n, wanted - n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      status = read_error(err, path, errno);
    if (got <= 0)
      break;
    n += (size_t)got;
  }
  close(fd);
  if (status) {
    base_free(bytes);
    return status;
  }
  bytes[n] = '\0';
  *data = bytes;
  *len = n;
  *size = all;
  return ASSAY_OK;
}

enum assay_status file_read(const char *path, size_t limit_bytes, char **data, size_t *len, struct assay_error *err) {
  int64_t size = 0;
  char *bytes = NULL;
  enum assay_status status = file_read_start(path, limit_bytes, &bytes, len, &size, err);
  if (status)
    return status;
  if ((uint64_t)size > limit_bytes) {
    base_free(bytes);
    return error_set(err, ASSAY_ERR_LIMIT, "%s has %lld bytes; at most %zu are accepted", path, (long long)size,
                     limit_bytes);
  }
  *data = bytes;
  return ASSAY_OK;
}

static int write_all(int fd, const char *p, size_t n) {
  while (n) {
    ssize_t put = write(fd, p, n);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return errno;
    p += put;
    n -= (size_t)put;
  }
  return 0;
}

enum assay_status file_write_error(struct assay_error *err, const char *path, int code) {
  return error_set(err, ASSAY_ERR_IO, "cannot write %s: %s%s", path, strerror(code),
                   code == EFBIG    ? "; raise the limit of files' sizes, ulimit -f"
                   : code == EMFILE ? "; raise the limit of open files, ulimit -n"
                                    : "");
}

// The stream that writes to this file ("/dev/stdout" after `>> FILE`), or -1. It is not replaced under its writer.
static int own_stream(const struct stat *file) {
  struct stat st;
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
    if (fstat(fd, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino)
      return fd;
  return -1;
}

// Into what is there and is no regular file: a device, a pipe, a terminal.
static enum assay_status write_through(const char *path, int stream, const void *data, size_t len,
                                       struct assay_error *err) {
  int fd = stream >= 0 ? fcntl(stream, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0)
    return file_write_error(err, path, errno);
  int code = write_all(fd, data, len); // no fsync, which is for disks
  if (close(fd) != 0 && !code)
    code = errno;
  return code ? file_write_error(err, path, code) : ASSAY_OK;
}

// To a temporary file next to `path`, which then takes its name; `mode`: that of the file it replaces.
static enum assay_status write_renamed(const char *path, const mode_t *mode, const void *data, size_t len,
                                       struct assay_error *err) {
  char temporary[4096];
  int n = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
  if (n < 0 || (size_t)n >= sizeof temporary)
    return error_set(err, ASSAY_ERR_IO, "cannot write %s: the path is too long", path);
  int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0)
    return file_write_error(err, temporary, errno);
  int code = write_all(fd, data, len);
  if (!code && fsync(fd) != 0)
    code = errno;
  if (mode && !code && fchmod(fd, *mode & 07777) != 0)
    code = errno;
  if (close(fd) != 0 && !code)
    code = errno;
  if (!code && rename(temporary, path) != 0)
    code = errno;
  if (!code)
    return ASSAY_OK;
  unlink(temporary);
  return file_write_error(err, path, code);
}

// What a chain of symbolic links ends at, also where that does not exist yet. 0 or an errno.
static int follow_links(const char *path, char *out, size_t size) {
  enum { MOST_LINKS = 40 }; // as the kernel's own limit
  struct stat st;
  char target[4096];
  if ((size_t)snprintf(out, size, "%s", path) >= size)
    return ENAMETOOLONG;
  for (int i = 0; i < MOST_LINKS; i++) {
    if (lstat(out, &st) != 0)
      return errno == ENOENT ? 0 : errno;
    if (!S_ISLNK(st.st_mode))
      return 0;
    ssize_t n = readlink(out, target, sizeof target - 1);
    if (n < 0)
      return errno;
    target[n] = '\0';
    char *slash = target[0] == '/' ? NULL : strrchr(out, '/'), *name = slash ? slash + 1 : out;
    size_t room = size - (size_t)(name - out);
    if ((size_t)snprintf(name, room, "%s", target) >= room)
      return ENAMETOOLONG;
  }
  return ELOOP;
}

enum assay_status file_write(const char *path, const void *data, size_t len, struct assay_error *err) {
  char file[4096];
  struct stat st;
  bool exists = stat(path, &st) == 0;
  int stream = exists ? own_stream(&st) : -1;
  if (exists && (stream >= 0 || !S_ISREG(st.st_mode)))
    return write_through(path, stream, data, len, err);
  int code = follow_links(path, file, sizeof file);
  if (code)
    return file_write_error(err, path, code);
  return write_renamed(file, exists ? &st.st_mode : NULL, data, len, err);
}

enum assay_status file_make_folders(const char *folder, struct assay_error *err) {
  char path[4096];
  size_t n = strlen(folder);
  if (n >= sizeof path)
    return error_set(err, ASSAY_ERR_IO, "cannot make the folder %.100s...: the path is too long", folder);
  for (size_t i = 1; i <= n; i++) {
    if (folder[i] != '/' && folder[i] != '\0')
      continue;
    memcpy(path, folder, i);
    path[i] = '\0';
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
      return error_set(err, ASSAY_ERR_IO, "cannot make the folder %s: %s", path, strerror(errno));
  }
  return ASSAY_OK;
}
