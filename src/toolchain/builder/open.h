// SPDX-License-Identifier: Apache-2.0
// A builder, for callers that only open and close one.
#ifndef TOOLCHAIN_BUILDER_OPEN_H
#define TOOLCHAIN_BUILDER_OPEN_H

#include "assay/paths.h"
#include "base/error.h"

// A warmed builder, shared by many builds: a process that has NVRTC loaded and used, and forks for each build. NULL
// where there is none: a build then starts its own. Either dies with the *thread* that called builder_open or
// program_start (as every sandboxed child does).
struct builder;
enum assay_status builder_open(const struct assay_paths *p, struct builder **out, struct assay_error *err);
void builder_close(struct builder *b); // NULL is fine

#endif
