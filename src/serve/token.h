// SPDX-License-Identifier: Apache-2.0
// Who may submit. A token is known by its hash alone; its file has one a line, "NAME SHA256".
#ifndef SERVE_TOKEN_H
#define SERVE_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { TOKEN_MOST = 256, TOKEN_NAME = 64, TOKEN_BYTES = 65 };

struct tokens;

// ASSAY_ERR_USAGE: the file can be read by others than its owner, belongs to somebody else, or a line is wrong.
// `rate`: submissions a minute and token, and how many may come at once.
enum assay_status tokens_open(const char *path, int rate, struct tokens **out, struct assay_error *err);
void tokens_close(struct tokens *t); // NULL is fine

// The submitter whose token this is; NULL: nobody's. The time does not depend on which token, or how much of it, is
// right. The name lives as long as the tokens.
const char *tokens_find(const struct tokens *t, const char *token);

// Whether this submitter may submit now; if not, in how many seconds. Any thread.
bool tokens_take(struct tokens *t, const char *name, int64_t now_ns, int *retry_s);

// Makes a token for a new name, appends its hash to the file (made for the owner alone where it is not there), and
// returns it in `token`. ASSAY_ERR_INVALID: the name is taken or has characters that names have not.
enum assay_status tokens_add(const char *path, const char *name, char token[TOKEN_BYTES], struct assay_error *err);

#endif
