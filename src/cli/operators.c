// SPDX-License-Identifier: Apache-2.0
// assay operators: prints docs/operators.md.
#include <argp.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/argv.h"
#include "cli/cli.h"
#include "ops/op.h"

static const struct argp argp = {.doc = "Prints a Markdown page of all operators that tasks may use."};

int cli_operators(int argc, char **argv) {
  struct buf page = {0};
  struct assay_error err = {0};
  cli_argv_check(&argp, argc, argv);
  argp_parse(&argp, argc, argv, 0, NULL, NULL);
  enum assay_status status = op_page(&page, &err);
  if (!status)
    fputs(buf_str(&page), stdout);
  buf_release(&page);
  return status ? cli_fail(&err) : CLI_PASS;
}
