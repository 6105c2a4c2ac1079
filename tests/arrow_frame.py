"""A DataFrame as the driver gives it, made of plain values, through Arrow's C data interface."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

_OFFSET = 3  # values that stand before the first one, as in an array that is a part of another


class _Schema(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
        *((name, ctypes.c_int64) for name in ("flags", "n_children")),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private_data")),
    ]


class _Array(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        *((name, ctypes.c_void_p) for name in ("buffers", "children", "dictionary", "release", "private_data")),
    ]


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _Column:
    """:param values: int for `l`, unscaled int for `d`, bytes for `U` and `Z`, or None."""

    def __init__(self, form: str, values: Sequence[int | bytes | None]) -> None:
        filled = [*([None] * _OFFSET), *values]
        bits = bytearray(len(filled) // 8 + 1)
        for i, value in enumerate(filled):
            bits[i // 8] |= (value is not None) << (i % 8)
        self._kept: list[Any] = [ctypes.create_string_buffer(bytes(bits), len(bits))]
        if form[0] in "ld":
            width = 8 if form == "l" else 16
            content = b"".join(int(value or 0).to_bytes(width, "little", signed=True) for value in filled)
            self._kept.append(ctypes.create_string_buffer(content, len(content)))
        else:
            texts = [value if isinstance(value, bytes) else b"" for value in filled]
            ends = list(itertools.accumulate(map(len, texts), initial=0))
            self._kept += [(ctypes.c_int64 * len(ends))(*ends), ctypes.create_string_buffer(b"".join(texts) + b"!")]
        buffers = (ctypes.c_void_p * len(self._kept))(*(ctypes.addressof(part) for part in self._kept))
        self._schema = _Schema(format=form.encode(), name=b"")
        self._array = _Array(
            length=len(values), offset=_OFFSET, n_buffers=len(self._kept), buffers=ctypes.addressof(buffers)
        )
        self._kept.append(buffers)

    def __arrow_c_array__(self) -> tuple[object, object]:
        return (
            _capsule(ctypes.addressof(self._schema), b"arrow_schema", None),
            _capsule(ctypes.addressof(self._array), b"arrow_array", None),
        )


class Frame:
    """:param formats: of the columns: `l`, `d:P,S`, `U` or `Z`.
    :param rows: as `_Column` takes the values. It must live as long as what is made of it.
    """

    def __init__(self, formats: Sequence[str], rows: Sequence[Sequence[int | bytes | None]]) -> None:
        self._rows = len(rows)
        self._columns = [_Column(form, [row[i] for row in rows]) for i, form in enumerate(formats)]

    def column_arrays(self) -> list[_Column]:
        return self._columns

    def num_rows(self) -> int:
        return self._rows
