// SPDX-License-Identifier: Apache-2.0
#include "task/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

enum {
  PIECE = 1 << 16, // bytes that are hashed at once
  KEPT = 16,       // files that stay open; the others are opened for each reading
};

// Files are read and not mapped: where one becomes shorter meanwhile, that is an error and no signal.
struct checkpoint_file {
  char *path; // of messages; NULL: not open
  int fd;     // -1: by its path, and to be `device` and `inode`
  dev_t device;
  ino_t inode;
  uint64_t bytes;
};

static void file_close(struct checkpoint_file *f) {
  if (f->path && f->fd >= 0)
    close(f->fd);
  base_free(f->path);
  *f = (struct checkpoint_file){0};
}

// A pipe is none of weights, and nobody waits for its other end.
static enum assay_status open_descriptor(const char *path, int *fd, struct assay_error *err) {
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return *fd >= 0
             ? ASSAY_OK
             : error_set(err, errno == ENOENT ? ASSAY_ERR_NOT_FOUND : ASSAY_ERR_IO, "%s: %s", path, strerror(errno));
}

static enum assay_status file_open(const char *path, struct checkpoint_file *out, struct assay_error *err) {
  struct stat st;
  int fd;
  enum assay_status status = open_descriptor(path, &fd, err);
  if (status)
    return status;
  char *name = base_strndup(path, strlen(path));
  if (!name)
    status = error_nomem(err, "a file's name");
  else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
    status =
        error_set(err, ASSAY_ERR_SYNTAX, "%s: this is no file of weights: it is empty or not a regular file", path);
  if (status) {
    close(fd);
    base_free(name);
    return status;
  }
  *out = (struct checkpoint_file){
      .path = name, .fd = fd, .device = st.st_dev, .inode = st.st_ino, .bytes = (uint64_t)st.st_size};
  return ASSAY_OK;
}

// A process has few descriptors, and a checkpoint many files.
static void file_let_go(struct checkpoint_file *f) {
  close(f->fd);
  f->fd = -1;
}

static enum assay_status file_open_again(const struct checkpoint_file *f, int *fd, struct assay_error *err) {
  struct stat st;
  enum assay_status status = open_descriptor(f->path, fd, err);
  if (status || (fstat(*fd, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode))
    return status;
  close(*fd);
  return error_set(err, ASSAY_ERR_IO,
                   "%s: another file of weights took its place while it was in use: judge again when nobody writes "
                   "there",
                   f->path);
}

static enum assay_status get(const struct checkpoint_file *f, int fd, uint64_t at, void *to, size_t n,
                             struct assay_error *err) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(at + done));
    if (got < 0 && errno != EINTR)
      return error_set(err, ASSAY_ERR_IO, "%s: %s", f->path, strerror(errno));
    if (got == 0)
      return error_set(err, ASSAY_ERR_IO,
                       "%s: the file of weights had %llu bytes and was cut short while it was in use: judge again when "
                       "nobody writes to it",
                       f->path, (unsigned long long)f->bytes);
    done += got > 0 ? (size_t)got : 0;
  }
  return ASSAY_OK;
}

static enum assay_status file_get(const struct checkpoint_file *f, uint64_t at, void *to, size_t n,
                                  struct assay_error *err) {
  if (f->fd >= 0)
    return get(f, f->fd, at, to, n, err);
  int fd;
  enum assay_status status = file_open_again(f, &fd, err);
  if (status)
    return status;
  status = get(f, fd, at, to, n, err);
  close(fd);
  return status;
}

enum assay_status checkpoint_read(const struct checkpoint *c, const struct safetensor *t, uint64_t first, void *to,
                                  size_t n, struct assay_error *err) {
  return file_get(&c->files[t->file], t->at + first, to, n, err);
}

struct hashing {
  const struct checkpoint_file *file;
  uint64_t done;
  enum assay_status status;
  struct assay_error *err;
  unsigned char piece[PIECE];
};

static bool next_piece(void *arg, struct hash_part *part) {
  struct hashing *h = arg;
  const uint64_t left = h->file->bytes - h->done;
  const size_t n = left < PIECE ? (size_t)left : PIECE;
  if (n == 0 || h->status)
    return false;
  h->status = file_get(h->file, h->done, h->piece, n, h->err);
  h->done += n;
  *part = (struct hash_part){h->piece, n};
  return !h->status;
}

static enum assay_status file_hash(const struct checkpoint_file *f, char hex[HASH_HEX_BYTES], struct assay_error *err) {
  struct hashing h = {.file = f, .err = err};
  hash_sha256_pull_hex(next_piece, &h, hex);
  return h.status;
}

