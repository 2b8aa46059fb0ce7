// SPDX-License-Identifier: Apache-2.0
// ONNX's own operator tests (Debian package libonnx-testdata: models, inputs and expected outputs that nobody here
// made) against the reader, the operator table and the oracle.
//
//   conformance FOLDER LEAST
//
// reads every FOLDER/test_*/model.onnx, evaluates those whose operators the table has, and compares. It fails when one
// of these differs, or when fewer than LEAST models are covered.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "check.h"
#include "onnx.pb-c.h"
#include "ops/op.h"
#include "tally.h"

// Outputs that are random by the operator's definition: no other implementation can repeat them. Inference, and
// dropout with ratio 0, are compared like anything else.
static const char *const random_outputs[] = {
    "test_bernoulli",
    "test_bernoulli_double",
    "test_bernoulli_double_expanded",
    "test_bernoulli_expanded",
    "test_bernoulli_seed",
    "test_bernoulli_seed_expanded",
    "test_training_dropout",
    "test_training_dropout_default",
    "test_training_dropout_default_mask",
    "test_training_dropout_mask",
};

struct totals {
  int models, covered, passed, failed, uncovered, incomparable;
  struct tally operators, types, forms, failures;
};

static bool is_random(const char *name) {
  for (size_t i = 0; i < sizeof random_outputs / sizeof random_outputs[0]; i++)
    if (strcmp(name, random_outputs[i]) == 0)
      return true;
  return false;
}

static int opset_of(const Onnx__ModelProto *p, const char *domain) {
  for (size_t i = 0; i < p->n_opset_import; i++)
    if (strcmp(p->opset_import[i]->domain ? p->opset_import[i]->domain : "", domain) == 0)
      return (int)p->opset_import[i]->version;
  return 0;
}

// Tallies the operators that the table lacks; asked of the file itself, so that a fault of the reader cannot hide as
// lacking coverage.
static bool operators_known(const char *bytes, size_t len, const char *name, struct totals *t) {
  Onnx__ModelProto *p = onnx__model_proto__unpack(NULL, len, (const uint8_t *)bytes);
  bool known = true;
  if (!p || !p->graph)
    return true; // the reader will say what is wrong
  for (size_t i = 0; i < p->graph->n_node; i++) {
    const Onnx__NodeProto *n = p->graph->node[i];
    const char *domain = n->domain ? n->domain : "";
    char full[TALLY_NAME_BYTES];
    bool again = false; // an operator counts once a model
    if (op_find(domain, n->op_type, opset_of(p, domain)))
      continue;
    for (size_t k = 0; k < i; k++)
      again = again || strcmp(p->graph->node[k]->op_type, n->op_type) == 0;
    snprintf(full, sizeof full, "%s%s%s (opset %d)", domain, *domain ? "." : "", n->op_type, opset_of(p, domain));
    if (!again)
      tally_add(&t->operators, full, name);
    known = false;
  }
  onnx__model_proto__free_unpacked(p, NULL);
  return known;
}

// The message without its place, which differs from model to model.
static const char *reason(const char *message) {
  const char *p = strstr(message, ": ");
  for (const char *next; p && (next = strstr(p + 2, ": ")) && strncmp(p + 2, "graph", 5) == 0;)
    p = next;
  return p ? p + 2 : message;
}

static void fail_model(struct totals *t, const char *name, const struct assay_error *err) {
  t->failed++;
  tally_add(&t->failures, err->message, name);
}

static void run_model(const char *folder, const char *name, const char *bytes, size_t len, struct totals *t) {
  struct model m;
  struct assay_error err = {0};
  if (is_random(name)) {
    t->incomparable++;
    return;
  }
  if (!operators_known(bytes, len, name, t)) {
    t->uncovered++;
    return;
  }
  enum assay_status status = onnx_read_binary(bytes, len, name, &m, &err);
  if (status == ASSAY_ERR_UNSUPPORTED) {
    t->uncovered++;
    tally_add(&t->types, reason(err.message), name);
    return;
  }
  if (status) {
    t->covered++;
    fail_model(t, name, &err);
    return;
  }
  enum outcome outcome = check_data(&m, folder, &err);
  if (outcome == OUTCOME_PASSED)
    outcome = check_round_trip(&m, &err);
  model_release(&m);
  if (outcome == OUTCOME_UNSUPPORTED) {
    t->uncovered++;
    tally_add(&t->forms, err.message, name);
    return;
  }
  t->covered++;
  if (outcome == OUTCOME_PASSED)
    t->passed++;
  else
    fail_model(t, name, &err);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}
static int is_test(const struct dirent *e) {
  return strncmp(e->d_name, "test_", 5) == 0;
}

static int walk(const char *root, struct totals *t) {
  struct dirent **entries;
  int n = scandir(root, &entries, is_test, by_name);
  for (int i = 0; i < n; i++) {
    char folder[2048], path[2112], *bytes;
    size_t len;
    struct assay_error err = {0};
    snprintf(folder, sizeof folder, "%s/%s", root, entries[i]->d_name);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (file_read(path, (size_t)1 << 30, &bytes, &len, &err) == ASSAY_OK) {
      t->models++;
      run_model(folder, entries[i]->d_name, bytes, len, t);
      base_free(bytes);
    }
    free(entries[i]);
  }
  if (n >= 0)
    free(entries);
  return t->models;
}

int main(int argc, char **argv) {
  static struct totals t;
  if (argc != 3) {
    fprintf(stderr, "usage: %s FOLDER LEAST\n", argv[0]);
    return 2;
  }
  int least = atoi(argv[2]);
  if (!walk(argv[1], &t)) {
    fprintf(stderr, "%s holds no models; install them: apt-get install libonnx-testdata\n", argv[1]);
    return 1;
  }
  tally_print(&t.operators, "Models not covered because the operator table lacks:", 0);
  tally_print(&t.types, "Models not covered because the reader refuses:", 1);
  tally_print(&t.forms, "Models not covered because an operator refuses this form of it:", 1);
  printf("Models not comparable, because their outputs are random by definition:\n      ");
  for (size_t i = 0; i < sizeof random_outputs / sizeof random_outputs[0]; i++)
    printf(" %s", random_outputs[i]);
  printf("\n");
  tally_print(&t.failures, "Failed:", 1);
  printf("%d models: covered %d, passed %d, failed %d, not covered %d, not comparable %d\n", t.models, t.covered,
         t.passed, t.failed, t.uncovered, t.incomparable);
  bool fewer = t.covered < least;
  if (fewer)
    printf("fewer than the %d models that were covered before\n", least);
  tally_release(&t.operators);
  tally_release(&t.types);
  tally_release(&t.forms);
  tally_release(&t.failures);
  return t.failed || fewer;
}
