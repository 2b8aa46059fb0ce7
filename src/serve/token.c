// SPDX-License-Identifier: Apache-2.0
#include "serve/token.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"

enum { MOST_FILE = 1 << 16 };

struct token {
  char name[TOKEN_NAME], hash[HASH_HEX_BYTES];
  double left; // submissions that may still come at once
  int64_t at_ns;
};

struct tokens {
  pthread_mutex_t lock; // of left and at_ns
  double rate;          // a minute
  int n;
  struct token items[TOKEN_MOST];
};

static bool is_name(const char *name) {
  size_t n = strlen(name);
  return n > 0 && n < TOKEN_NAME &&
         strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.") == n;
}

static enum assay_status check_owner(const char *path, struct assay_error *err) {
  struct stat st;
  if (stat(path, &st) != 0)
    return error_set(err, ASSAY_ERR_USAGE, "%s: %s; make it with `assay serve --token-file FILE --add-token NAME`",
                     path, strerror(errno));
  if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
    return error_set(err, ASSAY_ERR_USAGE, "%s must be its owner's alone: chmod 600 it", path);
  return ASSAY_OK;
}

static enum assay_status take_line(struct tokens *t, const char *path, int number, const char *line, size_t n,
                                   struct assay_error *err) {
  size_t name = strcspn(line, " ");
  struct token *item = &t->items[t->n];
  if (n == 0 || line[0] == '#')
    return ASSAY_OK;
  if (t->n == TOKEN_MOST)
    return error_set(err, ASSAY_ERR_USAGE, "%s: at most %d tokens", path, TOKEN_MOST);
  if (name == 0 || name >= TOKEN_NAME || n != name + 1 + HASH_HEX_BYTES - 1 ||
      strspn(line + name + 1, "0123456789abcdef") != HASH_HEX_BYTES - 1)
    return error_set(err, ASSAY_ERR_USAGE, "%s:%d: a line is a name and the SHA-256 of a token", path, number);
  memcpy(item->name, line, name);
  memcpy(item->hash, line + name + 1, HASH_HEX_BYTES - 1);
  item->left = t->rate;
  t->n++;
  return is_name(item->name)
             ? ASSAY_OK
             : error_set(err, ASSAY_ERR_USAGE, "%s:%d: a name has letters, digits and \"_-.\" only", path, number);
}

enum assay_status tokens_open(const char *path, int rate, struct tokens **out, struct assay_error *err) {
  char *text = NULL;
  size_t len = 0;
  enum assay_status status = check_owner(path, err);
  if (!status)
    status = file_read(path, MOST_FILE, &text, &len, err);
  if (status)
    return status;
  struct tokens *t = base_calloc(1, sizeof *t);
  if (!t) {
    base_free(text);
    return error_nomem(err, "tokens");
  }
  pthread_mutex_init(&t->lock, NULL);
  t->rate = rate;
  int number = 1;
  for (const char *line = text; *line && !status; number++) {
    size_t n = strcspn(line, "\n");
    status = take_line(t, path, number, line, n, err);
    line += n + (line[n] == '\n');
  }
  base_free(text);
  if (status)
    tokens_close(t);
  else
    *out = t;
  return status;
}

void tokens_close(struct tokens *t) {
  if (!t)
    return;
  pthread_mutex_destroy(&t->lock);
  base_free(t);
}

const char *tokens_find(const struct tokens *t, const char *token) {
  char hash[HASH_HEX_BYTES];
  const char *found = NULL;
  hash_sha256_hex(token, strlen(token), hash);
  for (int i = 0; i < t->n; i++) {
    volatile unsigned differs = 0;
    for (int k = 0; k < HASH_HEX_BYTES - 1; k++)
      differs |= (unsigned)(hash[k] ^ t->items[i].hash[k]);
    found = differs == 0 ? t->items[i].name : found;
  }
  return found;
}

bool tokens_take(struct tokens *t, const char *name, int64_t now_ns, int *retry_s) {
  bool ok = false;
  pthread_mutex_lock(&t->lock);
  for (int i = 0; i < t->n; i++) {
    struct token *k = &t->items[i];
    if (strcmp(k->name, name) != 0)
      continue;
    k->left += k->at_ns ? (double)(now_ns - k->at_ns) / 60e9 * t->rate : 0;
    k->left = k->left > t->rate ? t->rate : k->left;
    k->at_ns = now_ns;
    ok = k->left >= 1;
    *retry_s = ok ? 0 : 1 + (int)((1 - k->left) * 60 / t->rate);
    k->left -= ok;
  }
  pthread_mutex_unlock(&t->lock);
  return ok;
}

static enum assay_status make_token(char token[TOKEN_BYTES], struct assay_error *err) {
  unsigned char bytes[(TOKEN_BYTES - 1) / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the system has no random numbers: %s", strerror(errno));
  for (size_t i = 0; i < sizeof bytes; i++) {
    token[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    token[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
  token[TOKEN_BYTES - 1] = '\0';
  return ASSAY_OK;
}

enum assay_status tokens_add(const char *path, const char *name, char token[TOKEN_BYTES], struct assay_error *err) {
  char hash[HASH_HEX_BYTES], *before = NULL;
  size_t len = 0;
  struct tokens *known = NULL;
  struct buf text = {0};
  enum assay_status status = ASSAY_OK;
  if (!is_name(name))
    return error_set(err, ASSAY_ERR_INVALID, "a token's name has letters, digits and \"_-.\" only, not '%.80s'", name);
  if (access(path, F_OK) == 0) {
    status = tokens_open(path, 1, &known, err);
    if (!status)
      status = file_read(path, MOST_FILE, &before, &len, err);
  }
  for (int i = 0; known && i < known->n && !status; i++)
    if (strcmp(known->items[i].name, name) == 0)
      status = error_set(err, ASSAY_ERR_INVALID, "%s has a token for %s already; remove its line first", path, name);
  if (!status)
    status = make_token(token, err);
  if (!status) {
    hash_sha256_hex(token, strlen(token), hash);
    buf_append(&text, before ? before : "", len);
    buf_printf(&text, "%s%s %s\n", len > 0 && before[len - 1] != '\n' ? "\n" : "", name, hash);
    status = buf_status(&text, err);
  }
  mode_t mask = umask(077);
  if (!status)
    status = file_write(path, text.data, text.len, err);
  umask(mask);
  tokens_close(known);
  base_free(before);
  buf_release(&text);
  return status;
}
