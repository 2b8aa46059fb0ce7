# SPDX-License-Identifier: Apache-2.0
"""tools/importer/assay-import as a module, so that PyTorch is loaded once for all that is imported."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "importer"


def importer():
    """run(words): what the command line does, Refused: what it raises."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(TOOLS))
    loader = importlib.machinery.SourceFileLoader("assay_import", str(TOOLS / "assay-import"))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader("assay_import", loader))
    loader.exec_module(program)
    import importing

    def run(words):
        importing.NOTES.clear()
        options = program.arguments(words)
        program.act(options, pathlib.Path(options.model))
    return types.SimpleNamespace(run=run, Refused=importing.Refused)