enum assay_status checkpoint_hash(const struct checkpoint *c, char hex[HASH_HEX_BYTES], struct assay_error *err) {
  if (c->n_files == 1)
    return file_hash(&c->files[0], hex, err);
  struct buf lines = {0};
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < c->n_files && !status; i++) {
    status = file_hash(&c->files[i], hex, err);
    buf_printf(&lines, "%s\n", hex);
  }
  if (!status && lines.failed)
    status = error_nomem(err, "the hashes of weights");
  if (!status)
    hash_sha256_hex(lines.data, lines.len, hex);
  buf_release(&lines);
  return status;
}

// What a file is that is none of safetensors.
static enum assay_status not_safetensors(const struct checkpoint_file *f, enum assay_status status,
                                         struct assay_error *err) {
  unsigned char start[4] = {0};
  struct assay_error unread = {0};
  if (status != ASSAY_ERR_SYNTAX || f->bytes < sizeof start || file_get(f, 0, start, sizeof start, &unread))
    return status;
  // An archive, as torch.save makes it.
  if (memcmp(start, "PK\3\4", sizeof start) == 0)
    return error_set(err, status,
                     "%s: this is a file of torch.save and no safetensors file: safetensors.torch.save_file({k: "
                     "v.clone() for k, v in torch.load(FILE).items()}, 'model.safetensors') makes one of it",
                     f->path);
  return status;
}

static enum assay_status read_head(const struct checkpoint_file *f, struct safetensors *out, struct assay_error *err) {
  unsigned char length[SAFETENSORS_LENGTH_BYTES] = {0};
  size_t head, first = f->bytes < sizeof length ? (size_t)f->bytes : sizeof length;
  enum assay_status status = file_get(f, 0, length, first, err);
  if (!status)
    status = safetensors_head_bytes(length, f->bytes, f->path, &head, err);
  if (status)
    return not_safetensors(f, status, err);
  void *bytes = base_alloc(head);
  status = bytes ? file_get(f, 0, bytes, head, err) : error_nomem(err, "a file's header");
  if (!status)
    status = safetensors_read(bytes, head, f->bytes, f->path, out, err);
  base_free(bytes);
  return status;
}

// An index, and what is read of it.
struct index {
  const char *path;
  json_t *whole, *map; // map: names of tensors and of files; what was found is taken out
  json_t *files;       // the files' names and their numbers
};

