// SPDX-License-Identifier: Apache-2.0
#include "site/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/parallel.h"

static const char manifest_name[] = "manifest.txt", first_line[] = "assay site 1\n", lock_name[] = ".lock";
enum { MOST_MANIFEST_BYTES = 256 << 20, HASH_DIGITS = 64 };

// A line of the manifest: "HASH BYTES NAME".
struct entry {
  char hash[HASH_DIGITS + 1], name[ADDRESS_BYTES];
  int64_t bytes;
};

struct folder {
  const char *path;
  int at, lock; // file descriptors: the folder, its lock
  struct entry *old;
  int n_old;
  struct buf manifest;
  struct folder_report report;
};

static enum assay_status failed(const struct folder *f, const char *name, const char *doing, struct assay_error *err) {
  return error_set(err, ASSAY_ERR_IO, "%s/%s: cannot %s it: %s", f->path, name, doing, strerror(errno));
}

// --- the manifest that is there

// Names as the site has them, and no others: a manifest that somebody changed removes nothing elsewhere.
static bool is_name(const char *name) {
  return name[0] && name[0] != '/' && name[0] != '.' && !strstr(name, "/.") &&
         strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-./") == strlen(name);
}

static bool parse_line(const char *line, struct entry *e) {
  int at = 0;
  if (sscanf(line, "%64[0-9a-f] %" SCNd64 " %n", e->hash, &e->bytes, &at) != 2 || at == 0 ||
      strlen(e->hash) != HASH_DIGITS || strlen(line + at) >= sizeof e->name || !is_name(line + at))
    return false;
  strcpy(e->name, line + at);
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

// Lines that cannot be read are files to be made again.
static enum assay_status parse_manifest(struct folder *f, char *text, struct assay_error *err) {
  int lines = 0;
  for (const char *c = text; *c; c++)
    lines += *c == '\n';
  f->old = base_calloc((size_t)lines + 1, sizeof *f->old);
  if (!f->old)
    return error_nomem(err, "the site's manifest");
  for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    f->n_old += parse_line(line, &f->old[f->n_old]);
  }
  qsort(f->old, (size_t)f->n_old, sizeof *f->old, by_name);
  return ASSAY_OK;
}

static bool is_empty(const char *path) {
  bool empty = true;
  DIR *dir = opendir(path);
  for (struct dirent *e; dir && (e = readdir(dir));)
    empty = empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || strcmp(e->d_name, lock_name) == 0);
  if (dir)
    closedir(dir);
  return empty;
}

static enum assay_status read_manifest(struct folder *f, struct assay_error *err) {
  struct buf path = {0};
  char *text = NULL;
  size_t len = 0;
  struct assay_error why = {0};
  buf_printf(&path, "%s/%s", f->path, manifest_name);
  enum assay_status status = buf_status(&path, err);
  enum assay_status found = status ? status : file_read(buf_str(&path), MOST_MANIFEST_BYTES, &text, &len, &why);
  if (!status && found == ASSAY_OK && strncmp(text, first_line, strlen(first_line)) == 0)
    status = parse_manifest(f, text, err);
  else if (!status && (found == ASSAY_OK || found == ASSAY_ERR_NOT_FOUND)) {
    if (found == ASSAY_OK || !is_empty(f->path))
      status = error_set(err, ASSAY_ERR_INVALID,
                         "%s has files that no site of Assay's has: name a new folder, or an empty one", f->path);
  } else if (!status) {
    *err = why;
    status = found;
  }
  base_free(text);
  buf_release(&path);
  return status;
}

// --- files

static const struct entry *old_of(const struct folder *f, const char *name) {
  struct entry key;
  snprintf(key.name, sizeof key.name, "%s", name);
  return f->n_old ? bsearch(&key, f->old, (size_t)f->n_old, sizeof key, by_name) : NULL;
}

// Whether the file is there as the manifest has it, made of the same.
static bool is_current(const struct folder *f, const char *name, const char *hash, int64_t *bytes) {
  const struct entry *e = old_of(f, name);
  struct stat st;
  if (!e || strcmp(e->hash, hash) != 0 || fstatat(f->at, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
      st.st_size != e->bytes)
    return false;
  *bytes = e->bytes;
  return true;
}

static void make_folders(const struct folder *f, const char *name) {
  char part[ADDRESS_BYTES];
  for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
    snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
    mkdirat(f->at, part, 0777); // that it is not there shows when the file is opened
  }
}

