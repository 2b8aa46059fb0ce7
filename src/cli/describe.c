// SPDX-License-Identifier: Apache-2.0
// What a command's help is made of, as JSON: manual pages and completions are written from it (tools/manual.py), so
// that they cannot differ from --help.
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/argv.h"
#include "cli/json.h"

static void put_options(const struct argp *argp, json_t *list) {
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
    if (o->name && !(o->flags & OPTION_HIDDEN))
      json_array_append_new(list,
                            json_pack("{s:s, s:s?, s:b, s:s}", "name", o->name, "argument", o->arg, "may_be_missing",
                                      (o->flags & OPTION_ARG_OPTIONAL) != 0, "text", o->doc ? o->doc : ""));
  for (const struct argp_child *c = argp->children; c && c->argp; c++)
    put_options(c->argp, list);
}

void cli_describe(const char *program, const struct argp *argp) {
  json_t *options = json_array();
  const char *doc = argp->doc ? argp->doc : "", *rest = strchr(doc, '\v');
  size_t n = rest ? (size_t)(rest - doc) : strlen(doc);
  put_options(argp, options);
  cli_json_print(json_pack("{s:s, s:s, s:s%, s:s, s:o}", "program", program, "arguments",
                           argp->args_doc ? argp->args_doc : "", "text", doc, n, "more", rest ? rest + 1 : "",
                           "options", options));
}

void cli_describe_words(const char *program, const char *arguments, const char *text, const char *what,
                        const struct cli_word *words, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++)
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", words[i].name, "text", words[i].text));
  cli_json_print(json_pack("{s:s, s:s, s:s, s:s, s:o}", "program", program, "arguments", arguments, "text", text,
                           "version", ASSAY_VERSION, what, list));
}
