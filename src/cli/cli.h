// SPDX-License-Identifier: Apache-2.0
// The command line. Only this folder prints, exits and reads the environment.
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "assay/paths.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "api/api.h"

// Exit codes.
enum { CLI_PASS = 0, CLI_FAIL = 1, CLI_USAGE = 2, CLI_ENVIRONMENT = 3, CLI_INTERRUPTED = 130 };

// Where Assay's own files are, found from the program's place or the environment.
enum { CLI_COMPILER_SETTINGS = 5 };
struct cli_paths {
  struct assay_paths judge; // what a judgement needs; points into this struct, which is therefore never copied
  char program[4096];       // this executable
  char tasks[4096], prompts[4096], prices[4096], store[4096], temporary[4096], cache[4096], png[4096], include[4096];
  struct api_files files;
  struct cli_config config;
  const char *compiler_settings[CLI_COMPILER_SETTINGS + 1]; // of the environment, NULL-terminated
};
enum assay_status cli_paths_find(struct cli_paths *p, struct assay_error *err);

// Prints "assay: MESSAGE" to stderr and returns the exit code for the status.
int cli_fail(const struct assay_error *err);
int cli_code(enum assay_status status); // the exit code for an error

int cli_main(int argc, char **argv);

// stream.c. At the start: a closed standard stream is opened, for no other file to get its number.
void cli_keep_streams(void);
// Writes out what is printed. `code`, or CLI_ENVIRONMENT and a message where standard output took not all of it.
int cli_flush(int code);

// Whether this machine has an NVIDIA driver. It may have no GPU all the same.
bool cli_has_nvidia(void);

// Runs a command. Where there is an NVIDIA driver it runs in a child, so that nobody waits while the driver cleans up.
// The exit code, or the signal, is the child's.
int cli_in_front(int (*command)(int argc, char **argv), int argc, char **argv);

// Whether to go on: as `yes` says it, else as somebody at a terminal answers "QUESTION [y/N]"; false without one.
bool cli_confirm(bool yes, const char *question);

// A progress bar on stderr, silent unless stderr is a terminal; or as --progress says. For work of many parts:
// cli_meter_show (progress.h).
void cli_progress(const char *what, int done, int total);
void cli_progress_clear(void);

#endif
