# SPDX-License-Identifier: Apache-2.0
"""Names that stand in a task and in Python."""
import re

from .text import RESERVED


def plain_name(text):
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if name and not name[0].isdigit() and name not in RESERVED else "v_" + name
