// SPDX-License-Identifier: Apache-2.0
// The interpreter that a script starts: pyenv, asdf and others have a script in front of each Python, which looks for
// the real one in folders that a sandbox does not let it read.
#ifndef TOOLCHAIN_PYTHON_SCRIPT_H
#define TOOLCHAIN_PYTHON_SCRIPT_H

#include "base/arena.h"
#include "base/error.h"

// `path` itself where it is no script. Otherwise the script is run, as the user would run it (outside of the sandbox,
// with the whole environment and without a candidate), and says which interpreter it has started: an absolute path, the
// arena's. ASSAY_ERR_ENVIRONMENT: it says none within ten seconds, or one that is a script, too.
enum assay_status python_behind_script(const char *path, struct arena *a, const char **interpreter,
                                       struct assay_error *err);

#endif
