// SPDX-License-Identifier: Apache-2.0
// Private to src/model: code between the tags of XML and HTML: <code>, <content>, <parameter name="code">,
// <arg_value>, <parameter=code>, whatever the names are that a model's tools or prompts have.
#ifndef MODEL_ELEMENT_H
#define MODEL_ELEMENT_H

#include "model/extract.h"
#include "model/fence.h"

// The innermost element with code of the language, of several the last; false: there is none. Tags of other
// names than those that are closed somewhere are text (#include <x.h>).
bool element_with_code(const struct model_language *l, const char *text, size_t n, struct fence_block *out);

#endif
