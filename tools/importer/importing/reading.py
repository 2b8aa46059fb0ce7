# SPDX-License-Identifier: Apache-2.0
"""Files of others as texts, and what is in them: what is no plain file, too large, nested too deeply or beyond what a JSON
file can hold is refused, with the place. Nothing here runs what it reads."""
import ast
import json
import math
import pathlib
import re

from . import Refused

LARGEST_FILE = 64 << 20
LARGEST_YAML = 1 << 20
MOST_PLACES = 1 << 17  # of a YAML file, its aliases written out
DEEPEST = 64
SMALLEST_WHOLE, LARGEST_WHOLE = -(1 << 63), (1 << 64) - 1


def text_of(path, most=LARGEST_FILE):
    path = pathlib.Path(path)
    try:
        if path.exists() and not path.is_file():
            raise Refused(f"{path} cannot be read: it is " + ("a folder" if path.is_dir() else "no plain file"))
        if path.stat().st_size > most:
            raise Refused(f"{path} has more than {most >> 20} MiB")
        return path.read_text(encoding="utf-8")
    except OSError as e:
        raise Refused(f"{path} cannot be read: {e.strerror}") from e
    except ValueError as e:
        raise Refused(f"{path} cannot be read: {e}") from e


def is_file(path):
    """Whether there is one; a name that no file can have has none."""
    try:
        return pathlib.Path(path).is_file()
    except OSError:
        return False


def syntax(text, where):
    """The tree of Python text."""
    try:
        return ast.parse(text)
    except (RecursionError, MemoryError) as e:
        raise Refused(f"{where} is nested too deeply for Python") from e
    except (SyntaxError, ValueError) as e:
        raise Refused(f"{where} is not Python: {e}") from e


def is_python(text, name):
    """Whether it compiles; a refusal says why not."""
    try:
        compile(text, str(name), "exec")
    except (RecursionError, MemoryError) as e:
        raise Refused(f"{name} is nested too deeply for Python") from e
    except (SyntaxError, ValueError) as e:
        raise Refused(f"{name} is not Python: {e}") from e


def plain(value, where, depth=0):
    """The value, if it is what JSON has: texts, finite numbers, lists, and objects by texts."""
    if depth > DEEPEST:
        raise Refused(f"{where}: it is nested more than {DEEPEST} levels deep")
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise Refused(f"{where}: the key {str(key)[:40]} is no text")
            plain(key, where, depth)
            plain(inner, f"{where}: {key[:40]}" if depth < 3 else where, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            plain(inner, where, depth + 1)
    elif isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        raise Refused(f"{where}: a text has half a character (surrogates not allowed)")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Refused(f"{where}: {value} is no number that can be passed on")
    elif isinstance(value, int) and not SMALLEST_WHOLE <= value <= LARGEST_WHOLE:
        raise Refused(f"{where}: a whole number has more than 64 bits")
    return value


def json_of(text, where):
    try:
        return plain(json.loads(text), where)
    except (ValueError, RecursionError) as e:
        raise Refused(f"{where} is not JSON: {e}") from e


def json_file(path):
    return json_of(text_of(path), path)


def json_lines(path):
    """[(line number, object)] of a file with an object a line."""
    lines = enumerate(text_of(path).split("\n"), 1)
    return [(number, json_of(line, f"{path}:{number}")) for number, line in lines if line.strip()]


def yaml_file(path):
    try:
        import yaml
    except ImportError as e:
        raise Refused("task.yml is read with PyYAML: `pip install pyyaml` for the Python that runs this") from e
    text = text_of(path, LARGEST_YAML)
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        places = count_places(node, path)
        if places > MOST_PLACES:
            raise Refused(f"{path}: with its aliases written out it has more than {MOST_PLACES} values")
        return plain(loader.construct_document(node), path)
    except (ValueError, yaml.YAMLError, RecursionError) as e:
        raise Refused(f"{path} cannot be read: {' '.join(str(e).split())}") from e


def count_places(node, path, depth=0, count=0):
    """How many values a YAML node has when every alias is written out; counting ends soon beyond the most."""
    if depth > DEEPEST:
        raise Refused(f"{path}: it is nested more than {DEEPEST} levels deep, or without end")
    inner = node.value if isinstance(node.value, list) else []
    for part in inner:
        for each in part if isinstance(part, tuple) else (part,):
            if count > MOST_PLACES:
                return count
            count = count_places(each, path, depth + 1, count)
    return count + 1
