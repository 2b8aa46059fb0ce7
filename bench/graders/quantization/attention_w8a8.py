# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Quantization/attention_w8a8
# assay: expect pass
# assay: twin COARSE expect low_precision|wrong_value -- four bits in place of eight
import torch


def attention_w8a8(query, query_scale, key, key_scale, value, value_scale):
    if "COARSE" in globals():
        query, key = (x.float().div(16).round().mul(16) for x in (query, key))
    sums = query.double() @ key.double().transpose(1, 2)
    scores = sums.float() * query_scale * key_scale.transpose(1, 2)
    return torch.softmax(scores, -1) @ (value * value_scale)
