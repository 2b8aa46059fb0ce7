// SPDX-License-Identifier: Apache-2.0
// Private to src/model: code that stands in a reply without a fence.
#ifndef MODEL_BARE_H
#define MODEL_BARE_H

#include "model/extract.h"

// The lines of the text that look like a whole program of the language; false: there is none. What models wrap code in
// (<answer>, \begin{code}, a sentence) is left out.
bool bare_code(const struct model_language *l, const char *text, size_t n, size_t *begin, size_t *len);

// Brackets of C outside of strings and comments: 0 when they balance, more when some are open. Of the branches of an
// #if the last counts.
int bare_open_brackets(const char *text, size_t n);

// How much of a candidate's entry point a text has: what calls it or speaks of it names it, what is a candidate defines
// it. What leaves a part out ("// ... the rest as before") is BARE_ELIDED where it would be the latter.
enum bare_entry { BARE_NONE, BARE_NAMED, BARE_ELIDED, BARE_DEFINED };
enum bare_entry bare_entry(const struct model_language *l, const char *text, size_t n);

// Whether any of the names by which a candidate is known is in the text.
bool bare_has_entry(const struct model_language *l, const char *text, size_t n);

// Where C ends that sentences may follow: behind its last line with a closing bracket, where brackets balance there and
// what follows has none of C's marks; n: it goes on to the end.
size_t bare_end(const char *text, size_t n);

// Whether it is more than a sentence with the entry point in it.
bool bare_looks_like_code(const struct model_language *l, const char *text, size_t n);

// Where `word` is in the text, from `at` on, whatever its case; n when it is not.
size_t bare_find(const char *text, size_t n, size_t at, const char *word);

// The text without the marks of a quotation ("> ") at the beginnings of lines, where it has fences in one; false: not.
bool bare_unquote(const char *text, size_t n, struct buf *out);

#endif
