// SPDX-License-Identifier: Apache-2.0
// libcurl is loaded when a model is first asked: it and what it needs take half of a short command's time otherwise.
// These are the functions that this folder calls, by their own names; each finds its like in the library.
#define curl_url_get curl_url_get_as_declared // whose first parameter is const in some versions
#include <curl/curl.h>
#undef curl_url_get
#include <stdarg.h>

#include "base/door.h"
#include "model/curl_door.h"

#undef curl_easy_setopt // curl's headers wrap what takes any argument in checks
#undef curl_easy_getinfo

static struct late_library library = {.name = "libcurl.so.4", .package = "libcurl4"};

enum assay_status curl_load(struct assay_error *err) {
  return late_library_load(&library, err);
}

DOOR(CURLcode, curl_global_init, (long flags), (flags), CURLE_FAILED_INIT)
DOOR(CURL *, curl_easy_init, (void), (), NULL)
DOOR_VOID(curl_easy_cleanup, (CURL * easy), (easy))
DOOR(const char *, curl_easy_strerror, (CURLcode code), (code), "libcurl is missing")
DOOR(CURLHcode, curl_easy_header,
     (CURL * easy, const char *name, size_t index, unsigned origin, int request, struct curl_header **out),
     (easy, name, index, origin, request, out), CURLHE_NOT_BUILT_IN)
DOOR(CURLM *, curl_multi_init, (void), (), NULL)
DOOR(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi), CURLM_INTERNAL_ERROR)
DOOR(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL *easy), (multi, easy), CURLM_INTERNAL_ERROR)
DOOR(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL *easy), (multi, easy), CURLM_INTERNAL_ERROR)
DOOR(CURLMcode, curl_multi_perform, (CURLM * multi, int *running), (multi, running), CURLM_INTERNAL_ERROR)
DOOR(CURLMcode, curl_multi_poll, (CURLM * multi, struct curl_waitfd *fds, unsigned n, int ms, int *ready),
     (multi, fds, n, ms, ready), CURLM_INTERNAL_ERROR)
DOOR(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *left), (multi, left), NULL)
DOOR(struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *text), (list, text), NULL)
DOOR_VOID(curl_slist_free_all, (struct curl_slist * list), (list))
DOOR_VOID(curl_free, (void *p), (p))
DOOR(CURLU *, curl_url, (void), (), NULL)
DOOR_VOID(curl_url_cleanup, (CURLU * url), (url))
DOOR(CURLUcode, curl_url_set, (CURLU * url, CURLUPart part, const char *text, unsigned flags), (url, part, text, flags),
     CURLUE_OUT_OF_MEMORY)

CURLUcode curl_url_get(CURLU *url, CURLUPart part, char **text, unsigned flags);
DOOR(CURLUcode, curl_url_get, (CURLU * url, CURLUPart part, char **text, unsigned flags), (url, part, text, flags),
     CURLUE_OUT_OF_MEMORY)

// The one argument is a long, a pointer or a 64-bit number, which are passed alike where longs have 64 bits.
_Static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *), "one kind of argument");

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
  CURLcode (*function)(CURL *, CURLoption, ...);
  va_list list;
  va_start(list, option);
  void *argument = va_arg(list, void *);
  va_end(list);
  *(void **)&function = late_library_function(&library, "curl_easy_setopt");
  return function ? function(easy, option, argument) : CURLE_FAILED_INIT;
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...) {
  CURLcode (*function)(CURL *, CURLINFO, ...);
  va_list list;
  va_start(list, info);
  void *argument = va_arg(list, void *);
  va_end(list);
  *(void **)&function = late_library_function(&library, "curl_easy_getinfo");
  return function ? function(easy, info, argument) : CURLE_FAILED_INIT;
}
