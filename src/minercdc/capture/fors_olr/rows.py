"""Turns the images of a row into Rows of a table version."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minercdc.capture.fors_olr.operations import Image, RowChange
from minercdc.capture.fors_olr.values import Pieces, converter
from minercdc.config.source.fors_olr import ForsConfig
from minercdc.errors import DecodeError
from minercdc.schema.table import TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row, Value
from minercdc.values.codec import LARGE_TYPES


class RowReader:
    """Reads rows of one table version.

    :param time_zone: reads DBTIMEZONE; called for each value that needs it, and its errors pass through.
    :param lobs: `lob.enabled`; without it large values are UNAVAILABLE, in both images.
    """

    def __init__(self, schema: TableSchema, config: ForsConfig, time_zone: Callable[[], str], *, lobs: bool) -> None:
        self.schema = schema
        self._names = frozenset(schema.positions())
        self._large = frozenset(
            column.name for column in schema.columns if column.type_name in LARGE_TYPES - {"JSON"}
        )  # no JSON comes
        self._passed_over = frozenset(schema.stored) - self._names
        kept = [column for column in schema.columns if lobs or column.name not in self._large]
        self._convert = {column.name: converter(column, config, time_zone) for column in kept}

    def unknown(self, row: RowChange) -> frozenset[str]:
        """Names of columns in the row's images that the table version does not have. A column that is stored and not read
        (`TableSchema.stored`) is not among them."""
        return frozenset((*(row.before or ()), *(row.after or ()))) - self._names - self._passed_over

    def unlisted(self, row: RowChange) -> frozenset[str]:
        """Names of columns of the table version that an insert does not have, large ones left out; empty for an update or
        delete."""
        return self._names - self._large - frozenset(row.after or ()) if row.op is Op.CREATE else frozenset()

    def reads(self, column: str) -> bool:
        """Whether `read` reads values of the column with this name: False for large ones without `lobs`, and for unknown
        names."""
        return column in self._convert

    def read(self, row: RowChange, pieces: Mapping[str, Pieces]) -> tuple[Row | None, Row | None]:
        """Row before (None for an insert) and row after (None for a delete). A column that no image has is UNAVAILABLE; what
        only the image before has, an update did not change. A large value that the image after lacks is UNAVAILABLE there.

        :param pieces: values of `after` that came in pieces, by column.
        :raises ValueDecodeError: a value does not fit its column.
        :raises SchemaMismatchError: a value is of another type than its column.
        """
        before, after = self._texts(row.before, {}), self._texts(row.after, pieces)
        old = tuple(before.get(column.name, UNAVAILABLE) for column in self.schema.columns)
        new = tuple(
            after.get(column.name, UNAVAILABLE if column.name in self._large else old[i])
            for i, column in enumerate(self.schema.columns)
        )
        return None if row.op is Op.CREATE else old, None if row.op is Op.DELETE else new

    def _texts(self, image: Image | None, pieces: Mapping[str, Pieces]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, value in (image or {}).items():
            convert = self._convert.get(name)
            if convert is None:
                continue
            try:
                found[name] = convert(value, pieces.get(name))
            except DecodeError as error:
                raise type(error)(f"{name}: {error.message.removeprefix(f'{name}: ')}", hint=error.hint) from error
        return found
