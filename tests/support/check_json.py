#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what a command printed with --json against docs/assay.schema.json.

check_json.py SCHEMA COMMAND FILE          COMMAND as under "commands" there: judge, "runs ACTION"
check_json.py SCHEMA --reasons HEADER      the schema's reasons are those of include/assay/verdict.h

Stricter than the schema: a key that it does not have is a fault here. (Programs that read the output should ignore such
keys: a later version may add some.) Where the package jsonschema is there, it has to agree.
"""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"type", "enum", "const", "properties", "required", "items", "minItems", "maxItems", "anyOf", "pattern", "$ref",
         "description"}


def is_type(value, name):
    if name in ("integer", "number"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def faults(value, schema, root, where):
    """What is wrong, as lines."""
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError(f"this validator does not know {unknown}")
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        return faults(value, schema, root, where)
    if "anyOf" in schema:
        tried = [faults(value, each, root, where) for each in schema["anyOf"]]
        return min(tried, key=len)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, name) for name in types):
        return [f"{where}: {value!r:.60} is not {' or '.join(types)}"]
    if "enum" in schema and not any(same(value, each) for each in schema["enum"]):
        return [f"{where}: {value!r:.60} is none of {schema['enum']}"]
    if "const" in schema and not same(value, schema["const"]):
        return [f"{where}: {value!r:.60} is not {schema['const']!r}"]
    found = []
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{where}: {value!r:.60} does not match {schema['pattern']}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items")
        for i, item in enumerate(value):
            found += faults(item, schema.get("items", {}), root, f"{where}[{i}]")
    if isinstance(value, dict) and "properties" in schema:
        found += [f"{where}: no {key}" for key in schema.get("required", []) if key not in value]
        if len(schema["properties"]) > 1:
            found += [f"{where}: {key} is not in the schema" for key in value if key not in schema["properties"]]
        for key, each in schema["properties"].items():
            if key in value:
                found += faults(value[key], each, root, f"{where}.{key}")
    return found


def second_opinion(value, schema, root):
    try:
        import jsonschema
    except ImportError:
        return
    jsonschema.Draft202012Validator({**schema, "$defs": root["$defs"]}).validate(value)


def check_reasons(root, header):
    with open(header, encoding="utf-8") as file:
        codes = re.findall(r'^  X\([A-Z_]+, "([a-z_]+)"', file.read(), re.M)
    if root["$defs"]["reason"]["enum"] != codes:
        sys.exit(f"the schema's reasons are not those of {header}")
    print("as the schema says")


def main(path, command, file):
    with open(path, encoding="utf-8") as f:
        root = json.load(f)
    if command == "--reasons":
        return check_reasons(root, file)
    with open(file, encoding="utf-8") as f:
        value = json.load(f)
    schema = root["properties"]["commands"]["properties"][command]
    found = faults(value, schema, root, command)
    if found:
        sys.exit("\n".join(found[:10]))
    second_opinion(value, schema, root)
    print("as the schema says")


if __name__ == "__main__":
    main(*sys.argv[1:4])
