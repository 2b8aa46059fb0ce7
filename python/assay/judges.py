# SPDX-License-Identifier: Apache-2.0
"""Judges: threads with a session each, so that a program may ask from anywhere, wait, or go on."""
from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import ctypes
import numbers
import os
import pathlib
import queue
import tempfile
import threading
import typing

from .errors import EnvironmentFault, Error, JudgeFailed, UsageError
from .library import Request, Session, encoded
from .tasks import AnyTask, as_task
from .verdict import Reason, Verdict

Source = typing.Union[str, "os.PathLike[str]"]
ENDINGS = {"c": ".c", "cuda": ".cu", "opencl": ".cl", "python": ".py"}
_Work = typing.Callable[[Session], Verdict]


class Asked(typing.TypedDict, total=False):
    """What `judge` takes by name, for type checkers: `Judge.submit` has the defaults, docs/python.md the meanings."""

    language: str | None
    inputs: typing.Any
    workload: str | None
    device: str | None
    defines: typing.Sequence[str]
    seed: int
    secret: int
    threads: int
    timing: bool
    probes: bool
    budget_s: float


def _bytes(source: str) -> bytes:
    """Whatever a model wrote is a kernel, so that its author is told what the compiler says."""
    try:
        return source.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character
        return source.encode("utf-8", "surrogatepass")


@contextlib.contextmanager
def _as_file(source: Source, language: str | None) -> typing.Iterator[pathlib.Path]:
    """A path is a file, a text is a kernel."""
    if not isinstance(source, str):
        yield pathlib.Path(source)
        return
    if "\n" not in source and (language is None or source.endswith(ENDINGS.get(language, "."))) and os.path.exists(source):
        raise UsageError(f"a source that is a text is the kernel itself; for a file write pathlib.Path({source!r})")
    if language not in ENDINGS:
        raise UsageError("say what the source is written in: language= one of " + ", ".join(map(repr, ENDINGS)))
    with tempfile.TemporaryDirectory(prefix="assay-source-") as folder:
        path = pathlib.Path(folder) / ("kernel" + ENDINGS[language])
        path.write_bytes(_bytes(source))
        yield path


def _number(name: str, value: typing.Any, most: int, kind: type = numbers.Integral) -> typing.Any:  # int or float
    """A number that C takes as it is; others would be wrapped around, or judge something else in silence."""
    number: typing.Any = value if isinstance(value, kind) and not isinstance(value, bool) else -1
    if not 0 <= number <= most:
        whole = "whole " if kind is numbers.Integral else ""
        raise UsageError(f"{name}= is a {whole}number from 0 to {most}, not {value!r}")
    return int(number) if kind is numbers.Integral else float(number)


def _macros(defines: typing.Any) -> tuple[str, ...]:
    if isinstance(defines, (str, bytes)) or not all(isinstance(d, str) for d in defines):
        raise UsageError(f"defines= is a list of macros, such as ['TILE=64'], not {defines!r}")
    return tuple(defines)


def _text(name: str, value: typing.Any) -> bytes | None:
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name}= is a text, not {value!r}")
    return encoded(value, name)


def _judge(session: Session, task: str, source: Source, language: str | None, asked: dict[str, typing.Any]) -> Verdict:
    defines = asked.pop("defines")
    macros = (ctypes.c_char_p * (len(defines) + 1))(*[encoded(d, "defines") for d in defines], None)
    with _as_file(source, language) as file:
        request = Request(task=encoded(task, "task"), candidate=encoded(file, "source"),
                          defines=ctypes.cast(macros, ctypes.POINTER(ctypes.c_char_p)), **asked)
        verdict = Verdict.of(session.judge(request))
    if verdict.reason is Reason.JUDGE_FAILED:
        raise JudgeFailed(verdict)
    return verdict


