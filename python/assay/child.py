# SPDX-License-Identifier: Apache-2.0
"""In the importer's process: a module that a program had in memory, in the form of a module's file."""
from __future__ import annotations

import copy
import os
import pickle
import runpy
import sys
import types
import typing


def _carried() -> tuple[typing.Any, typing.Any, typing.Any]:
    main = os.environ["ASSAY_CARRIED_MAIN"]
    if main:  # as multiprocessing has it: the program's own file, of which only definitions are wanted
        module = types.ModuleType("__mp_main__")
        before = sys.modules["__main__"]
        module.__dict__.update(runpy.run_path(main, run_name="__mp_main__"))
        sys.modules["__main__"] = sys.modules["__mp_main__"] = module
        try:
            with open(os.environ["ASSAY_CARRIED"], "rb") as file:
                return typing.cast("tuple[typing.Any, typing.Any, typing.Any]", pickle.load(file))
        finally:
            sys.modules["__main__"] = before
    with open(os.environ["ASSAY_CARRIED"], "rb") as file:
        return typing.cast("tuple[typing.Any, typing.Any, typing.Any]", pickle.load(file))


_model, _inputs, _init = _carried()


def Model(*arguments: typing.Any, **named: typing.Any) -> typing.Any:
    return _model(*arguments, **named) if isinstance(_model, type) else copy.deepcopy(_model)


def get_inputs() -> typing.Any:
    return _inputs() if callable(_inputs) else _inputs


def get_init_inputs() -> typing.Any:
    return _init if isinstance(_model, type) else ()
