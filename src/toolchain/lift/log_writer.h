// SPDX-License-Identifier: Apache-2.0
// Writes the log of a recording (record/format.h): its entries while the program runs, the whole log at the end.
//
// The log's order is not the order of writing. Outputs and the memory from before come first in the log, and are known
// last. So entries are collected here and copied to the judge's file by log_writer_finish.
#ifndef TOOLCHAIN_LIFT_LOG_WRITER_H
#define TOOLCHAIN_LIFT_LOG_WRITER_H

#include <stdbool.h>

#include "base/buf.h"
#include "toolchain/record/format.h"

struct log_writer {
  struct buf outputs;                                       // struct record_output
  struct buf states;                                        // struct record_state
  struct buf body;                                          // everything else, in the order of the calls
  char refusal[sizeof((struct record_header *)0)->message]; // the first reason, or ""
  bool launched_last;                                       // the last step is a launch
};

void log_writer_release(struct log_writer *w);
void log_writer_begin(struct log_writer *w); // forgets what it has

// The program did what no plan can hold. It goes on, and nothing more is recorded. The first reason counts.
void log_writer_refuse(struct log_writer *w, const char *fmt, ...) ASSAY_PRINTF(2, 3);
bool log_writer_refused(const struct log_writer *w);

// An entry more, unless the recording was refused: its fixed part, and what follows it.
void log_writer_put(struct log_writer *w, enum record_kind kind, const void *fixed, size_t n);
void log_writer_put_with(struct log_writer *w, enum record_kind kind, const void *fixed, size_t n, const void *payload,
                         size_t n_payload);
void log_writer_output(struct log_writer *w, const struct record_output *e);
void log_writer_state(struct log_writer *w, const struct record_state *e, const void *content, size_t n);

// The whole log to the judge's file of RECORD_LOG_BYTES, with RECORD_RETURNED or RECORD_REFUSED.
void log_writer_finish(struct log_writer *w, struct record_header *to);
// One more entry after the end of a log that is finished. log_writer_finish leaves room for a few.
void log_writer_share(struct record_header *log, const struct record_share *e);

#endif
