// SPDX-License-Identifier: Apache-2.0
// Private to src/serve.
#ifndef SERVE_MICROHTTPD_DOOR_H
#define SERVE_MICROHTTPD_DOOR_H

#include "base/error.h"

// To be called before any function of libmicrohttpd's. ASSAY_ERR_ENVIRONMENT: it is not installed.
enum assay_status microhttpd_load(struct assay_error *err);

#endif
