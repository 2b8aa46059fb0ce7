// SPDX-License-Identifier: Apache-2.0
// Samples as a few lines of text, for a terminal or a pipe.
#ifndef CLI_HISTOGRAM_H
#define CLI_HISTOGRAM_H

#include "base/buf.h"

// A line a bin, at most 12, of equal width: where it begins in the unit of the samples, a bar, how many. `less` is
// taken off each sample (what the protocol takes of every call); `ns` are nanoseconds. Few samples far above the others
// share the last line, "and more". A sentence where there is no sample. Characters of ASCII only.
void cli_histogram(const double *ns, int n, double less, struct buf *out);

#endif
