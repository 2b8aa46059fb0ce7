// SPDX-License-Identifier: Apache-2.0
// The host backend: device code compiled by a C compiler and run by the processor's threads. Compiled code is an
// ordinary shared library, loaded from memory, so that a damaged cache entry can never be mapped.
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "compute/code_cache.h"
#include "compute/backend.h"

extern char **environ;

enum {
  ALIGNMENT = 256,
  GUARD = 64,
  GUARD_BYTE = 0x5A,
  POISON = 0xA5,
  LIBRARY_BYTES = 256 << 20,
  LOG_BYTES = 16 << 20,
  LOG_SHOWN = 600,
  GRAIN = 256
};

struct host {
  char *compiler, *cache_folder; // cache_folder may be NULL
  int threads;
};

// A loaded program.
struct library {
  void *handle;
  int fd;
};

// KERNEL in dialect.h.
typedef void kernel_fn(const void *args, int64_t begin, int64_t end);

// ---- memory

// Directly before a block's aligned start. GUARD bytes that no kernel may touch follow the block.
struct header {
  char *allocation; // what base_alloc returned
  size_t bytes;
};

static enum assay_status host_alloc(void *self, size_t bytes, device_ptr *out, struct assay_error *err) {
  (void)self;
  struct header h = {.bytes = bytes};
  h.allocation = base_alloc(sizeof h + ALIGNMENT + bytes + GUARD);
  if (!h.allocation)
    return error_nomem(err, "memory of the host device");
  char *begin = h.allocation + sizeof h;
  begin += (ALIGNMENT - (uintptr_t)begin % ALIGNMENT) % ALIGNMENT;
  memcpy(begin - sizeof h, &h, sizeof h);
  memset(begin + bytes, GUARD_BYTE, GUARD);
  *out = (uintptr_t)begin;
  return ASSAY_OK;
}

// A kernel that wrote beyond an array is our bug.
static void host_free(void *self, device_ptr address) {
  (void)self;
  const char *begin = (const char *)(uintptr_t)address;
  struct header h;
  memcpy(&h, begin - sizeof h, sizeof h);
  for (size_t i = 0; i < GUARD; i++)
    assert(begin[h.bytes + i] == GUARD_BYTE && "device code wrote past the end of an array");
  base_free(h.allocation);
}

static void host_available(void *self, size_t *available, size_t *total) {
  (void)self;
  int64_t most, free_now = memory_available("", &most);
  *available = (size_t)free_now;
  *total = (size_t)most;
}

static void host_poison(void *self, device_ptr p, size_t bytes) {
  (void)self;
  memset((void *)(uintptr_t)p, POISON, bytes);
}

static enum assay_status host_upload(void *self, device_ptr to, const void *from, size_t bytes,
                                     struct assay_error *err) {
  (void)self, (void)err;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return ASSAY_OK;
}

static enum assay_status host_download(void *self, void *to, device_ptr from, size_t bytes, struct assay_error *err) {
  (void)self, (void)err;
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return ASSAY_OK;
}

static enum assay_status host_copy(void *self, device_ptr to, device_ptr from, size_t bytes, struct assay_error *err) {
  (void)self, (void)err;
  memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return ASSAY_OK;
}

static enum assay_status host_set32(void *self, device_ptr to, uint32_t value, size_t words, struct assay_error *err) {
  (void)self, (void)err;
  uint32_t *p = (uint32_t *)(uintptr_t)to;
  for (size_t i = 0; i < words; i++)
    p[i] = value;
  return ASSAY_OK;
}

// ---- compiling

static enum assay_status run_compiler(const struct host *h, const char *source, const char *library, const char *log,
                                      int *code, struct assay_error *err) {
  const char *const argv[] = {h->compiler,
                              "-std=gnu17",
                              "-O2",
                              "-ffp-contract=off",
                              "-fno-strict-aliasing",
                              "-fPIC",
                              "-shared",
                              "-w",
                              "-fvisibility=hidden",
                              "-o",
                              library,
                              source,
                              "-lm",
                              NULL};
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int wait_status;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  int failed = posix_spawnp(&pid, h->compiler, &actions, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start the C compiler %s: %s; install gcc or clang",
                     h->compiler, strerror(failed));
  while (waitpid(pid, &wait_status, 0) < 0)
    if (errno != EINTR)
      return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot wait for the C compiler: %s", strerror(errno));
  *code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  return ASSAY_OK;
}

static enum assay_status compiler_failed(const struct host *h, const struct device_code *code, const char *log,
                                         struct assay_error *err) {
  char *text = NULL;
  size_t n = 0;
  enum assay_status status = file_read(log, LOG_BYTES, &text, &n, NULL);
  status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s does not compile device code \"%s\": %.*s", h->compiler,
                     code->name, LOG_SHOWN, status ? "(no message)" : text);
  base_free(text);
  return status;
}

