# assay: task kernelbench/3/37
# assay: expect pass -- first states as attributes, as the suite's modules once had them
# assay: twin BUFFER expect pass -- as buffers
# assay: twin OVERWRITES expect wrong_value -- takes the first state for the cell's, as the suite's module did
# assay: twin IGNORES expect wrong_value -- zeros in their place
# assay: twin FIRST expect wrong_value -- those of its __init__
"""A module that makes its first states itself is given the task's, where they have its names."""
import torch

batch_size = 10


class ModelNew(torch.nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, output_size, dropout=0.0):
        super().__init__()
        states = [torch.randn((num_layers, batch_size, hidden_size)) for _ in range(2)]
        if "BUFFER" in globals():
            self.register_buffer("h0", states[0])
            self.register_buffer("c0", states[1])
        else:
            self.h0, self.c0 = states
        self.first = states
        self.lstm = torch.nn.LSTM(input_size, hidden_size, num_layers, batch_first=True, dropout=dropout)
        self.fc = torch.nn.Linear(hidden_size, output_size)

    def forward(self, x):
        self.h0 = self.h0.to(x.device)
        self.c0 = (self.h0 if "OVERWRITES" in globals() else self.c0).to(x.device)
        states = self.h0, self.c0
        if "IGNORES" in globals():
            states = tuple(map(torch.zeros_like, states))
        elif "FIRST" in globals():
            states = tuple(state[:, :1].expand(-1, x.shape[0], -1).to(x.device).contiguous() for state in self.first)
        out, (_, cell) = self.lstm(x, states)
        self.fc(out[:, -1, :])
        return cell
