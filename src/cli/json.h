// SPDX-License-Identifier: Apache-2.0
// What commands print as JSON. docs/json.md says what is in it, docs/assay.schema.json is its schema, and
// tests/program/json.sh holds what is printed against that.
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

// Adds "schema": "assay/KIND/1" to an object, and returns it. It is what a row of a list, or a command's only object,
// begins with; the number goes up when a key goes or changes its meaning, and not when one is added. NULL stays NULL.
json_t *cli_json_of(const char *kind, json_t *object);

json_t *cli_json_real(double x);         // null where it is no finite number
json_t *cli_json_text(const char *text); // null where it is NULL or empty; UTF-8 in any case

// Prints it, and a line's end; takes it. NULL is "no memory", said on stderr.
void cli_json_print(json_t *taken);

// What a verdict as JSON has next to its evidence. All may be NULL.
struct cli_verdict_about {
  const char *run, *task, *candidate, *workload, *command;
};
// A verdict: its evidence (JSON text), or for a file that has none (NULL) what is said in its place and why. Every key
// is there; what is not known is null.
json_t *cli_json_verdict(const struct cli_verdict_about *about, const char *evidence, const char *said,
                         const char *why);

// Prints a list one element after the other, so that what is there is valid whatever comes later. Begin with {0}.
struct cli_json_list {
  int n;
};
void cli_json_begin(void);
void cli_json_next(struct cli_json_list *l, json_t *taken);
void cli_json_end(const struct cli_json_list *l);

#endif
