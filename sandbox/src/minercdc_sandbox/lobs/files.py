"""BFILE: the name of a file outside the database, as a locator that clients take apart and that nothing here opens.

    0   2  4    5         16   18        ..   ..
    len 01 00 08 zeros      n    directory n    file

There are no directory objects, so reading is ORA-22285, as in Oracle when BFILENAME names one that is not there.
"""

from __future__ import annotations

import struct

from minercdc_sandbox.interfaces import OraError

_HEAD = struct.Struct(">H2sB11x")


def bfilename(directory: str, file: str) -> bytes:
    """The locator of BFILENAME(directory, file); neither need be there."""
    names = b"".join(struct.pack(">H", len(name.encode())) + name.encode() for name in (directory, file))
    return _HEAD.pack(_HEAD.size + len(names) - 2, b"\x01\x00", 8) + names


def refuse_file(locator: bytes) -> None:
    """Raises ORA-22285 for the locator of a BFILE; does nothing for any other bytes."""
    if len(locator) > _HEAD.size and locator[2:4] == b"\x01\x00" and locator[4] == 8:
        raise OraError(22285, "non-existent directory or file for FILEOPEN operation")