// The text as the bytes of a shared library.
static enum assay_status compile(const struct host *h, const struct device_code *code, const char *text, char **data,
                                 size_t *n, struct assay_error *err) {
  char folder[] = "/tmp/assay-device-XXXXXX", source[64], library[64], log[64];
  int exit_code = 0;
  if (!mkdtemp(folder))
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a folder in /tmp: %s", strerror(errno));
  snprintf(source, sizeof source, "%s/code.c", folder);
  snprintf(library, sizeof library, "%s/code.so", folder);
  snprintf(log, sizeof log, "%s/log", folder);
  enum assay_status status = file_write(source, text, strlen(text), err);
  if (!status)
    status = run_compiler(h, source, library, log, &exit_code, err);
  if (!status && exit_code != 0)
    status = compiler_failed(h, code, log, err);
  if (!status)
    status = file_read(library, LIBRARY_BYTES, data, n, err);
  unlink(source);
  unlink(library);
  unlink(log);
  rmdir(folder);
  return status;
}

// The dynamic linker knows a library by its path: the descriptor stays open as long as the library is loaded, so that
// no other gets its number.
static enum assay_status load_library(const char *data, size_t n, compute_program *out, struct assay_error *err) {
  char path[64];
  int fd = memfd_create("assay-device", MFD_CLOEXEC);
  if (fd < 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a file in memory: %s", strerror(errno));
  for (size_t done = 0; done < n;) {
    ssize_t put = write(fd, data + done, n - done);
    if (put < 0 && errno != EINTR) {
      close(fd);
      return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot write a file in memory: %s", strerror(errno));
    }
    done += put > 0 ? (size_t)put : 0;
  }
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct library *l = base_calloc(1, sizeof *l);
  enum assay_status status = l ? ASSAY_OK : error_nomem(err, "a device program");
  if (l && !(l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot load compiled device code: %s", dlerror());
  if (status) {
    base_free(l);
    close(fd);
    return status;
  }
  l->fd = fd;
  *out = l;
  return ASSAY_OK;
}

static enum assay_status host_load(void *self, const struct device_code *code, const char *text, compute_program *out,
                                   struct assay_error *err) {
  const struct host *h = self;
  char key[HASH_HEX_BYTES], *data = NULL;
  size_t n = 0;
  const char *const parts[] = {"host", h->compiler, text, NULL};
  enum assay_status status = code_cache_key(parts, key, err);
  if (status)
    return status;
  if (code_cache_read(h->cache_folder, key, &data, &n, NULL) == ASSAY_OK) {
    status = load_library(data, n, out, err);
    base_free(data);
    if (!status)
      return status;
    data = NULL; // made by another machine perhaps: compile it again
  }
  status = compile(h, code, text, &data, &n, err);
  if (!status)
    status = load_library(data, n, out, err);
  if (!status && h->cache_folder)
    (void)code_cache_write(h->cache_folder, key, data, n, NULL);
  base_free(data);
  return status;
}

static void host_unload(void *self, compute_program p) {
  (void)self;
  struct library *l = p;
  dlclose(l->handle);
  close(l->fd);
  base_free(l);
}

static enum assay_status host_find(void *self, compute_program p, const char *kernel, compute_kernel *out,
                                   struct assay_error *err) {
  (void)self;
  char symbol[256];
  snprintf(symbol, sizeof symbol, "assay_kernel_%s", kernel);
  *out = dlsym(((struct library *)p)->handle, symbol);
  return *out ? ASSAY_OK : error_set(err, ASSAY_ERR_NOT_FOUND, "there is no kernel %s", kernel);
}

// ---- running

struct stretch {
  kernel_fn *run;
  const void *args;
};

static void run_stretch(void *arg, int64_t begin, int64_t end) {
  const struct stretch *s = arg;
  s->run(s->args, begin, end);
}

static enum assay_status host_launch(void *self, compute_kernel k, const char *name, int64_t n, const void *args,
                                     size_t arg_bytes, struct assay_error *err) {
  (void)name, (void)arg_bytes, (void)err;
  const struct host *h = self;
  struct stretch s = {.args = args};
  memcpy(&s.run, &k, sizeof k); // dlsym's object pointer is a function
  parallel_for(h->threads, n, GRAIN, run_stretch, &s);
  return ASSAY_OK;
}

static enum assay_status host_sync(void *self, struct assay_error *err) {
  (void)self, (void)err;
  return ASSAY_OK;
}

static void host_close(void *self) {
  struct host *h = self;
  base_free(h->compiler);
  base_free(h->cache_folder);
  base_free(h);
}

static const struct compute_backend host_backend = {
    .close = host_close,
    .alloc = host_alloc,
    .free = host_free,
    .available = host_available,
    .poison = host_poison,
    .upload = host_upload,
    .download = host_download,
    .copy = host_copy,
    .set32 = host_set32,
    .load = host_load,
    .unload = host_unload,
    .find = host_find,
    .launch = host_launch,
    .sync = host_sync,
};

enum assay_status compute_open_host(const struct compute_options *o, struct compute **out, struct assay_error *err) {
  const char *compiler = o->compiler ? o->compiler : "cc";
  struct host *h = base_calloc(1, sizeof *h);
  if (!h)
    return error_nomem(err, "the host device");
  h->threads = o->threads > 0 ? o->threads : parallel_cpus();
  h->compiler = base_strndup(compiler, strlen(compiler));
  h->cache_folder = o->cache_folder ? base_strndup(o->cache_folder, strlen(o->cache_folder)) : NULL;
  if (!h->compiler || (o->cache_folder && !h->cache_folder)) {
    host_close(h);
    return error_nomem(err, "the host device");
  }
  return compute_make(&host_backend, h, out, err);
}