static bool write_all(int fd, const char *data, size_t n) {
  while (n > 0) {
    ssize_t done = write(fd, data, n);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    data += done;
    n -= (size_t)done;
  }
  return true;
}

// The name that a thread writes under first. It is in the file's own folder: a file system renames within a folder
// without waiting for what others rename, and keeps what is in a folder together on the disk.
static void temporary_name(const char *name, int worker, char temporary[ADDRESS_BYTES + 16]) {
  const char *slash = strrchr(name, '/');
  snprintf(temporary, ADDRESS_BYTES + 16, "%.*s.new%d", slash ? (int)(slash + 1 - name) : 0, name, worker);
}

static int open_new(const struct folder *f, const char *name, int how) {
  enum { HOW = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC };
  int fd = openat(f->at, name, HOW | how, 0666);
  if (fd < 0 && errno == ENOENT) {
    make_folders(f, name);
    fd = openat(f->at, name, HOW | how, 0666);
  }
  return fd;
}

static enum assay_status replace_file(const struct folder *f, int worker, const char *name, const struct buf *text,
                                      struct assay_error *err) {
  char temporary[ADDRESS_BYTES + 16];
  temporary_name(name, worker, temporary);
  int fd = open_new(f, temporary, O_TRUNC);
  if (fd < 0)
    return failed(f, temporary, "write", err);
  bool ok = write_all(fd, buf_str(text), text->len);
  ok = close(fd) == 0 && ok;
  if (!ok || renameat(f->at, temporary, f->at, name))
    return failed(f, name, "write", err);
  return ASSAY_OK;
}

// What is replaced is whole at every moment. What is new is written under its own name, which saves a tenth of the
// file system's work: no page leads to it before it is whole. `worker`: threads have names of their own.
static enum assay_status put_file(const struct folder *f, int worker, const char *name, const struct buf *text,
                                  struct assay_error *err) {
  int fd = open_new(f, name, O_EXCL);
  if (fd < 0 && errno == EEXIST)
    return replace_file(f, worker, name, text, err);
  if (fd < 0)
    return failed(f, name, "write", err);
  bool ok = write_all(fd, buf_str(text), text->len);
  ok = close(fd) == 0 && ok;
  if (ok)
    return ASSAY_OK;
  enum assay_status status = failed(f, name, "write", err);
  unlinkat(f->at, name, 0);
  return status;
}

// --- while it is written

static void put_unmade(struct buf *out, const char *name) {
  buf_printf(out, "%0*d 0 %s\n", HASH_DIGITS, 0, name);
}

