// assay operators: prints docs/operators.md.
#include <stdio.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "ops/op.h"

int cli_operators(int argc, char **argv) {
  struct buf page = {0};
  struct assay_error err = {0};
  if (argc > 1) {
    printf("Usage: %s\nPrints a Markdown page of all operators that tasks may use.\n", argv[0]);
    return CLI_PASS;
  }
  enum assay_status status = op_page(&page, &err);
  if (!status)
    fputs(buf_str(&page), stdout);
  buf_release(&page);
  return status ? cli_fail(&err) : CLI_PASS;
}
