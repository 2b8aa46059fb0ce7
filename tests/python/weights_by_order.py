# assay: task kernelbench/1/35
# assay: expect pass
# assay: twin SWAPPED expect wrong_value -- which weight is which was guessed wrong: it does not pass
# assay: twin THIRD expect load_failed -- three parameters of one shape for two weights: nothing to go by
"""Parameters with names of their own: their order says which weights they are."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.groups = groups
        names = ["stretch", "offset"]
        if "SWAPPED" in globals():
            names.reverse()
        if "THIRD" in globals():
            names.append("third")
        for name in names:
            self.register_parameter(name, torch.nn.Parameter(torch.empty(channels)))

    def forward(self, x):
        return torch.nn.functional.group_norm(x, self.groups, self.stretch, self.offset)


def get_init_inputs(C):
    return [C, 8]
