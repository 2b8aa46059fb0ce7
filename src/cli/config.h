// SPDX-License-Identifier: Apache-2.0
// Settings that stay: ~/.config/assay/assay.conf, and assay.conf of a project. docs/environment.md has the rules.
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "base/error.h"

// X(key, whether a project's file may set it). Values are paths. A project's file comes with the files of strangers: it
// names no program.
#define CLI_CONFIG_KEYS(X)                                                                                             \
  X(store, true)                                                                                                       \
  X(tasks, true)                                                                                                       \
  X(prompts, true)                                                                                                     \
  X(prices, true)                                                                                                      \
  X(python, false)                                                                                                     \
  X(nvrtc, false)                                                                                                      \
  X(cublaslt, false)                                                                                                   \
  X(cudnn, false)                                                                                                      \
  X(cupti, false)

struct cli_config {
#define CLI_CONFIG_MEMBER(key, project) char key[4096];
  CLI_CONFIG_KEYS(CLI_CONFIG_MEMBER) // "": not set
#undef CLI_CONFIG_MEMBER
};

// Reads the user's file, and then that of the nearest folder from the working one upwards, whose values count more.
// A file that is not there is fine. ASSAY_ERR_SYNTAX names file and line.
enum assay_status cli_config_read(struct cli_config *out, struct assay_error *err);

#endif
