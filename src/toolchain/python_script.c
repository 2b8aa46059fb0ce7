// SPDX-License-Identifier: Apache-2.0
#include "toolchain/python_script.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

extern char **environ;

static const int64_t ASK_NS = 10000000000;
static const char mark[] = "interpreter: "; // messages of the script may stand around it

static bool is_script(const char *path) {
  char begin[2] = "";
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool script = fd >= 0 && read(fd, begin, sizeof begin) == sizeof begin && memcmp(begin, "#!", sizeof begin) == 0;
  if (fd >= 0)
    close(fd);
  return script;
}

// Starts it in a group of its own, so that what it starts can be ended, too. What it prints goes to `to`.
static bool start(const char *path, int to, pid_t *pid) {
  static const char question[] = "import sys; print('interpreter: ' + sys.executable)";
  const char *const argv[] = {path, "-I", "-S", "-c", question, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0)
    return false;
  bool ok = posix_spawnattr_init(&attributes) == 0;
  if (ok) {
    ok = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP) == 0 &&
         posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
         posix_spawn_file_actions_adddup2(&actions, to, 1) == 0 &&
         posix_spawn_file_actions_adddup2(&actions, to, 2) == 0 &&
         posix_spawn(pid, path, &actions, &attributes, (char *const *)argv, environ) == 0;
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return ok;
}

// What comes until the end of the stream. false: it is too long, or not there in time.
static bool read_answer(int fd, char *text, size_t size) {
  const int64_t until = clock_monotonic_ns() + ASK_NS;
  size_t n = 0;
  while (n + 1 < size) {
    int64_t left = until - clock_monotonic_ns();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready = left > 0 ? poll(&p, 1, (int)(left / 1000000) + 1) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    ssize_t got = ready > 0 ? read(fd, text + n, size - 1 - n) : -1;
    if (got < 0)
      return false;
    n += (size_t)got;
    text[n] = '\0';
    if (got == 0)
      return true;
  }
  return false;
}

// Runs it to its end, or ends it.
static bool ask(const char *path, char *text, size_t size) {
  int ends[2], how = 0;
  pid_t pid;
  text[0] = '\0';
  if (pipe2(ends, O_CLOEXEC) != 0)
    return false;
  bool started = start(path, ends[1], &pid);
  close(ends[1]);
  bool answered = started && read_answer(ends[0], text, size);
  close(ends[0]);
  if (started && !answered)
    kill(-pid, SIGKILL);
  while (started && waitpid(pid, &how, 0) < 0)
    if (errno != EINTR)
      return false;
  return answered && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

// What it started, in `text`; NULL: it does not say.
static char *find_interpreter(char *text) {
  char *found = strstr(text, mark);
  found = found ? found + sizeof mark - 1 : NULL;
  if (found)
    found[strcspn(found, "\n")] = '\0';
  return found && found[0] == '/' && access(found, X_OK) == 0 && !is_script(found) ? found : NULL;
}

enum assay_status python_behind_script(const char *path, struct arena *a, const char **interpreter,
                                       struct assay_error *err) {
  char text[PATH_MAX + 256];
  *interpreter = path;
  if (!is_script(path))
    return ASSAY_OK;
  const char *found = ask(path, text, sizeof text) ? find_interpreter(text) : NULL;
  if (!found)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "%s does not work here: it is a script, and does not say which Python it starts (%.*s); name that "
                     "Python in ASSAY_PYTHON",
                     path, text[0] ? (int)strcspn(text, "\n") : 15, text[0] ? text : "it says nothing");
  *interpreter = arena_strdup(a, found);
  return *interpreter ? ASSAY_OK : error_nomem(err, "the interpreter's path");
}
