// SPDX-License-Identifier: Apache-2.0
// A program as a model: the prompt on its standard input, the reply from its standard output. It is the user's own and
// runs as such, with the user's environment; it is no candidate.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "model/exchange.h"

enum { NOT_RUN = 126, NOT_FOUND = 127, MOST_COMPLAINT_BYTES = 4096 };

struct program {
  pid_t pid;
  int pidfd, in, out, complaints; // -1: closed
  struct buf prompt, complaint;
  size_t written;
};

static void close_fd(int *fd) {
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

static void program_destroy(struct program *p) {
  close_fd(&p->pidfd);
  close_fd(&p->in);
  close_fd(&p->out);
  close_fd(&p->complaints);
  buf_release(&p->prompt);
  buf_release(&p->complaint);
  base_free(p);
}

// The program's environment: that of the options, then the request's own. In the arena.
static char **environment_of(struct exchange *x, const struct model_client_options *o) {
  size_t n = 0, own = 0;
  while (o->environment && o->environment[n])
    n++;
  char **all = arena_calloc(&x->arena, n + 5, sizeof *all);
  if (!all)
    return NULL;
  for (; own < 4 && x->request.environment[own]; own++)
    all[own] = (char *)x->request.environment[own]; // first, and so found first
  if (n)
    memcpy(all + own, o->environment, n * sizeof *all);
  return all;
}

// Both ends of a pipe, closed on exec; ours does not block.
static int make_pipe(int ends[2], int ours) {
  if (pipe2(ends, O_CLOEXEC) != 0)
    return errno;
  fcntl(ends[ours], F_SETFL, O_NONBLOCK);
  return 0;
}

static int spawn(struct program *p, const char *command, char **environment, const int theirs[3]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  char *argv[] = {"sh", "-c", (char *)command, NULL};
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  sigemptyset(&none);
  sigfillset(&all);
  // A group of its own, to be ended as one, and to have no part in Ctrl-C; signals as in any program.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  for (int i = 0; i < 3; i++)
    posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
  int e = posix_spawn(&p->pid, "/bin/sh", &actions, &attributes, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return e;
}

static int start_program(struct exchange *x, struct program *p, const struct model_client_options *o) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, complaints[2] = {-1, -1};
  char **environment = environment_of(x, o);
  int e = environment ? make_pipe(in, 1) : ENOMEM;
  if (!e)
    e = make_pipe(out, 0);
  if (!e)
    e = make_pipe(complaints, 0);
  if (!e)
    e = spawn(p, x->endpoint->url + strlen("exec:"), environment, (const int[]){in[0], out[1], complaints[1]});
  p->in = in[1];
  p->out = out[0];
  p->complaints = complaints[0];
  close_fd(&in[0]);
  close_fd(&out[1]);
  close_fd(&complaints[1]);
  if (!e)
    p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
  return e;
}

static void exec_start(struct exchange *x, const struct model_client_options *o) {
  struct program *p = base_calloc(1, sizeof *p);
  x->reply.calls = 1;
  if (!p) {
    exchange_fail(x, MODEL_ENDED, ASSAY_ERR_NOMEM, "out of memory for a program");
    return;
  }
  p->pidfd = p->in = p->out = p->complaints = -1;
  if (x->request.system[0])
    buf_printf(&p->prompt, "%s\n", x->request.system);
  buf_puts(&p->prompt, x->request.user);
  int e = p->prompt.failed ? ENOMEM : start_program(x, p, o);
  if (e) {
    exchange_fail(x, MODEL_ENDED, ASSAY_ERR_ENVIRONMENT, "cannot start /bin/sh: %s", strerror(e));
    program_destroy(p);
    return;
  }
  x->carrier = p;
}

static int exec_fds(const struct exchange *x, struct curl_waitfd *out) {
  const struct program *p = x->carrier;
  int n = 0;
  if (!p)
    return 0;
  if (p->in >= 0)
    out[n++] = (struct curl_waitfd){.fd = p->in, .events = CURL_WAIT_POLLOUT};
  if (p->out >= 0)
    out[n++] = (struct curl_waitfd){.fd = p->out, .events = CURL_WAIT_POLLIN};
  if (p->complaints >= 0)
    out[n++] = (struct curl_waitfd){.fd = p->complaints, .events = CURL_WAIT_POLLIN};
  if (p->pidfd >= 0)
    out[n++] = (struct curl_waitfd){.fd = p->pidfd, .events = CURL_WAIT_POLLIN};
  return n;
}

// A program may leave its prompt unread. SIGPIPE is kept from this thread alone.
static void write_prompt(struct program *p) {
  sigset_t set;
  const struct timespec at_once = {0};
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  ssize_t n = 1;
  while (p->in >= 0 && n > 0 && p->written < p->prompt.len) {
    n = write(p->in, p->prompt.data + p->written, p->prompt.len - p->written);
    p->written += n > 0 ? (size_t)n : 0;
    if (n < 0 && errno == EPIPE) {
      sigtimedwait(&set, NULL, &at_once);
      close_fd(&p->in);
    }
  }
  if (p->written == p->prompt.len)
    close_fd(&p->in);
}

// Reads what is there, up to `most` bytes in all; what is beyond is left out, and *over set.
static void read_all(int *fd, struct buf *to, size_t most, bool *over) {
  char bytes[65536];
  ssize_t n = 1;
  while (*fd >= 0 && n > 0 && !*over) {
    n = read(*fd, bytes, sizeof bytes);
    size_t room = most - to->len;
    *over = n > 0 && (size_t)n > room;
    if (n > 0)
      buf_append(to, bytes, *over ? room : (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
      close_fd(fd);
  }
}

// Waits for its end; what it left running ends, too.
static void gone(struct exchange *x, const struct rusage *used) {
  struct program *p = x->carrier;
  kill(-p->pid, SIGKILL);
  x->reply.cpu_ns = (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * (int64_t)1000000000 +
                    (used->ru_utime.tv_usec + used->ru_stime.tv_usec) * (int64_t)1000;
  program_destroy(p);
  x->carrier = NULL;
}

static void exec_stop(struct exchange *x) {
  struct program *p = x->carrier;
  struct rusage used = {0};
  if (!p)
    return;
  kill(-p->pid, SIGKILL);
  while (wait4(p->pid, NULL, 0, &used) < 0 && errno == EINTR)
    ;
  gone(x, &used);
}

// The end of what a program complained, in one line; "" where it said nothing.
static const char *last_complaint(const struct program *p) {
  const char *text = buf_str(&p->complaint);
  size_t n = p->complaint.len;
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
    n--;
  if (p->complaint.data)
    p->complaint.data[n] = '\0';
  const char *line = strrchr(text, '\n');
  line = line ? line + 1 : text;
  return strlen(line) > 300 ? line + strlen(line) - 300 : line;
}

static void judge_end(struct exchange *x, const struct program *p, int status) {
  const char *complaint = last_complaint(p), *colon = complaint[0] ? ": " : "";
  if (WIFSIGNALED(status)) {
    exchange_fail(x, MODEL_FAILED, ASSAY_ERR_ENVIRONMENT, "%s was ended by signal %d%s%s", x->endpoint->url,
                  WTERMSIG(status), colon, complaint);
  } else if (WEXITSTATUS(status) != 0) {
    bool missing = WEXITSTATUS(status) == NOT_FOUND || WEXITSTATUS(status) == NOT_RUN;
    exchange_fail(x, missing ? MODEL_ENDED : MODEL_FAILED, missing ? ASSAY_ERR_USAGE : ASSAY_ERR_ENVIRONMENT,
                  "%s ended with exit code %d%s%s", x->endpoint->url, WEXITSTATUS(status), colon, complaint);
  }
}

// It printed more than it may: its reply is cut off there as a server's is, or where nothing is asked of it but to be
// no longer than a reply can be, it has failed.
static void take_too_much(struct exchange *x, const struct model_client_options *o) {
  if (x->request.most_bytes > 0 && x->request.most_bytes <= o->most_reply_bytes)
    x->reply.finish = MODEL_FINISH_LENGTH;
  else
    exchange_fail(x, MODEL_FAILED, ASSAY_ERR_LIMIT, "%s printed more than %zu MiB", x->endpoint->url,
                  o->most_reply_bytes >> 20);
}

// Reads what it printed; false: that is more than it may.
static bool read_program(struct exchange *x, const struct model_client_options *o) {
  struct program *p = x->carrier;
  size_t most = x->request.most_bytes > 0 && x->request.most_bytes < o->most_reply_bytes ? x->request.most_bytes
                                                                                         : o->most_reply_bytes;
  bool over = false, much_said = false;
  read_all(&p->out, &x->reply.text, most, &over);
  read_all(&p->complaints, &p->complaint, MOST_COMPLAINT_BYTES, &much_said);
  if (much_said) // the newest is what counts
    buf_clear(&p->complaint);
  return !over;
}

static bool exec_go_on(struct exchange *x, const struct model_client_options *o, int64_t now_ns) {
  struct program *p = x->carrier;
  struct rusage used;
  int status;
  if (!p)
    return true;
  write_prompt(p);
  if (!read_program(x, o)) {
    exec_stop(x);
    take_too_much(x, o);
    return true;
  }
  if (now_ns >= x->deadline_ns) {
    exec_stop(x);
    exchange_fail(x, MODEL_FAILED, ASSAY_ERR_ENVIRONMENT,
                  "%s did not end within %lld s; allow more with --reply-timeout", x->endpoint->url,
                  (long long)(o->whole_ns / 1000000000));
    return true;
  }
  if (wait4(p->pid, &status, WNOHANG, &used) != p->pid)
    return false;
  bool fits = read_program(x, o);
  if (x->reply.text.failed)
    exchange_fail(x, MODEL_FAILED, ASSAY_ERR_NOMEM, "out of memory for a reply");
  else if (fits)
    judge_end(x, p, status);
  else
    take_too_much(x, o);
  gone(x, &used);
  return true;
}

const struct carrier_ops carrier_exec = {exec_start, exec_fds, exec_go_on, exec_stop};
