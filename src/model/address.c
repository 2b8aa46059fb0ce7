// SPDX-License-Identifier: Apache-2.0
#include "model/address.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "model/curl_door.h"

// The length without slashes, query and fragment at the end.
static size_t path_end(const char *url) {
  size_t n = strcspn(url, "?#");
  while (n > 0 && url[n - 1] == '/')
    n--;
  return n;
}

bool address_ends_with(const char *url, const char *path) {
  size_t n = path_end(url), k = strlen(path);
  return n >= k && memcmp(url + n - k, path, k) == 0;
}

char *address_of(struct arena *arena, const char *url, const char *path) {
  const char *host = strstr(url, "://"), *query = url + strcspn(url, "?#");
  size_t n = path_end(url), query_len = *query == '?' ? strcspn(query, "#") : 0;
  bool bare = !host || !memchr(host + 3, '/', n - (size_t)(host + 3 - url)), there = address_ends_with(url, path);
  return arena_printf(arena, "%.*s%s%s%.*s", (int)n, url, bare && !there ? "/v1" : "", there ? "" : path,
                      (int)query_len, query);
}

// A name is not enough: 127.0.0.1.example.com is anywhere.
static bool host_is_loopback(const char *host) {
  struct in_addr four;
  struct in6_addr six;
  char bare[64];
  size_t n = strlen(host);
  if (strcasecmp(host, "localhost") == 0)
    return true;
  if (host[0] != '[' || n < 2 || n - 2 >= sizeof bare)
    return inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
  memcpy(bare, host + 1, n - 2);
  bare[n - 2] = '\0';
  return inet_pton(AF_INET6, bare, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool address_is_loopback(const char *url) {
  CURLU *u = curl_url();
  char *host = NULL;
  bool loopback = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
                  curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK && host_is_loopback(host);
  curl_free(host);
  curl_url_cleanup(u);
  return loopback;
}

bool address_is_azure(const char *url) {
  static const char domain[] = ".azure.com";
  CURLU *u = curl_url();
  char *host = NULL;
  bool known = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
               curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK;
  size_t n = known ? strlen(host) : 0, k = strlen(domain);
  bool azure = n > k && strcasecmp(host + n - k, domain) == 0;
  curl_free(host);
  curl_url_cleanup(u);
  return azure;
}

// "?key=...", "&access_token=...": some servers take a key so.
static bool has_secret(const char *query) {
  static const char *const names[] = {"key=", "token=", "secret=", "password="};
  for (size_t i = 0; query && i < sizeof names / sizeof *names; i++)
    if (strcasestr(query, names[i]))
      return true;
  return false;
}

enum assay_status address_check(const char *url, bool with_key, struct assay_error *err) {
  enum assay_status status = curl_load(err);
  if (status)
    return status;
  CURLU *u = curl_url();
  char *scheme = NULL, *host = NULL, *user = NULL, *query = NULL;
  bool known = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
               curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
               curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK;
  if (known)
    curl_url_get(u, CURLUPART_QUERY, &query, 0);
  if (!known || (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0))
    status =
        error_set(err, ASSAY_ERR_USAGE,
                  "the endpoint %s is not one; write https://HOST/v1, http://localhost:8080/v1 or exec:COMMAND", url);
  else if (curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_OK || has_secret(query))
    status = error_set(err, ASSAY_ERR_USAGE,
                       "the endpoint holds a user's name, a password or a key, which would be stored; give a key by "
                       "--key-env or --key-file");
  else if (strcmp(scheme, "http") == 0 && with_key && !host_is_loopback(host))
    status = error_set(err, ASSAY_ERR_USAGE,
                       "%s would send the key where others can read it; use https, or give no key", url);
  curl_free(scheme);
  curl_free(host);
  curl_free(user);
  curl_free(query);
  curl_url_cleanup(u);
  return status;
}
