"""Commands in messages, so that they can be pasted as they are printed.

Messages are made where the command line is not known, and write `minercdc lake rebuild CONFIG --table SHOP.ORDERS`. What is printed has the file of
this command line for CONFIG, in a shell's quotes where it needs them, and for `minercdc` how this process was started, where that name is not on the
PATH.
"""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import sys
from pathlib import Path

_COMMAND = re.compile(r"(?<![\w./'-])minercdc(?P<words>(?: [a-z][a-z-]*)+) CONFIG\b")
_given: list[Path] = []  # of this command line


def name_config(file: Path | None) -> Path | None:
    """Remember the configuration's file for `pasteable`; returns it. For the callbacks of arguments."""
    _given[:] = [] if file is None else [file]
    return file


def pasteable(text: str) -> str:
    """The text with its commands as they can be pasted; as it is where the command line named no configuration."""
    if not _given or "CONFIG" not in text:
        return text
    file = shlex.quote(str(_given[0]))
    return _COMMAND.sub(lambda found: f"{program()}{found['words']} {file}", text)


def program() -> str:
    """What starts this command in a shell."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m minercdc"
    if called.name != "minercdc" or shutil.which("minercdc"):
        return "minercdc"
    return shlex.quote(str(called))


class PasteableMessages(logging.Filter):
    """For a handler of the log: its messages are as `pasteable` has them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true."""
        text = record.getMessage()
        if (wanted := pasteable(text)) != text:
            record.msg, record.args = wanted, ()
        return True
