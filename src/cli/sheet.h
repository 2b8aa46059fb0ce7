// SPDX-License-Identifier: Apache-2.0
// Results in the formats of other programs: --csv for spreadsheets, --markdown for pages, --junit for continuous
// integration. CSV and JUnit are made of what --json prints, so that a value means the same everywhere; Markdown is the
// table that a terminal shows.
#ifndef CLI_SHEET_H
#define CLI_SHEET_H

#include <argp.h>
#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/json.h"

enum cli_format { CLI_FORMAT_TABLE, CLI_FORMAT_CSV, CLI_FORMAT_MARKDOWN, CLI_FORMAT_JUNIT };
extern const struct argp cli_format_argp; // --csv, --markdown, --junit; input: an enum cli_format

// A column of CSV: its header and the place of its value, "timing/median_ns". A step that is a number is an index;
// "@worst_check" is the index that the object's own worst_check says. NULL ends a list.
struct cli_column {
  const char *header, *path;
};
extern const struct cli_column cli_verdict_columns[], cli_score_columns[];
// RFC 4180, lines end with "\n". What is missing is empty.
void cli_csv_head(const struct cli_column *columns, FILE *to);
void cli_csv_row(const struct cli_column *columns, const json_t *object, FILE *to);

// JUnit's XML of verdicts: a candidate that failed is a failure, a machine that failed an error, what was not asked for
// is skipped. Begin with {0}.
struct cli_junit {
  struct buf cases;
  int n, n_failures, n_errors, n_skipped;
};
void cli_junit_case(struct cli_junit *j, const json_t *verdict);
void cli_junit_end(struct cli_junit *j, const char *suite, FILE *to); // prints all, and releases it

// Verdicts for programs, one after the other: as JSON, CSV or JUnit. Set json and format; the rest begins with 0.
struct cli_objects {
  bool json;
  enum cli_format format;
  struct cli_json_list list;
  struct cli_junit junit;
};
bool cli_objects_wanted(const struct cli_objects *o); // else there is a table
void cli_objects_begin(const struct cli_objects *o);
void cli_objects_put(struct cli_objects *o, json_t *taken);
void cli_objects_end(struct cli_objects *o, const char *suite);
// Where no objects are wanted: as a terminal has it, or Markdown. Whether table_print() folded it.
struct table;
bool cli_table_print(const struct cli_objects *o, struct table *table);

#endif
