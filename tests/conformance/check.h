// SPDX-License-Identifier: Apache-2.0
// One model of ONNX's backend tests against the oracle.
#ifndef CONFORMANCE_CHECK_H
#define CONFORMANCE_CHECK_H

#include "onnx/onnx.h"

enum outcome {
  OUTCOME_PASSED,
  OUTCOME_FAILED,
  OUTCOME_UNSUPPORTED, // an operator of the table that says it cannot do what this model asks
};

// Evaluates the model on every test_data_set_* of the folder and compares. *err says why not.
enum outcome check_data(const struct model *m, const char *folder, struct assay_error *err);

// Writing the model in both formats and reading it again gives the same model.
enum outcome check_round_trip(const struct model *m, struct assay_error *err);

#endif
