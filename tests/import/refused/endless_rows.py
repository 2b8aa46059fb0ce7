# refused: line 12\) chooses rows by rows that were chosen before, 256 times over.*has no end
import torch


class Model(torch.nn.Module):
    def forward(self, boxes, scores):
        order, kept = scores.argsort(descending=True), []
        while order.numel() > 0:
            first = order[0]
            kept.append(first)
            far = (boxes[order] - boxes[first]).abs().sum(-1) > 0.5
            order = order[far]
        return torch.stack(kept)


def get_inputs():
    return [torch.rand(6, 4), torch.rand(6)]


def get_init_inputs():
    return []
