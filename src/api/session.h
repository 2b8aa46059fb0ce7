// SPDX-License-Identifier: Apache-2.0
// Private to src/api: a session, and what its functions share.
#ifndef API_SESSION_H
#define API_SESSION_H

#include <locale.h>

#include "assay/assay.h"
#include "base/arena.h"
#include "api/api.h"
#include "plan/device.h"

#define API_COUNT_DEVICE(...) +1
enum { API_DEVICES = 0 PLAN_DEVICES(API_COUNT_DEVICE) };
#undef API_COUNT_DEVICE

struct assay_session {
  locale_t plain;     // C's: files have a point in their numbers, whatever the host's locale says (uselocale)
  struct arena arena; // of the settings' strings
  struct assay_paths paths;
  struct api_files files;
  char tasks[4096];
  struct {
    const struct plan_device *device;
    struct assay_peaks peaks;
    struct assay_workbench *workbench; // opened by the first judgement on it
  } devices[API_DEVICES];
};

// A copy of a struct that begins with its size, made for this version or an older one, or a newer one whose members are
// zero here. ASSAY_ERR_USAGE, ASSAY_ERR_UNSUPPORTED. `what` names it.
enum assay_status api_take(void *out, size_t known, const void *in, const char *what, struct assay_error *err);

// A request, checked: the path of its task (base_free) and, where it is about a candidate, the options of a judgement
// and the index of its device.
struct api_asked {
  struct assay_request request;
  char *task_path;
  struct assay_judge_options options;
  int device;
};
enum assay_status api_ask(struct assay_session *s, const struct assay_request *r, bool candidate, struct api_asked *out,
                          struct assay_error *err);

#endif
