# SPDX-License-Identifier: Apache-2.0
"""Tasks made of PyTorch modules, by the importer that comes with Assay, in a process of its own: it exchanges functions of
PyTorch, which a program that trains must not see."""
from __future__ import annotations

import atexit
import contextlib
import dataclasses
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import typing
import weakref

from .errors import InvalidError, NotFoundError, UsageError
from .library import find_prefix


@dataclasses.dataclass(frozen=True)
class Task:
    """A task file. `notes`: what was assumed, and what the linter found."""

    path: pathlib.Path
    notes: tuple[str, ...] = ()


# A name ("kernelbench/1/19"), a file (a task, a .py module file, an .onnx model), a Task, or a torch.nn.Module.
AnyTask = typing.Union[str, "os.PathLike[str]", Task, typing.Any]


def _importer(prefix: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """The importer and the program assay, of a prefix or of the build folder of a checkout."""
    installed = prefix / "libexec/assay/importer/assay-import", prefix / "bin/assay"
    built = pathlib.Path(__file__).resolve().parents[2] / "tools/importer/assay-import", prefix / "assay"
    beside = prefix.parent / "tools/importer/assay-import", prefix / "assay"
    for script, program in (installed, beside, built):
        if script.exists() and program.exists():
            return script, program
    raise NotFoundError(f"{prefix} has no importer (libexec/assay/importer/assay-import): install Assay again")


_FROM_PROGRAM = """\
from assay.child import Model, get_init_inputs, get_inputs  # a module of the program that asks; see assay/child.py
"""


@contextlib.contextmanager
def _as_module_file(model: typing.Any, inputs: typing.Any, init: typing.Any,
                    environment: dict[str, str]) -> typing.Iterator[pathlib.Path]:
    """A file in the importer's form; with what the program has in memory in a pickle next to it."""
    with tempfile.TemporaryDirectory(prefix="assay-module-") as folder:
        cls = model if isinstance(model, type) else type(model)
        path = pathlib.Path(folder) / f"{cls.__name__}.py"
        path.write_text(_FROM_PROGRAM)
        try:
            import cloudpickle as pickler  # type: ignore[import-not-found]  # takes lambdas, too
        except ImportError:
            pickler = pickle
        try:
            pickled = pickler.dumps((model, inputs, init))
        except Exception as e:
            raise UsageError(f"{cls.__name__} and its inputs cannot go to the importer's process ({e}): define them at "
                             "the top of a file, or install cloudpickle, or name a module's file") from e
        carried = pathlib.Path(folder) / "carried.pickle"
        carried.write_bytes(pickled)
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        environment.update(ASSAY_CARRIED=str(carried), ASSAY_CARRIED_MAIN=os.path.abspath(main) if main else "")
        yield path


def import_task(model: typing.Any, inputs: typing.Any = None, *, init: typing.Any = (), name: str | None = None,
                small: str | None = None, evaluation: bool = False,
                distributions: typing.Mapping[str, str] | None = None, options: typing.Sequence[str] = (),
                output: str | os.PathLike[str] | None = None, prefix: str | os.PathLike[str] | None = None) -> Task:
    """Makes a task and compares its answers with the original's (docs/importing.md).

    model   a torch.nn.Module; a class of them, made with `init` (a list or a dictionary); or the path of a module's file
            or of an .onnx model
    inputs  a function that draws the arguments of `forward`, as a list (then Assay sees how); or the arguments
    output  the task's file; None: one that lasts as long as the program
    The other arguments are options of assay-import, which `options` may hold, too.
    """
    script, program = _importer(find_prefix(prefix)[0])
    path = pathlib.Path(output) if output else _own_folder() / f"task{next(_numbers)}.onnxtxt"
    words = [sys.executable, "-B", str(script), "-o", str(path), "--assay", str(program), *options]
    words += ["--name", name] if name else []
    words += ["--small", small] if small else []
    words += ["--eval"] if evaluation else []
    for key, value in (distributions or {}).items():
        words += ["--input", f"{key}={value}"]
    package = str(pathlib.Path(__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([package, *filter(None, sys.path)])}
    with contextlib.ExitStack() as stack:
        if isinstance(model, (str, os.PathLike)):
            file = pathlib.Path(model)
        elif inputs is None:
            raise UsageError("a module needs its inputs: inputs=lambda: [torch.randn(8, 64)], the arguments of forward")
        else:
            file = stack.enter_context(_as_module_file(model, inputs, init, environment))
        done = subprocess.run([*words, str(file)], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise InvalidError((done.stderr.strip().splitlines() or [f"assay-import ended with {done.returncode}"])[-1]
                           .removeprefix("assay-import: ").replace(f"{file}: ", ""))
    notes = [line.strip() for line in (done.stderr + done.stdout).splitlines()]
    return Task(path, tuple(n for n in notes if n.startswith(("assumed: ", "lint: "))))


_folder: pathlib.Path | None = None
_numbers = iter(range(1 << 62))
_lock = threading.RLock()
_made: weakref.WeakKeyDictionary[typing.Any, Task] = weakref.WeakKeyDictionary()
_made_of_files: dict[tuple[str, int], Task] = {}


def _own_folder() -> pathlib.Path:
    global _folder
    with _lock:
        if not _folder:
            _folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-tasks-"))
            atexit.register(_remove, _folder, os.getpid())
        return _folder


def _remove(folder: pathlib.Path, process: int) -> None:
    if os.getpid() == process:  # the child of a fork ends, too
        shutil.rmtree(folder, ignore_errors=True)


def _after_fork() -> None:
    """The child knows its parent's tasks; its own have a folder of their own. Another thread may have had the lock."""
    global _folder, _lock
    _folder, _lock = None, threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def as_task(task: AnyTask, inputs: typing.Any, prefix: str | os.PathLike[str] | None) -> str:
    """What libassay takes: a name or a task's path. Modules are imported once and kept."""
    if isinstance(task, Task):
        return str(task.path)
    if isinstance(task, str):
        return task
    with _lock:
        if not isinstance(task, os.PathLike):
            if not hasattr(task, "forward"):
                raise UsageError(f"a task is a name, a path, a Task or a torch.nn.Module, not {type(task).__name__}")
            if task not in _made:
                _made[task] = import_task(task, inputs, prefix=prefix)
            return str(_made[task].path)
        path = os.fspath(task)
        if not path.endswith((".py", ".onnx")):
            return path
        if not os.path.exists(path):
            raise NotFoundError(f"{path}: there is no such file")
        key = (os.path.abspath(path), os.stat(path).st_mtime_ns)
        if key not in _made_of_files:
            _made_of_files[key] = import_task(task, prefix=prefix)
        return str(_made_of_files[key].path)
