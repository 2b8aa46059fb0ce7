# assay: task kernelbench/2/18
# assay: expect pass -- sums of the weights, made in __init__
# assay: twin FIRST_CALL expect pass -- made in the first call
# assay: twin GLOBAL expect pass -- the first call's, in the file
# assay: twin STAYS expect pass -- the same, and nobody clears it
# assay: twin CLASS expect pass -- the first call's, in the class
# assay: twin NUMBERS expect pass -- numbers that the first call reads: the module is made anew for every call
# assay: twin LATE_BORN expect pass -- of a tensor that becomes the parameter later
# assay: twin BUFFER expect pass -- in the first call, in buffers that are registered as None
# assay: twin NUMPY on cpu expect pass -- by NumPy in the first call: the module is made anew for every call
# assay: twin NUMPY on cuda expect raised -- NumPy has no tensors of a GPU
# assay: twin HIDDEN on cpu expect wrong_value -- by NumPy in __init__, where nobody sees it
# assay: twin HIDDEN on cuda expect raised
# assay: twin ANSWER on cpu expect wrong_value|changed_behaviour -- the first call's answer
# assay: twin ANSWER on cuda expect pass -- its plan computes the answer in each call: nothing is kept
# assay: twin WRONG expect wrong_value|low_precision -- the sums of all rows but one
"""What is made of weights ahead of the calls is made again for each call's weights. The task sums a linear layer's
outputs, so a row of sums will do."""
import torch

kept = {}


def sums(weight, bias):
    rows = weight.detach()
    if "WRONG" in globals():
        rows = rows[1:]
    return rows.double().sum(0), bias.detach().double().sum()


class ModelNew(torch.nn.Module):
    mine = {}

    def __init__(self, in_features, out_features):
        super().__init__()
        self.matmul = torch.nn.Linear(in_features, out_features)
        self.sums = None
        if "LATE_BORN" in globals():
            weight = torch.rand(out_features, in_features)
            self.sums = sums(weight, self.matmul.bias)
            self.matmul.weight = torch.nn.Parameter(weight)
        elif "HIDDEN" in globals():
            made = sums(self.matmul.weight, self.matmul.bias)
            self.sums = [torch.from_numpy(part.numpy().copy()) for part in made]
        elif "BUFFER" in globals():
            self.register_buffer("rows", None)
            self.register_buffer("bias", None)
        elif not any(name in globals() for name in ("FIRST_CALL", "GLOBAL", "STAYS", "CLASS", "NUMPY", "NUMBERS", "ANSWER")):
            self.sums = sums(self.matmul.weight, self.matmul.bias)
        if "GLOBAL" in globals():
            kept.clear()

    def forward(self, x):
        shared = self.mine if "CLASS" in globals() else kept if "GLOBAL" in globals() or "STAYS" in globals() else None
        if shared is not None and "sums" not in shared:
            shared["sums"] = sums(self.matmul.weight, self.matmul.bias)
        if "NUMBERS" in globals():
            if self.sums is None:
                self.sums = [part.tolist() for part in sums(self.matmul.weight, self.matmul.bias)]
            return (x.double() @ torch.tensor(self.sums[0], device=x.device).double() + self.sums[1]).float()[:, None]
        if "NUMPY" in globals() and self.sums is None:
            weight, bias = self.matmul.weight.detach().numpy(), self.matmul.bias.detach().numpy()
            self.sums = [torch.from_numpy(weight.astype("f8").sum(0)), torch.tensor(float(bias.astype("f8").sum()))]
        if "BUFFER" in globals():
            if self.rows is None:
                self.rows, self.bias = sums(self.matmul.weight, self.matmul.bias)
            return (x.double() @ self.rows + self.bias).float()[:, None]
        if self.sums is None and shared is None:
            self.sums = sums(self.matmul.weight, self.matmul.bias)
        rows, bias = self.sums if shared is None else shared["sums"]
        answer = (x.double() @ rows + bias).float()[:, None]
        if "ANSWER" in globals():
            if not hasattr(self, "answer") or self.answer.shape != answer.shape:
                self.answer = answer
            return self.answer + 0
        return answer
