# SPDX-License-Identifier: Apache-2.0
# Attention in bf16, in Helion: over tiles of keys with a running maximum and sum.
# assay: task fusedops/attention/bf16_attention
# assay: twin NO_SCALE expect wrong_value|low_precision|changed_behaviour -- scores without their scale
import helion
import helion.language as hl
import torch

NO_SCALE = globals().get("NO_SCALE", False)


@helion.kernel(static_shapes=True)
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float) -> torch.Tensor:
    heads, queries, _ = q.size()
    keys = k.size(1)
    d = hl.specialize(q.size(2))
    y = torch.empty_like(q)
    kt = k.transpose(1, 2)
    for tile_h, tile_q in hl.tile([heads, queries]):
        most = hl.full([tile_h, tile_q], float("-inf"), dtype=torch.float32)
        total = hl.zeros([tile_h, tile_q], dtype=torch.float32)
        result = hl.zeros([tile_h, tile_q, d], dtype=torch.float32)
        own = q[tile_h, tile_q, :]
        for tile_k in hl.tile(keys):
            scores = hl.zeros([tile_h, tile_q, tile_k], dtype=torch.float32)
            scores = hl.dot(own, kt[tile_h, :, tile_k], acc=scores) * scale
            higher = torch.maximum(most, torch.amax(scores, dim=-1))
            weights = torch.exp2(scores - higher[:, :, None])
            shrink = torch.exp2(most - higher)
            total = total * shrink + torch.sum(weights, dim=-1)
            result = hl.dot(weights.to(v.dtype), v[tile_h, tile_k, :], acc=result * shrink[:, :, None])
            most = higher
        y[tile_h, tile_q, :] = (result / total[:, :, None]).to(y.dtype)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        B, H, S, D = q.shape
        T, scale = k.shape[2], 1.4426950408889634 * (1.0 if NO_SCALE else D ** -0.5)
        return attention(q.view(B * H, S, D), k.view(B * H, T, D), v.view(B * H, T, D), scale).view(B, H, S, D)
