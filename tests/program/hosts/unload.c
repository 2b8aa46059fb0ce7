// SPDX-License-Identifier: Apache-2.0
// unload LIBRARY KERNEL: loads libassay, judges and unloads it, three times. Nothing of it is left each time.
#include <assay/assay.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int entries(const char *path) {
  DIR *d = opendir(path);
  int n = 0;
  while (readdir(d))
    n++;
  closedir(d);
  return n;
}

static int mapped(void) {
  char line[8192];
  FILE *f = fopen("/proc/self/maps", "r");
  int n = 0;
  while (fgets(line, sizeof line, f))
    n += strstr(line, "libassay") != NULL;
  fclose(f);
  return n;
}

#define FIND(name) __typeof__(&name) f_##name = (__typeof__(&name))dlsym(library, #name)

static void judge(void *library, const char *kernel) {
  FIND(assay_session_open);
  FIND(assay_session_judge);
  FIND(assay_session_close);
  FIND(assay_judged_reason);
  FIND(assay_judged_free);
  FIND(assay_reason_code);
  struct assay_request r = {
      .size = sizeof r, .task = "kernelbench/1/19", .candidate = kernel, .no_timing = 1, .no_probes = 1};
  struct assay_session *s = NULL;
  struct assay_judged *v = NULL;
  struct assay_error err = {0};
  if (f_assay_session_open(NULL, &s, &err) || f_assay_session_judge(s, &r, &v, &err))
    puts(err.message);
  else
    puts(f_assay_reason_code(f_assay_judged_reason(v)));
  f_assay_judged_free(v);
  f_assay_session_close(s);
}

int main(int argc, char **argv) {
  int descriptors = 0, threads = 0;
  if (argc < 3)
    return 2;
  for (int i = 0; i < 3; i++) {
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return puts(dlerror()), 1;
    judge(library, argv[2]);
    dlclose(library);
    if (i == 0) { // what other libraries keep, such as the C library's own descriptor of a random source
      descriptors = entries("/proc/self/fd");
      threads = entries("/proc/self/task");
    }
    printf("left %d %d %d\n", mapped(), entries("/proc/self/fd") - descriptors, entries("/proc/self/task") - threads);
  }
  return 0;
}
