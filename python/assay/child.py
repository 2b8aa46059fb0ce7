# SPDX-License-Identifier: Apache-2.0
"""In the importer's process: a module that a program had in memory, in the form of a module's file."""
import copy
import os
import pickle
import runpy
import sys
import types


def _carried():
    main = os.environ["ASSAY_CARRIED_MAIN"]
    if main:  # as multiprocessing has it: the program's own file, of which only definitions are wanted
        module = types.ModuleType("__mp_main__")
        before = sys.modules["__main__"]
        module.__dict__.update(runpy.run_path(main, run_name="__mp_main__"))
        sys.modules["__main__"] = sys.modules["__mp_main__"] = module
        try:
            with open(os.environ["ASSAY_CARRIED"], "rb") as file:
                return pickle.load(file)
        finally:
            sys.modules["__main__"] = before
    with open(os.environ["ASSAY_CARRIED"], "rb") as file:
        return pickle.load(file)


_model, _inputs, _init = _carried()


def Model(*arguments, **named):
    return _model(*arguments, **named) if isinstance(_model, type) else copy.deepcopy(_model)


def get_inputs():
    return _inputs() if callable(_inputs) else _inputs


def get_init_inputs():
    return _init if isinstance(_model, type) else ()