// Before the first page is written, the manifest lists all files that were there and all that there will be, none of
// them as current: whoever comes after a build that was killed or lost power makes them again and removes what is no
// more, and nobody takes the folder for somebody else's.
static enum assay_status put_begun(const struct folder *f, const struct site *site, struct assay_error *err) {
  struct buf text = {0};
  int n;
  const struct site_file *files = site_files(site, &n);
  buf_puts(&text, first_line);
  for (int i = 0; i < n; i++)
    put_unmade(&text, files[i].name);
  for (int i = 0; i < f->n_old; i++)
    if (!site_find(site, f->old[i].name))
      put_unmade(&text, f->old[i].name);
  enum assay_status status = buf_status(&text, err);
  if (!status)
    status = replace_file(f, 0, manifest_name, &text, err);
  int fd = status ? -1 : openat(f->at, manifest_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (!status && (fd < 0 || fsync(fd)))
    status = failed(f, manifest_name, "write", err);
  if (fd >= 0)
    close(fd);
  buf_release(&text);
  return status;
}

// --- several threads over the files

// What became of a file.
struct done {
  char hash[HASH_DIGITS + 1];
  bool written;
  int64_t bytes;
};

// Where a file stands in the order of work: files of one item stand together.
struct place {
  int item, file;
};

// What threads share. The files of a verdict, of two runs, and of the overview are an item: one thread makes them of
// one reading. Other files are each an item of their own.
struct work {
  const struct folder *folder;
  struct site *site;
  const struct site_file *files;
  struct done *done;
  struct place *order;
  int n;
  folder_progress *progress;
  void *progress_arg;
  atomic_int next, worker, stopped;
  pthread_mutex_t lock; // of what follows
  bool begun;           // put_begun() is done
  enum assay_status status;
  struct assay_error *err;
};

static enum assay_status begin(struct work *w, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  pthread_mutex_lock(&w->lock);
  if (!w->begun)
    status = put_begun(w->folder, w->site, err);
  w->begun = !status;
  pthread_mutex_unlock(&w->lock);
  return status;
}

static enum assay_status put_one(struct work *w, struct site *site, int worker, int i, struct buf *text,
                                 struct assay_error *err) {
  const struct site_file *file = &w->files[i];
  struct done *done = &w->done[i];
  enum assay_status status = site_hash(site, file, done->hash, err);
  if (status || is_current(w->folder, file->name, done->hash, &done->bytes))
    return status;
  buf_clear(text);
  status = begin(w, err);
  if (!status)
    status = site_make(site, file, text, err);
  if (!status)
    status = put_file(w->folder, worker, file->name, text, err);
  done->bytes = (int64_t)text->len;
  done->written = true;
  return status;
}

static bool stand_together(const struct place *a, const struct place *b) {
  return a->item == b->item;
}

// Takes files, or a verdict's files at once, until there are no more. Only the first thread shows progress.
static void take_files(struct work *w, struct site *site, int worker, struct buf *text) {
  struct assay_error err = {0};
  for (int begin; (begin = atomic_fetch_add(&w->next, 1)) < w->n && !atomic_load(&w->stopped);) {
    if (begin > 0 && stand_together(&w->order[begin], &w->order[begin - 1]))
      continue; // whoever took that one makes this one
    enum assay_status status = ASSAY_OK;
    for (int i = begin; i < w->n && !status && (i == begin || stand_together(&w->order[i], &w->order[begin])); i++)
      status = put_one(w, site, worker, w->order[i].file, text, &err);
    if (status) {
      pthread_mutex_lock(&w->lock);
      if (!w->status) {
        w->status = status;
        *w->err = err;
      }
      pthread_mutex_unlock(&w->lock);
      atomic_store(&w->stopped, 1);
    }
    if (w->progress && worker == 0 && begin % 64 == 0)
      w->progress(w->progress_arg, begin, w->n);
  }
}

// The caller's thread uses the site itself; without a reader of its own, another leaves the files to the rest.
static void work_thread(void *arg, int64_t begin, int64_t end) {
  struct work *w = arg;
  struct buf text = {0};
  struct assay_error ignored = {0};
  for (int64_t i = begin; i < end; i++) {
    const int worker = atomic_fetch_add(&w->worker, 1);
    struct site *reader = NULL;
    if (worker == 0)
      take_files(w, w->site, worker, &text);
    else if (site_share(w->site, &reader, &ignored) == ASSAY_OK)
      take_files(w, reader, worker, &text);
    site_release(reader);
  }
  buf_release(&text);
}

static int by_item(const void *x, const void *y) {
  const struct place *a = x, *b = y;
  return a->item != b->item ? (a->item > b->item) - (a->item < b->item) : (a->file > b->file) - (a->file < b->file);
}

// Verdicts, then pairs, then lists, and the overview at the end: who reads meanwhile finds no link to what is not
// there.
static int item_of(const struct work *w, const struct site_file *file) {
  const int pairs = w->n, lists = 2 * w->n;
  switch (file->at.place) {
  case ADDRESS_KERNEL:
    return file->item;
  case ADDRESS_PAIR:
    return pairs + file->item;
  case ADDRESS_INDEX:
    return lists + w->n;
  default:
    return lists + (int)(file - w->files);
  }
}

static void make_order(struct work *w) {
  for (int i = 0; i < w->n; i++)
    w->order[i] = (struct place){item_of(w, &w->files[i]), i};
  qsort(w->order, (size_t)w->n, sizeof *w->order, by_item);
}

static void sum_up(struct folder *f, const struct work *w) {
  buf_puts(&f->manifest, first_line);
  f->report.files = w->n;
  for (int i = 0; i < w->n; i++) {
    const struct site_file *file = &w->files[i];
    const struct done *done = &w->done[i];
    f->report.written += done->written;
    f->report.bytes += done->bytes;
    if (file->at.format == ADDRESS_AS_HTML && file->at.place != ADDRESS_ASSET &&
        done->bytes > f->report.largest_bytes) {
      f->report.largest_bytes = done->bytes;
      snprintf(f->report.largest, sizeof f->report.largest, "%s", file->name);
    }
    buf_printf(&f->manifest, "%s %" PRId64 " %s\n", done->hash, done->bytes, file->name);
  }
}

static enum assay_status put_all(struct folder *f, struct site *site, int threads, folder_progress *progress, void *arg,
                                 struct assay_error *err) {
  struct work w = {.folder = f, .site = site, .progress = progress, .progress_arg = arg, .err = err};
  w.files = site_files(site, &w.n);
  w.done = base_calloc((size_t)w.n + 1, sizeof *w.done);
  w.order = base_calloc((size_t)w.n + 1, sizeof *w.order);
  if (w.done && w.order) {
    pthread_mutex_init(&w.lock, NULL);
    make_order(&w);
    parallel_for(threads, threads, 1, work_thread, &w);
    pthread_mutex_destroy(&w.lock);
    sum_up(f, &w);
  } else {
    w.status = error_nomem(err, "the site");
  }
  base_free(w.done);
  base_free(w.order);
  return w.status ? w.status : buf_status(&f->manifest, err);
}

static void remove_old(struct folder *f, const struct site *site) {
  for (int i = 0; i < f->n_old; i++)
    if (!site_find(site, f->old[i].name) && unlinkat(f->at, f->old[i].name, 0) == 0)
      f->report.removed++;
}

// What a build that was killed had begun. Files stand by name, so that those of a folder follow each other.
static void remove_begun(const struct folder *f, const struct site *site, int threads) {
  enum { MOST = 64 };
  char temporary[ADDRESS_BYTES + 16];
  int n;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++) {
    const char *name = files[i].name, *slash = strrchr(name, '/');
    const size_t length = slash ? (size_t)(slash + 1 - name) : 0;
    if (i > 0 && strncmp(files[i - 1].name, name, length) == 0 && length > 0)
      continue;
    for (int worker = 0; worker < (threads > MOST ? threads : MOST); worker++) {
      temporary_name(name, worker, temporary);
      unlinkat(f->at, temporary, 0);
    }
  }
}