class Judge:
    """`workers` judge at once, each a thread with a session of its own. Times want one worker and a quiet machine.

    prefix, tasks, temporary, cache, path, python, nvrtc, store: `struct assay_settings` in assay/assay.h. The defaults of
    `path` and `python` are $PATH and this interpreter.
    """

    def __init__(self, workers: int = 1, *, prefix: str | os.PathLike[str] | None = None,
                 **places: str | os.PathLike[str] | None) -> None:
        unknown = sorted(set(places) - {"tasks", "temporary", "cache", "path", "python", "nvrtc", "store"})
        if unknown:
            raise UsageError(f"a judge has no {unknown[0]}")
        if not isinstance(workers, int) or workers < 1:
            raise UsageError(f"a judge has at least one worker: a whole number, not {workers!r}")
        if "ASSAY_CARRIED" not in os.environ:
            Session(prefix, **places).close()  # a prefix or a store that is not there is said now
        self._prefix = prefix
        self._places = places
        self._workers = workers
        self._jobs: queue.SimpleQueue[tuple[concurrent.futures.Future[Verdict], _Work] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._closed = False
        self._process = os.getpid()

    # -- asking

    def submit(self, task: AnyTask, source: Source, *, language: str | None = None, inputs: typing.Any = None,
               workload: str | None = None, device: str | None = None, defines: typing.Sequence[str] = (),
               seed: int = 0, secret: int = 0, threads: int = 0, timing: bool = True, probes: bool = True,
               budget_s: float = 0) -> concurrent.futures.Future[Verdict]:
        """A judgement to come; `result()` waits for its verdict, or raises what `judge` raises."""
        if os.getpid() != self._process:  # whose threads are all that work
            raise UsageError("this judge is of the process that made it: after a fork, make one of your own")
        if not isinstance(source, (str, os.PathLike)):
            raise UsageError(f"a source is the text of a kernel or the path of a file, not {type(source).__name__}")
        asked = {"workload": _text("workload", workload), "device": _text("device", device),
                 "defines": _macros(defines), "seed": _number("seed", seed, 2**63 - 1),
                 "secret": _number("secret", secret, 2**63 - 1), "threads": _number("threads", threads, 256),
                 "no_timing": not timing, "no_probes": not probes,
                 "budget_ns": int(_number("budget_s", budget_s, 10**9, numbers.Real) * 1e9)}
        future: concurrent.futures.Future[Verdict] = concurrent.futures.Future()
        if "ASSAY_CARRIED" in os.environ:
            raise UsageError('the importer reads this file, too: put what it does under if __name__ == "__main__"')
        with self._lock:
            if self._closed:
                raise UsageError("this judge is closed")
            if len(self._threads) < self._workers:
                self._start()
            self._jobs.put((future, lambda session: _judge(session, as_task(task, inputs, self._prefix),
                                                                      source, language, asked)))
        return future

    def _start(self) -> None:
        """One more worker; where there is one already, it may fail."""
        thread = threading.Thread(target=self._work, name="assay-judge", daemon=True)
        try:
            thread.start()
        except RuntimeError as e:  # too many of them, or an isolated subinterpreter
            if not self._threads:
                raise EnvironmentFault(f"a judge works in a thread of its own, and Python starts none: {e}") from e
            return
        self._threads.append(thread)

    def judge(self, task: AnyTask, source: Source, **asked: typing.Unpack[Asked]) -> Verdict:
        """The verdict on one kernel: a text (with `language`) or a path."""
        future = self.submit(task, source, **asked)
        try:
            return future.result()
        finally:
            future.cancel()  # after Ctrl-C nobody waits for it

    @typing.overload
    def judge_many(self, task: AnyTask, sources: typing.Iterable[Source], *,
                   return_errors: typing.Literal[False] = False, **asked: typing.Unpack[Asked]) -> list[Verdict]: ...

    @typing.overload
    def judge_many(self, task: AnyTask, sources: typing.Iterable[Source], *, return_errors: bool,
                   **asked: typing.Unpack[Asked]) -> list[Verdict | Error]: ...

    def judge_many(self, task: AnyTask, sources: typing.Iterable[Source], *, return_errors: bool = False,
                   **asked: typing.Unpack[Asked]) -> typing.Any:
        """Verdicts in the order of the sources. An error is raised, or stands in the list (`return_errors`)."""
        if isinstance(sources, (str, bytes, os.PathLike)):
            raise UsageError("sources= is a list of kernels, each a text or a path, not one kernel")
        futures: list[concurrent.futures.Future[Verdict]] = []
        try:
            for source in sources:
                futures.append(self._submit_or_keep(return_errors, task, source, **asked))
            done: list[typing.Any] = []
            for future in futures:
                try:
                    done.append(future.result())
                except Error as e:
                    if not return_errors:
                        raise
                    done.append(e)
            return done
        finally:
            for future in futures:
                future.cancel()

    def _submit_or_keep(self, keep_errors: bool, task: AnyTask, source: Source,
                        **asked: typing.Unpack[Asked]) -> concurrent.futures.Future[Verdict]:
        """As `submit`; with `keep_errors`, what it would raise is what the future raises."""
        try:
            return self.submit(task, source, **asked)
        except Error as e:
            if not keep_errors:
                raise
            refused: concurrent.futures.Future[Verdict] = concurrent.futures.Future()
            refused.set_exception(e)
            return refused

    async def judge_async(self, task: AnyTask, source: Source, **asked: typing.Unpack[Asked]) -> Verdict:
        """As `judge`, while other coroutines run."""
        return await asyncio.wrap_future(self.submit(task, source, **asked))

    # -- the end

    def close(self, wait: bool = True) -> None:
        """What has not begun is cancelled; what has is finished. In the child of a fork: nothing, it has no workers."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._closed = True
            while not self._jobs.empty():
                job = self._jobs.get()
                if job:
                    job[0].cancel()
            for _ in self._threads:
                self._jobs.put(None)
        for thread in self._threads:
            thread.join(None if wait else 5)

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- a worker

    def _work(self) -> None:
        session: Session | None = None
        while True:
            job = self._jobs.get()
            if job is None:
                break
            future, work = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                session = session or Session(self._prefix, **self._places)
                future.set_result(work(session))
            except BaseException as e:  # whoever waits gets it
                future.set_exception(e)
            del future, work, job
        if session:
            session.close()


_default_lock = threading.Lock()
_default: Judge | None = None


def _after_fork() -> None:
    """The child of a fork has no threads but one, and locks as they were: its default judge is another."""
    global _default, _default_lock
    _default, _default_lock = None, threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _default_judge() -> Judge:
    global _default
    with _default_lock:
        if _default is None:
            _default = Judge()
            atexit.register(_close_at_exit, _default)
        return _default


def _close_at_exit(default: Judge) -> None:
    if default._process == os.getpid():
        default.close(wait=False)


def judge(task: AnyTask, source: Source, **asked: typing.Unpack[Asked]) -> Verdict:
    """The verdict on one kernel, by a judge that lasts as long as the program. `Judge.submit` has the arguments."""
    return _default_judge().judge(task, source, **asked)


@typing.overload
def judge_many(task: AnyTask, sources: typing.Iterable[Source], *, return_errors: typing.Literal[False] = False,
               **asked: typing.Unpack[Asked]) -> list[Verdict]: ...


@typing.overload
def judge_many(task: AnyTask, sources: typing.Iterable[Source], *, return_errors: bool,
               **asked: typing.Unpack[Asked]) -> list[Verdict | Error]: ...


def judge_many(task: AnyTask, sources: typing.Iterable[Source], *, return_errors: bool = False,
               **asked: typing.Unpack[Asked]) -> typing.Any:
    """`Judge.judge_many`, by the judge that lasts as long as the program."""
    return _default_judge().judge_many(task, sources, return_errors=return_errors, **asked)


async def judge_async(task: AnyTask, source: Source, **asked: typing.Unpack[Asked]) -> Verdict:
    return await _default_judge().judge_async(task, source, **asked)
