// SPDX-License-Identifier: Apache-2.0
// What a command's help is made of, as JSON: manual pages and completions are written from it (tools/manual.py), so
// that they cannot differ from --help.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argv.h"
#include "cli/json.h"

static bool has(const json_t *list, const char *name) {
  for (size_t i = 0; i < json_array_size(list); i++)
    if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "name")), name) == 0)
      return true;
  return false;
}

// Those that are not in the list yet. form: with which arguments they are taken, where that is not always.
static void put_options(const struct argp *argp, const char *form, json_t *list) {
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
    if (!o->name || (o->flags & OPTION_HIDDEN) || has(list, o->name))
      continue;
    const char *doc = o->doc ? o->doc : "";
    char *text = argp->help_filter ? argp->help_filter(o->key, doc, NULL) : NULL;
    json_array_append_new(list, json_pack("{s:s, s:s?, s:b, s:s, s:s*}", "name", o->name, "argument", o->arg,
                                          "may_be_missing", (o->flags & OPTION_ARG_OPTIONAL) != 0, "text",
                                          text ? text : doc, "form", form));
    if (text != doc)
      free(text);
  }
  for (const struct argp_child *c = argp->children; c && c->argp; c++)
    put_options(c->argp, form, list);
}

void cli_describe(const char *program, const struct argp *argp) {
  cli_describe_forms(program, argp, NULL, NULL);
}

void cli_describe_forms(const char *program, const struct argp *argp, const char *form, const struct argp *other) {
  json_t *options = json_array();
  const char *doc = argp->doc ? argp->doc : "", *rest = strchr(doc, '\v');
  size_t n = rest ? (size_t)(rest - doc) : strlen(doc);
  put_options(argp, NULL, options);
  if (other)
    put_options(other, form, options);
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
