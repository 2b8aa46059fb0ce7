// SPDX-License-Identifier: Apache-2.0
// Private to src/model.
#ifndef MODEL_CURL_DOOR_H
#define MODEL_CURL_DOOR_H

#include "base/error.h"

// To be called before any function of libcurl's. ASSAY_ERR_ENVIRONMENT: it is not installed.
enum assay_status curl_load(struct assay_error *err);

#endif
