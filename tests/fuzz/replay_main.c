// SPDX-License-Identifier: Apache-2.0
// Feeds files to a fuzz target without a fuzzer: every file of the folder named on the command line, so that what a
// fuzzer once found stays found. The files are handed over in memory of their exact size, which lets a sanitizer see
// a read after the end.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
  struct assay_error err = {0};
  char *data;
  size_t len;
  if (file_read(path, (size_t)1 << 28, &data, &len, &err)) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  void *exact = base_realloc(data, len); // drops the NUL that file_read puts after the content
  LLVMFuzzerTestOneInput(exact ? exact : (void *)data, len);
  base_free(exact ? exact : (void *)data);
  return 0;
}

int main(int argc, char **argv) {
  int files = 0, failures = 0;
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  if (!folder) {
    fprintf(stderr, "usage: %s FOLDER (a corpus that exists)\n", argv[0]);
    return 2;
  }
  for (struct dirent *e; (e = readdir(folder));) {
    char path[4096];
    if (e->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
    failures += replay(path);
    files++;
  }
  closedir(folder);
  printf("%d files replayed\n", files);
  return failures || files == 0; // an empty corpus tests nothing
}
