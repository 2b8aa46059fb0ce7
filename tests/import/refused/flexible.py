# refused: flex_attention has no ONNX form: write out the scores
import torch
from torch.nn.attention.flex_attention import flex_attention


class Model(torch.nn.Module):
    def forward(self, q):
        return flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s - (i - j).abs())


def get_inputs():
    return [torch.rand(2, 2, 16, 16)]


def get_init_inputs():
    return []
