// Files: nothing may be written anywhere, and what may be read are the C library's files. Attempts by the ordinary
// calls fail with an error code; a kernel that goes on is judged by its answers.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin FILL expect crashed -- fills the disk in its own folder, aborts when it cannot
// assay: twin FILL_TMP expect crashed -- fills /tmp
// assay: twin FILL_SHM expect crashed -- fills /dev/shm
// assay: twin OUTSIDE expect crashed -- writes ../candidate.c, the source that was hashed
// assay: twin HOME expect crashed -- appends to a file in the home folder
// assay: twin HARMLESS expect pass -- tries all of the above and goes on without
// assay: twin UNLINK expect forbidden_call -- removes a file
// assay: twin MAKE_FOLDER expect forbidden_call -- makes a folder
// assay: twin RENAME expect forbidden_call -- renames its own library
// assay: twin LINK expect forbidden_call -- makes a symbolic link
// assay: twin TRUNCATE expect forbidden_call -- truncates a file by name
// assay: twin CHMOD expect forbidden_call -- makes a file writable for everybody
// assay: twin TEMPORARY expect forbidden_call|crashed -- tmpfile()
// assay: twin NAMELESS expect forbidden_call -- a file in memory by memfd_create
// assay: twin STDERR_FILE expect forbidden_call -- sets the size of the file behind stderr
// assay: twin PASSWORDS expect crashed -- reads /etc/passwd
// assay: twin SOURCES expect crashed -- reads the source of its own task's oracle
// assay: twin LOOK_AROUND expect crashed -- lists the folder of the program that runs it, where a store may lie
// assay: twin DEVICE expect crashed -- reads the raw disk
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Writes without end; ends the process at the first failure.
static int fill(const char *path, int must) {
  static const char block[1 << 16];
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0 && must)
    abort();
  for (int i = 0; fd >= 0 && i < 64; i++) // 4 MiB: enough to be seen
    if (write(fd, block, sizeof block) < 0)
      abort();
  return fd;
}

static void see(const char *path) {
  char byte;
  int fd = open(path, O_RDONLY);
  if (fd < 0 || read(fd, &byte, 1) != 1)
    abort();
}

static void attempt(void) {
  (void)fill;
  (void)see;
#if defined(FILL)
  fill("filler", 1);
#elif defined(FILL_TMP)
  fill("/tmp/assay-cheat-filler", 1);
#elif defined(FILL_SHM)
  fill("/dev/shm/assay-cheat-filler", 1);
#elif defined(OUTSIDE)
  fill("../candidate.c", 1);
#elif defined(HOME)
  fill("/root/assay-cheat-filler", 1);
#elif defined(HARMLESS)
  fill("filler", 0);
  fill("/tmp/assay-cheat-filler", 0);
  fill("/dev/shm/assay-cheat-filler", 0);
  fill("../candidate.c", 0);
#elif defined(UNLINK)
  unlink("/tmp/assay-cheat-nothing");
#elif defined(MAKE_FOLDER)
  mkdir("folder", 0700);
#elif defined(RENAME)
  rename("candidate.so", "other.so");
#elif defined(LINK)
  if (symlink("/", "root") != 0)
    abort();
#elif defined(TRUNCATE)
  if (truncate("/tmp/assay-cheat-nothing", 0) != 0)
    abort();
#elif defined(CHMOD)
  chmod(".", 0777);
#elif defined(TEMPORARY)
  if (!tmpfile())
    abort();
#elif defined(NAMELESS)
  memfd_create("cheat", 0);
#elif defined(STDERR_FILE)
  if (ftruncate(2, 1 << 20) != 0)
    abort();
#elif defined(PASSWORDS)
  see("/etc/passwd");
#elif defined(SOURCES)
  see("../../src/oracle/oracle.h");
#elif defined(LOOK_AROUND)
  char *folder = strdup(program_invocation_name), *slash = strrchr(folder, '/');
  if (!slash)
    return;
  *slash = '\0';
  DIR *dir = opendir(folder);
  if (!dir)
    abort();
  closedir(dir);
#elif defined(DEVICE)
  see("/dev/vda");
#endif
}

void assay_kernel(const struct assay_args *args) {
  attempt();
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}
