// SPDX-License-Identifier: Apache-2.0
// The models of a run: keys, what endpoints are known to refuse, prices.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/make.h"
#include "sandbox/sandbox.h"

enum { MOST_KEY_BYTES = 4096 };

// --- keys

// "OPENAI_API_KEY=sk-...", a line of a shell or of .env: sent as it is, the server would call it a wrong key. (A key in
// base64 ends with "=", if it has one.)
static bool is_assignment(const char *key, size_t n) {
  size_t name = strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  return name > 0 && name + 2 < n && key[name] == '=' && key[name + 1] != '=' && memchr(key, '_', name);
}

// A key is printable and has no spaces: anything else is another file, and would break the request's headers.
static enum assay_status take_key(struct make_endpoint *e, const char *key, size_t n, const char *from,
                                  struct assay_error *err) {
  static const char blank[] = " \t\r\n";
  while (n > 0 && key[n - 1] && strchr(blank, key[n - 1]))
    n--;
  while (n > 0 && *key && strchr(blank, *key))
    key++, n--;
  if (n > 0 && is_assignment(key, n))
    return error_set(err, ASSAY_ERR_USAGE, "%s holds NAME=KEY; leave the key alone in it", from);
  if (n == 0)
    return error_set(err, ASSAY_ERR_USAGE, "%s holds no key", from);
  if (n >= MOST_KEY_BYTES - 1)
    return error_set(err, ASSAY_ERR_USAGE, "%s holds more than a key", from);
  for (size_t i = 0; i < n; i++)
    if (key[i] <= ' ' || key[i] > '~')
      return error_set(err, ASSAY_ERR_USAGE, "%s holds more than one key, or something else", from);
  e->secret = base_strndup(key, n);
  return e->secret ? ASSAY_OK : error_nomem(err, "a key");
}

static enum assay_status read_key(struct make_endpoint *e, struct assay_error *err) {
  char key[MOST_KEY_BYTES];
  struct stat st;
  enum assay_status status = ASSAY_OK;
  int fd = open(e->key_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t n = 0;
  if (fd < 0 || fstat(fd, &st) != 0)
    status = error_set(err, ASSAY_ERR_USAGE, "cannot read the key in %s: %s", e->key_file, strerror(errno));
  else if (!S_ISREG(st.st_mode))
    status = error_set(err, ASSAY_ERR_USAGE, "%s is no file with a key", e->key_file);
  else if (st.st_mode & 077)
    status =
        error_set(err, ASSAY_ERR_USAGE, "others can read the key in %s; run: chmod 600 %s", e->key_file, e->key_file);
  else
    n = read(fd, key, sizeof key);
  if (fd >= 0)
    close(fd);
  if (status)
    return status;
  status = take_key(e, key, n > 0 ? (size_t)n : 0, e->key_file, err);
  explicit_bzero(key, sizeof key);
  return status;
}

// Without an option: the usual variables of the two hosts that everybody has a key of, and of no other host.
static const char *usual_variable(const char *url) {
  if (strncmp(url, "https://api.openai.com/", 23) == 0 || strcmp(url, "https://api.openai.com") == 0)
    return "OPENAI_API_KEY";
  if (strncmp(url, "https://api.anthropic.com/", 26) == 0 || strcmp(url, "https://api.anthropic.com") == 0)
    return "ANTHROPIC_API_KEY";
  return NULL;
}

static enum assay_status find_key(struct make *m, int i, struct assay_error *err) {
  struct make_endpoint *e = &m->more[i];
  enum assay_status status = ASSAY_OK;
  const char *usual = usual_variable(m->endpoints[i].url), *name = e->key_variable ? e->key_variable : usual;
  const char *key = name ? getenv(name) : NULL;
  if (e->key_file)
    status = read_key(e, err);
  else if (e->key_variable && !key)
    status = error_set(err, ASSAY_ERR_USAGE, "the environment has no %s; set it to the key, or use --key-file", name);
  else if (key)
    status = take_key(e, key, strlen(key), name, err);
  m->endpoints[i].key = e->secret;
  return status;
}

enum assay_status make_find_keys(struct make *m, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  bool any = false;
  for (int i = 0; i < m->n_endpoints && !status; i++) {
    status = find_key(m, i, err);
    any = any || m->endpoints[i].key;
  }
  if (any) // no core dump and no look at this process' environment
    sandbox_hide_self();
  return status;
}

void make_forget_keys(struct make *m) {
  for (int i = 0; i < m->n_endpoints; i++) {
    struct make_endpoint *e = &m->more[i];
    if (e->secret)
      explicit_bzero(e->secret, strlen(e->secret));
    base_free(e->secret);
    base_free(e->refused);
    free(e->fields);
    json_decref(e->given);
    e->given = NULL;
    e->fields = NULL;
    e->secret = e->refused = NULL;
    m->endpoints[i].key = m->endpoints[i].refused = m->endpoints[i].fields = NULL;
  }
}

// --- what endpoints refuse: facts in the store, by address and model (endpoint i is that of model i)

static void fact_name(const struct make *m, int endpoint, char *text, size_t size) {
  snprintf(text, size, "%s %s", m->endpoints[endpoint].url, m->models[endpoint].name);
}

void make_recall_refused(struct make *m) {
  struct assay_error ignored = {0};
  char name[1024];
  for (int i = 0; i < m->n_endpoints; i++) {
    fact_name(m, i, name, sizeof name);
    if (store_get_machine(m->store, "endpoint", name, &m->more[i].refused, &ignored) == ASSAY_OK)
      m->endpoints[i].refused = m->more[i].refused;
  }
}

void make_keep_refused(struct make *m) {
  struct assay_error ignored = {0};
  char name[1024];
  for (int i = 0; i < m->n_endpoints; i++) {
    struct buf fields = {0};
    const char *before = m->endpoints[i].refused ? m->endpoints[i].refused : "";
    fact_name(m, i, name, sizeof name);
    if (model_client_refused(m->engine.client, i, &fields, &ignored) == ASSAY_OK &&
        strcmp(before, buf_str(&fields)) != 0)
      store_set_machine(m->store, "endpoint", name, buf_str(&fields), &ignored);
    buf_release(&fields);
  }
}

// --- prices

enum assay_status make_find_prices(struct make *m, struct assay_error *err) {
  enum assay_status status = model_prices_read(m->prices_path, &m->prices, err);
  for (int i = 0; i < m->engine.settings.n_models && !status; i++) {
    struct engine_model *to = &m->models[i];
    to->price = model_price_of(&m->prices, to->name, clock_wall_ns());
    if (m->engine.budget.usd <= 0 || to->price)
      continue;
    if (to->name[0])
      status =
          error_set(err, ASSAY_ERR_USAGE,
                    "no price is known of the model \"%s\", so that --budget-usd cannot hold; add a line to %s, or "
                    "use --budget-tokens",
                    to->name, m->prices_path);
    else
      status = error_set(err, ASSAY_ERR_USAGE,
                         "no price is known of %s, so that --budget-usd cannot hold; name its model, one of %s, by "
                         "--model, or use --budget-tokens",
                         m->endpoints[i].url, m->prices_path);
  }
  return status;
}
