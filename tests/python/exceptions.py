# Exceptions that nobody catches, as an honest file may have them: Python shows them, with the line of the source, and goes
# on. And such as do not let themselves be shown.
# assay: task kernelbench/1/19
# assay: expect pass
# assay: twin MUTE expect raised -- its own text raises
# assay: twin ABOUT expect raised -- it has what a complaint of the worker's has, and something else in it
# assay: twin LEAVES expect raised -- it is none of class Exception, and its text is none
import threading

import torch

names = globals()


class Finalised:
    def __del__(self):
        raise ValueError("in a finaliser")


class Mute(Exception):
    def __str__(self):
        raise ValueError("in the text")


class About(Exception):
    about = 5


class Leaves(BaseException):
    def __str__(self):
        return None


def fails():
    raise ValueError("in a thread")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for name, kind in ("MUTE", Mute), ("ABOUT", About), ("LEAVES", Leaves):
            if name in names:
                raise kind()
        Finalised()
        thread = threading.Thread(target=fails)
        thread.start()
        thread.join()
        return torch.relu(x)