// --- the whole

static enum assay_status open_folder(struct folder *f, struct assay_error *err) {
  enum assay_status status = file_make_folders(f->path, err);
  if (status)
    return status;
  f->at = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (f->at < 0)
    return failed(f, ".", "open", err);
  f->lock = openat(f->at, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (f->lock < 0)
    return failed(f, lock_name, "write", err);
  if (flock(f->lock, LOCK_EX | LOCK_NB))
    return error_set(err, ASSAY_ERR_BUSY, "%s: another process is writing a site there", f->path);
  return read_manifest(f, err);
}

enum assay_status folder_write(struct site *site, const char *folder, int threads, folder_progress *progress, void *arg,
                               struct folder_report *out, struct assay_error *err) {
  struct folder f = {.path = folder, .at = -1, .lock = -1};
  enum assay_status status = open_folder(&f, err);
  if (!status)
    status = put_all(&f, site, threads, progress, arg, err);
  // The manifest must not be on the disk before what it lists.
  if (!status && syncfs(f.at))
    status = failed(&f, ".", "write", err);
  if (!status)
    status = replace_file(&f, 0, manifest_name, &f.manifest, err);
  if (!status) {
    remove_old(&f, site);
    remove_begun(&f, site, threads);
    *out = f.report;
  }
  if (f.lock >= 0)
    close(f.lock);
  if (f.at >= 0)
    close(f.at);
  base_free(f.old);
  buf_release(&f.manifest);
  return status;
}
