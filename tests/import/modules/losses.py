"""Losses whose ONNX forms say less: smoothed and soft labels, CTC with lengths, pooling to any size before them."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, x, label, soft, frames, text, image):
        smooth = F.cross_entropy(x, label, label_smoothing=0.1)
        spread = F.cross_entropy(x, soft.softmax(-1), reduction="sum")
        spoken = F.ctc_loss(frames.log_softmax(-1), text, (6, 5), (3, 2))
        return smooth, spread, spoken, F.adaptive_max_pool2d(image, (2, 3))


def get_inputs():
    return [torch.randn(5, 7), torch.randint(0, 7, (5,)), torch.randn(5, 7), torch.randn(6, 2, 4),
            torch.randint(1, 4, (2, 3)), torch.randn(2, 3, 5, 8)]


def get_init_inputs():
    return []
