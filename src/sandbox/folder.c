// SPDX-License-Identifier: Apache-2.0
// Temporary folders. What is in them was written by untrusted programs, so removal works through directory
// descriptors and never follows a link: a path that is swapped for a symbolic link meanwhile leads nowhere.
#include "sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/folder.h"

// A tree deeper than this was made to exhaust us: its nested part is moved up to the top and dealt with from there.
enum { MAX_OPEN_DEPTH = 64 };

enum assay_status sandbox_folder_make(const char *parent, char **path, struct assay_error *err) {
  char maker[SANDBOX_MAKER_BYTES];
  size_t n = strlen(parent) + sizeof maker + sizeof "/XXXXXX";
  char *p = base_alloc(n);
  if (!p)
    return error_nomem(err, "a temporary folder's path");
  (void)folder_maker_name(maker); // zeros do, too
  snprintf(p, n, "%s/%sXXXXXX", parent, maker);
  if (!mkdtemp(p)) {
    int e = errno;
    base_free(p);
    return error_set(err, ASSAY_ERR_IO, "%s: cannot make a temporary folder here: %s (name another place with TMPDIR)",
                     parent, strerror(e));
  }
  *path = p;
  return ASSAY_OK;
}

bool sandbox_folder_runs(const char *path) {
  struct statvfs fs;
  return statvfs(path, &fs) != 0 || !(fs.f_flag & ST_NOEXEC);
}

static bool is_dots(const char *name) {
  return !strcmp(name, ".") || !strcmp(name, "..");
}

static void empty_folder(int fd, int top_fd, int depth);

// Removes one entry of the folder `fd`, whatever it is.
static void remove_entry(int fd, int top_fd, const char *name, int depth) {
  if (unlinkat(fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
    return;
  if (depth >= MAX_OPEN_DEPTH) {
    // The inode's number is unused as a name at the top, for that name would have been removed first or be this one.
    struct stat st;
    char moved[32];
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
      snprintf(moved, sizeof moved, ".deep-%llx", (unsigned long long)st.st_ino);
      (void)renameat(fd, name, top_fd, moved);
    }
    return;
  }
  // A child may have taken its own folders' permissions away; they are ours to give back.
  int given = fchmodat(fd, name, 0700, 0);
  (void)given; // where it fails, so does what follows; a cast alone is a warning under _FORTIFY_SOURCE
  int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (sub >= 0)
    empty_folder(sub, top_fd, depth + 1);
  (void)unlinkat(fd, name, AT_REMOVEDIR);
}

// Removes what is in the folder and closes its descriptor.
static void empty_folder(int fd, int top_fd, int depth) {
  DIR *dir = fdopendir(fd);
  if (!dir) {
    close(fd);
    return;
  }
  for (struct dirent *e; (e = readdir(dir));)
    if (!is_dots(e->d_name))
      remove_entry(fd, top_fd, e->d_name, depth);
  closedir(dir);
}

void sandbox_folder_remove(const char *path) {
  if (!path)
    return;
  // Each pass moves too deep parts up, so that one more level of 64 is gone after it; a folder that cannot be emptied
  // (somebody still writes to it) ends the loop too.
  for (int pass = 0; pass < 1000; pass++) {
    if (rmdir(path) == 0 || (errno != ENOTEMPTY && errno != EEXIST))
      return;
    (void)chmod(path, 0700);
    int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int walk = top < 0 ? -1 : openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (walk >= 0)
      empty_folder(walk, top, 0);
    if (top >= 0)
      close(top);
    if (walk < 0)
      return;
  }
}
