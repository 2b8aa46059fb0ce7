// SPDX-License-Identifier: Apache-2.0
// Inputs made on a device, bit for bit those of task_make_inputs.
#ifndef TASK_DEVICE_DRAW_H
#define TASK_DEVICE_DRAW_H

#include "compute/compute.h"
#include "task/task.h"

// As distribution_draw: fills dst, shape_count elements of dtype in the device's memory.
enum assay_status device_draw(struct compute *c, const struct draw_request *r, device_ptr dst, struct assay_error *err);

// As task_make_inputs: buffers[i] has room for input i.
enum assay_status task_make_inputs_on_device(const struct task *t, const struct workload *w, enum probe probe,
                                             uint64_t key, struct compute *c, const device_ptr *buffers,
                                             struct assay_error *err);

// Its program, for compute_prepare.
extern const struct device_code device_draw_code;

#endif
