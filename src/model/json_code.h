// SPDX-License-Identifier: Apache-2.0
// Private to src/model: code as a member of JSON, as models write it that are fond of tools, and agents that were asked
// for JSON.
#ifndef MODEL_JSON_CODE_H
#define MODEL_JSON_CODE_H

#include "model/extract.h"

// {"code": "..."}, {"name": "...", "arguments": {"code": "..."}}, arguments that are JSON in a string, {"kernel.cu":
// "..."}, {"code": ["line", "line"]}, {"result": "..."} after lines of other objects, of which the last counts; also
// with the ends of lines in its strings, which are none in JSON. Text in a fence is taken out of it. False: it is
// nothing of the kind.
bool json_take_code(const struct model_language *l, const char *text, size_t n, struct buf *out);

#endif