static bool plain_name(const char *name) {
  return name && name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static enum assay_status list_files(struct index *x, struct assay_error *err) {
  const char *tensor;
  json_t *file;
  json_object_foreach(x->map, tensor, file) {
    const char *name = json_string_value(file);
    if (!plain_name(name))
      return error_set(err, ASSAY_ERR_SYNTAX, "%s: the tensor '%.100s' has no name of a file next to the index",
                       x->path, tensor);
    if (json_object_get(x->files, name))
      continue;
    // The index itself is number 0.
    const json_int_t number = (json_int_t)json_object_size(x->files) + 1;
    if (number > CHECKPOINT_MAX_FILES)
      return error_set(err, ASSAY_ERR_LIMIT, "%s: more than %d files of weights", x->path, CHECKPOINT_MAX_FILES);
    if (json_object_set_new(x->files, name, json_integer(number)) != 0)
      return error_nomem(err, "an index of weights");
  }
  return ASSAY_OK;
}

static enum assay_status read_index(const struct checkpoint_file *f, struct index *x, struct assay_error *err) {
  if (f->bytes > SAFETENSORS_MAX_HEADER)
    return error_set(err, ASSAY_ERR_LIMIT, "%s: an index has at most %d bytes", f->path, SAFETENSORS_MAX_HEADER);
  char *text = base_alloc((size_t)f->bytes);
  x->files = json_object();
  enum assay_status status =
      text && x->files ? file_get(f, 0, text, (size_t)f->bytes, err) : error_nomem(err, "an index of weights");
  json_error_t problem = {0};
  if (!status)
    x->whole = json_loadb(text, (size_t)f->bytes, JSON_REJECT_DUPLICATES, &problem);
  base_free(text);
  if (status)
    return status;
  x->map = json_object_get(x->whole, "weight_map");
  if (!x->whole && json_error_code(&problem) == json_error_out_of_memory)
    return error_nomem(err, "an index of weights");
  if (json_object_size(x->map) == 0)
    return error_set(err, ASSAY_ERR_SYNTAX,
                     "%s: this is no index of safetensors files: it has no weight_map, an object of tensors' names and "
                     "their files'%s%s",
                     f->path, x->whole ? "" : ": ", x->whole ? "" : problem.text);
  if (json_object_size(x->map) > SAFETENSORS_MAX_TENSORS)
    return error_set(err, ASSAY_ERR_LIMIT, "%s: more than %d tensors", f->path, SAFETENSORS_MAX_TENSORS);
  return list_files(x, err);
}

static void index_release(struct index *x) {
  json_decref(x->whole);
  json_decref(x->files);
}

// Takes over those of a file's tensors that the index has in it.
static void take_tensors(struct checkpoint *c, struct index *x, const char *name, int file, struct safetensors *s) {
  for (int i = 0; i < s->n; i++) {
    struct safetensor *t = &s->tensors[i];
    const char *in = json_string_value(json_object_get(x->map, t->name));
    if (!in || strcmp(in, name) != 0)
      continue;
    json_object_del(x->map, t->name);
    t->file = file;
    c->of_all.tensors[c->of_all.n++] = *t;
    t->name = NULL;
  }
}

static enum assay_status open_part(struct checkpoint *c, struct index *x, const char *name, struct assay_error *err) {
  const char *slash = strrchr(x->path, '/');
  const int folder = slash ? (int)(slash - x->path) + 1 : 0, file = c->n_files;
  struct buf path = {0};
  struct safetensors s = {0};
  buf_printf(&path, "%.*s%s", folder, x->path, name);
  enum assay_status status =
      path.failed ? error_nomem(err, "a file's name") : file_open(path.data, &c->files[file], err);
  if (status == ASSAY_ERR_NOT_FOUND)
    status = error_set(err, status, "%s, which %s names, is not there", path.data, x->path);
  c->n_files += !status;
  if (!status)
    status = read_head(&c->files[file], &s, err);
  if (!status)
    take_tensors(c, x, name, file, &s);
  if (!status && file >= KEPT)
    file_let_go(&c->files[file]);
  safetensors_release(&s);
  buf_release(&path);
  return status;
}

static enum assay_status open_parts(struct checkpoint *c, struct index *x, struct assay_error *err) {
  const char *name;
  json_t *value;
  const struct checkpoint_file first = c->files[0];
  struct checkpoint_file *files = base_calloc(json_object_size(x->files) + 1, sizeof *files);
  c->of_all.tensors = base_calloc(json_object_size(x->map), sizeof *c->of_all.tensors);
  if (!files || !c->of_all.tensors) {
    base_free(files);
    return error_nomem(err, "an index of weights");
  }
  base_free(c->files);
  c->files = files;
  c->files[0] = first;
  json_object_foreach(x->files, name, value) {
    enum assay_status status = open_part(c, x, name, err);
    if (status)
      return status;
  }
  json_object_foreach(x->map, name, value) {
    return error_set(err, ASSAY_ERR_SYNTAX, "%s: the tensor '%.100s' is not in %.100s, where the index has it", x->path,
                     name, json_string_value(value));
  }
  return ASSAY_OK;
}

static enum assay_status open_file(const char *path, struct checkpoint *c, struct assay_error *err) {
  const char *ending = strrchr(path, '.');
  c->files = base_calloc(1, sizeof *c->files);
  if (!c->files)
    return error_nomem(err, "weights");
  enum assay_status status = file_open(path, &c->files[0], err);
  c->n_files = !status;
  if (status)
    return status;
  if (!ending || strcmp(ending, ".json") != 0)
    return read_head(&c->files[0], &c->of_all, err);
  struct index x = {.path = path};
  status = read_index(&c->files[0], &x, err);
  if (!status)
    status = open_parts(c, &x, err);
  index_release(&x);
  return status;
}

// What a folder has of the two that transformers writes.
static enum assay_status in_folder(const char *folder, struct buf *path, struct assay_error *err) {
  static const char *const names[] = {"model.safetensors", "model.safetensors.index.json"};
  struct stat st;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    buf_clear(path);
    buf_printf(path, "%s/%s", folder, names[i]);
    if (path->failed)
      return error_nomem(err, "a file's name");
    if (stat(path->data, &st) == 0)
      return ASSAY_OK;
  }
  return error_set(err, ASSAY_ERR_NOT_FOUND, "%s: the folder has no %s and no %s: give the file of weights itself",
                   folder, names[0], names[1]);
}

enum assay_status checkpoint_open(const char *path, struct checkpoint *out, struct assay_error *err) {
  struct checkpoint c = {0};
  struct buf inside = {0};
  struct stat st;
  const bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
  enum assay_status status = folder ? in_folder(path, &inside, err) : ASSAY_OK;
  if (!status)
    status = open_file(folder ? inside.data : path, &c, err);
  buf_release(&inside);
  if (status)
    checkpoint_close(&c);
  else
    *out = c;
  return status;
}

void checkpoint_close(struct checkpoint *c) {
  for (int i = 0; i < c->n_files; i++)
    file_close(&c->files[i]);
  base_free(c->files);
  safetensors_release(&c->of_all);
  *c = (struct checkpoint){0};
}
