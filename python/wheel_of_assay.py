# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of the package `assay`: PEP 517 in a page, so that `pip install ./python` downloads nothing."""
import base64
import hashlib
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same wheel from the same files


def settings():
    """What pyproject.toml says; a TOML parser is in Python only from 3.11 on."""
    text = (HERE / "pyproject.toml").read_text()
    found = dict(re.findall(r'^(name|description|requires-python) = "(.*)"$', text, re.MULTILINE))
    found["version"] = re.search(r'^__version__ = "(.*)"$', (HERE / "assay/__init__.py").read_text(), re.MULTILINE)[1]
    found["extras"] = {extra: re.findall(r'"([^"]+)"', packages)
                       for extra, packages in re.findall(r"^(\w+) = \[(.*)\]$", text, re.MULTILINE) if extra == "torch"}
    return found


def metadata():
    s = settings()
    lines = ["Metadata-Version: 2.1", f"Name: {s['name']}", f"Version: {s['version']}", f"Summary: {s['description']}",
             "License: Apache-2.0", f"Requires-Python: {s['requires-python']}"]
    for extra, packages in s["extras"].items():
        lines += [f"Provides-Extra: {extra}"] + [f"Requires-Dist: {p} ; extra == '{extra}'" for p in packages]
    return "\n".join(lines) + "\n"


def info_folder():
    s = settings()
    return f"{s['name']}-{s['version']}.dist-info"


def information():
    return {"METADATA": metadata(),
            "WHEEL": "Wheel-Version: 1.0\nGenerator: wheel_of_assay\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}


def write_wheel(folder, files):
    """files: names in the wheel and what is in them."""
    s = settings()
    name = f"{s['name']}-{s['version']}-py3-none-any.whl"
    record = ""
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{file},sha256={digest},{len(content)}\n"
            wheel.writestr(zipfile.ZipInfo(file, EPOCH), content)
        record += f"{info_folder()}/RECORD,,\n"
        wheel.writestr(zipfile.ZipInfo(f"{info_folder()}/RECORD", EPOCH), record)
    return name


def with_information(files):
    return {**files, **{f"{info_folder()}/{n}": t.encode() for n, t in information().items()}}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = sorted(p for p in (HERE / "assay").iterdir() if p.suffix == ".py" or p.name == "py.typed")
    return write_wheel(wheel_directory, with_information({f"assay/{p.name}": p.read_bytes() for p in package}))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, with_information({"assay.pth": f"{HERE}\n".encode()}))


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("there is no source archive of the package alone: it is a part of Assay's repository")


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory) / info_folder()
    folder.mkdir()
    for name, text in information().items():
        (folder / name).write_text(text)
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
