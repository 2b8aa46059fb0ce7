// SPDX-License-Identifier: Apache-2.0
// What is done to the words of a command before argp sees them; help for other programs.
#ifndef CLI_ARGV_H
#define CLI_ARGV_H

#include <argp.h>

// -h becomes --help. -V and an option that no row of `argp` or its children has end the process: the latter with the
// name that was perhaps meant, where there is one.
void cli_argv_check(const struct argp *argp, int argc, char **argv);

// At ARGP_KEY_INIT: what argp says of wrong usage quotes words that others may have written, and no terminal obeys
// them.
void cli_argv_errors(struct argp_state *state);

// What help is made of, as JSON, for the programs that write manual pages and completions. `assay COMMAND --describe`
// prints it: an option that help does not list.
#define CLI_DESCRIBE "--describe"
void cli_describe(const char *program, const struct argp *argp);
// Of a command that takes more options with other arguments (`form`): those of `other` say so.
void cli_describe_forms(const char *program, const struct argp *argp, const char *form, const struct argp *other);
struct cli_word {
  const char *name, *text;
};
// Of a command whose first word is one of a list; `what` they are: "commands", "actions".
void cli_describe_words(const char *program, const char *arguments, const char *text, const char *what,
                        const struct cli_word *words, size_t n);

#endif
