// SPDX-License-Identifier: Apache-2.0
// Private to src/model: the addresses of servers.
#ifndef MODEL_ADDRESS_H
#define MODEL_ADDRESS_H

#include "base/arena.h"
#include "model/model.h"

// ASSAY_ERR_USAGE for what is no URL of http or https, holds a secret (it would be stored), or would send a key where
// others can read it.
enum assay_status address_check(const char *url, bool with_key, struct assay_error *err);

// Whether it is this machine's own: nothing that is sent there leaves it.
bool address_is_loopback(const char *url);

// A host of Azure, which takes a key in a header of its own.
bool address_is_azure(const char *url);

// Whether the path ends so, whatever slashes and query come after it.
bool address_ends_with(const char *url, const char *path);

// The address of an interface whose path is `path`: "https://host" and "https://host/v1/" mean
// https://host/v1/chat/completions; what has the path already is left as it is, and a query stays at the end. In the
// arena; NULL: no memory.
char *address_of(struct arena *arena, const char *url, const char *path);

#endif
