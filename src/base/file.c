#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
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

enum assay_status file_read(const char *path, size_t limit_bytes, char **data, size_t *len, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  char *bytes = NULL;
  size_t n = 0;
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return read_error(err, path, errno);
  if (fstat(fd, &st) != 0) {
    status = read_error(err, path, errno);
    goto out;
  }
  if (!S_ISREG(st.st_mode)) {
    status = error_set(err, ASSAY_ERR_IO, "cannot read %s: it is not a regular file", path);
    goto out;
  }
  if ((uint64_t)st.st_size > limit_bytes) {
    status = error_set(err, ASSAY_ERR_LIMIT, "%s has %lld bytes; at most %zu are accepted", path, (long long)st.st_size,
                       limit_bytes);
    goto out;
  }
  bytes = base_alloc((size_t)st.st_size + 1);
  if (!bytes) {
    status = error_nomem(err, "the content of a file");
    goto out;
  }
  while (n < (size_t)st.st_size) {
    ssize_t got = read(fd, bytes + n, (size_t)st.st_size - n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      status = read_error(err, path, errno);
      goto out;
    }
    if (got == 0)
      break;
    n += (size_t)got;
  }
  bytes[n] = '\0';
  *data = bytes;
  *len = n;
  bytes = NULL;
out:
  base_free(bytes);
  close(fd);
  return status;
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
  return fsync(fd) == 0 ? 0 : errno;
}

enum assay_status file_write(const char *path, const void *data, size_t len, struct assay_error *err) {
  char temporary[4096];
  int n = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
  if (n < 0 || (size_t)n >= sizeof temporary)
    return error_set(err, ASSAY_ERR_IO, "cannot write %s: the path is too long", path);
  int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return error_set(err, ASSAY_ERR_IO, "cannot write %s: %s", temporary, strerror(errno));
  int code = write_all(fd, data, len);
  if (close(fd) != 0 && !code)
    code = errno;
  if (!code && rename(temporary, path) != 0)
    code = errno;
  if (!code)
    return ASSAY_OK;
  unlink(temporary);
  return error_set(err, ASSAY_ERR_IO, "cannot write %s: %s", path, strerror(code));
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
