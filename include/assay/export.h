// SPDX-License-Identifier: Apache-2.0
// What libassay exports. Everything else of it is hidden.
#ifndef ASSAY_EXPORT_H
#define ASSAY_EXPORT_H

#ifdef __cplusplus
#define ASSAY_API extern "C" __attribute__((visibility("default")))
#else
#define ASSAY_API __attribute__((visibility("default")))
#endif

#endif
