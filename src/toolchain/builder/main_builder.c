// SPDX-License-Identifier: Apache-2.0
// assay-builder: compiles for the judge, who starts it (toolchain/builder/builder.c) with a socket as descriptor 3.
//
//   assay-builder warm|cold|opencl [path of libnvrtc]
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/build_id.h"
#include "toolchain/builder/builder.h"

int main(int argc, char **argv) {
  static const char *const kinds[] = {"warm", "cold", "opencl"};
  struct stat st;
  if (!build_id_matches(argc == 4 ? argv[3] : NULL, "assay-builder"))
    return 2;
  const char *library = argv[2][0] ? argv[2] : NULL;
  for (int i = 0; i < 3; i++)
    if (!strcmp(argv[1], kinds[i]) && fstat(BUILDER_FD, &st) == 0 && S_ISSOCK(st.st_mode))
      return builder_serve((enum builder_kind)i, library);
  fputs("assay-builder is started by assay, which hands it a socket: run `assay judge` instead\n", stderr);
  return 2;
}
