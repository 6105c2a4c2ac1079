"""Whether records are decoded by compiled code (`read.native_columns`), and what leads back to SQL."""

from __future__ import annotations

import logging
from importlib.util import find_spec

from minercdc.lake.merge.latest import FEW_ROWS
from minercdc.lake.read.native_columns import RecordLeft
from minercdc.lake.spark.arrow import takes_arrow
from minercdc.native.decoding import decode

log = logging.getLogger(__name__)

_OF_PYTHON = ("org.apache.spark.api.python", "PythonException", "Python worker")  # no other query of a merge runs Python
_MANY_TABLES = 1_000  # that are remembered


class CompiledReads:
    """Decides for each merge, and remembers what failed: workers that cannot run the code end its use, a record that it leaves to SQL ends
    it for that table. Safe to use from several threads."""

    def __init__(self) -> None:
        self._runs = decode is not None and find_spec("pyarrow") is not None
        self._left: set[str] = set()
        if not self._runs:
            log.debug("records are decoded in SQL only: the native extension or PyArrow is missing")

    def takes(self, table: str, rows: int) -> bool:
        """Whether so many records of a table are to be decoded by compiled code: few are decoded sooner in SQL."""
        return self._runs and rows >= FEW_ROWS and table not in self._left

    def takes_scanned(self, table: str) -> bool:
        """Whether records that this process has are to be decoded in it, be they many or few."""
        return decode is not None and takes_arrow() and table not in self._left

    def leave(self, table: str) -> None:
        """Note that a table's records are left to SQL."""
        if len(self._left) < _MANY_TABLES:
            self._left.add(table)
        log.info("%s: a record is not as the compiled decoder knows it; its merges are decoded in SQL from now on", table)

    def goes_on(self, error: BaseException, table: str) -> bool:
        """Whether SQL can do what failed by this error, since a worker of Python failed."""
        text = str(error)
        if not any(sign in text for sign in _OF_PYTHON):
            return False
        if RecordLeft.__name__ in text:
            self.leave(table)
        else:
            self._runs = False
            log.warning(
                "Spark's workers cannot run the compiled decoder, and records are decoded in SQL from now on: %s",
                _last_line(text),
            )
        return True


def _last_line(text: str) -> str:
    """The line of a Python traceback in a Spark error that names the cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return next(
        (line for line in lines if line.split(":")[0].endswith(("Error", "Exception")) and "org." not in line), lines[0]
    )
