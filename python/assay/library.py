# SPDX-License-Identifier: Apache-2.0
"""libassay by ctypes: where it is, its structs (assay/assay.h), and sessions."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil
import sys
import typing

from .errors import Error, NotFoundError, UsageError, of_status


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 1024)]


class Settings(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_char_p) for name in (
        "prefix", "tasks", "temporary", "cache", "path", "python", "nvrtc", "store")]


class Request(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("task", ctypes.c_char_p), ("candidate", ctypes.c_char_p),
                ("workload", ctypes.c_char_p), ("device", ctypes.c_char_p),
                ("defines", ctypes.POINTER(ctypes.c_char_p)), ("seed", ctypes.c_uint64), ("secret", ctypes.c_uint64),
                ("threads", ctypes.c_int), ("no_timing", ctypes.c_int), ("no_probes", ctypes.c_int),
                ("budget_ns", ctypes.c_int64)]


# --- where Assay is

def _library_of(prefix: pathlib.Path) -> pathlib.Path | None:
    """The library of a prefix or a build folder."""
    for pattern in ("libassay.so.0", "lib/libassay.so.0", "lib64/libassay.so.0", "lib/*/libassay.so.0"):
        for found in sorted(prefix.glob(pattern)):
            return found
    return None


def _usual_prefixes() -> typing.Iterator[pathlib.Path]:
    checkout = pathlib.Path(__file__).resolve().parents[2]
    if (checkout / "include" / "assay" / "assay.h").exists():
        yield checkout / "build"
    program = shutil.which("assay")
    if program:
        folder = pathlib.Path(program).resolve().parent
        yield from (folder, folder.parent)
    yield from (pathlib.Path("/usr/local"), pathlib.Path("/usr"))


def find_prefix(given: str | os.PathLike[str] | None = None) -> tuple[pathlib.Path, pathlib.Path]:
    """The prefix (or build folder) and its library: the given one, $ASSAY_PREFIX, or where it usually is."""
    named = given or os.environ.get("ASSAY_PREFIX")
    if named:
        library = _library_of(pathlib.Path(named))
        if not library:
            raise NotFoundError(f"libassay.so.0 is not under {named}: `make install PREFIX={named}` puts it there")
        return pathlib.Path(named), library
    for prefix in _usual_prefixes():
        library = _library_of(prefix)
        if library:
            return prefix, library
    raise NotFoundError("Assay is not installed where this package looks (next to the program assay on the PATH, "
                        "/usr/local, /usr): install it (make install), or name its prefix (ASSAY_PREFIX, or "
                        "assay.Judge(prefix=...))")


_SESSION = ctypes.c_void_p
_ERROR = ctypes.POINTER(_Error)
_FUNCTIONS = {
    "assay_version": (ctypes.c_char_p, []),
    "assay_session_open": (ctypes.c_int, [ctypes.POINTER(Settings), ctypes.POINTER(_SESSION), _ERROR]),
    "assay_session_close": (None, [_SESSION]),
    "assay_session_judge": (ctypes.c_int,
                            [_SESSION, ctypes.POINTER(Request), ctypes.POINTER(ctypes.c_void_p), _ERROR]),
    "assay_judged_json": (ctypes.c_char_p, [ctypes.c_void_p]),
    "assay_judged_free": (None, [ctypes.c_void_p]),
}


@functools.lru_cache(maxsize=None)
def load(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise NotFoundError(f"{path} cannot be loaded: {e}") from e
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise Error(f"{path} has no {name}: it is no libassay that this package knows") from None
        function.restype, function.argtypes = result, arguments
    return library


def version(prefix: str | os.PathLike[str] | None = None) -> str:
    """The library's, "0.1.0"."""
    return typing.cast(bytes, load(str(find_prefix(prefix)[1])).assay_version()).decode()


def encoded(text: str | os.PathLike[str] | None, what: str) -> bytes | None:
    if text is None:
        return None
    words = os.fsencode(text)
    if b"\0" in words:
        raise UsageError(f"{what}: a zero byte is in it")
    return words


class Session:
    """assay_session: for one thread, always the same; close it there."""

    def __init__(self, prefix: str | os.PathLike[str] | None = None, **places: str | os.PathLike[str] | None) -> None:
        found, library = find_prefix(prefix)
        self._library = load(str(library))
        places.setdefault("path", os.environ.get("PATH"))
        places.setdefault("python", sys.executable)
        places.setdefault("temporary", os.environ.get("TMPDIR"))
        if places["temporary"]:  # children run in folders of their own
            places["temporary"] = os.path.abspath(places["temporary"])
        settings = Settings(size=ctypes.sizeof(Settings), prefix=os.fsencode(found),
                            **{name: encoded(value, name) for name, value in places.items()})
        self._session = _SESSION()
        self._call("assay_session_open", ctypes.byref(settings), ctypes.byref(self._session))

    def _call(self, name: str, *arguments: typing.Any) -> None:
        error = _Error()
        status = getattr(self._library, name)(*arguments, ctypes.byref(error))
        if status:
            raise of_status(status, error.message.decode(errors="replace"))

    def judge(self, request: Request) -> str:
        """The verdict as JSON. Other threads of Python run meanwhile."""
        judged = ctypes.c_void_p()
        request.size = ctypes.sizeof(Request)
        self._call("assay_session_judge", self._session, ctypes.byref(request), ctypes.byref(judged))
        try:
            return typing.cast(bytes, self._library.assay_judged_json(judged)).decode(errors="replace")
        finally:
            self._library.assay_judged_free(judged)

    def close(self) -> None:
        session, self._session = self._session, _SESSION()
        if session:
            self._library.assay_session_close(session)
