"""Turns the images of a row in a message into Rows of a table version."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from minercdc.capture.olr.message import Operation, Single, Value
from minercdc.capture.olr.values import converter, may_have_many_digits
from minercdc.config.source.olr import OlrConfig
from minercdc.errors import SchemaMismatchError, ValueDecodeError
from minercdc.schema.table import TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row
from minercdc.stream.events import Value as RowValue
from minercdc.values.codec import LARGE_TYPES

_log = logging.getLogger(__name__)
_OPS = {"c": Op.CREATE, "u": Op.UPDATE, "d": Op.DELETE}


class RowReader:
    """Reads rows of one table version.

    :param lobs: `lob.enabled`; without it large values are UNAVAILABLE, in both images.
    """

    def __init__(self, schema: TableSchema, config: OlrConfig, *, lobs: bool) -> None:
        self.schema = schema
        self._positions = schema.positions()
        self._large = frozenset(
            c.name for c in schema.columns if c.type_name in LARGE_TYPES - {"JSON"}
        )  # the server has no JSON
        self._left_out = self._large if not lobs else frozenset()
        self._passed_over = frozenset(schema.stored) - self._positions.keys()
        self._converters = [converter(column, config) for column in schema.columns if column.name not in self._left_out]
        kept = [column.name for column in schema.columns if column.name not in self._left_out]
        self._convert = dict(zip(kept, self._converters, strict=True))
        self._many_digits = {column.name for column in schema.columns if may_have_many_digits(column)}

    def unknown(self, operation: Operation) -> list[str]:
        """Names of columns in the images that the table version does not have, sorted; empty when it has all. A column that
        is stored and not read (`TableSchema.stored`) is not among them."""
        names = {*(operation.before or ()), *(operation.after or ())}
        return sorted(names - self._positions.keys() - self._passed_over)

    def read(self, operation: Operation) -> tuple[Op, Row | None, Row | None]:
        """Operation, row before (None for an insert) and row after (None for a delete). What the message does not have is
        UNAVAILABLE; what only the image before has, an update did not change. A large value that the image after lacks is
        UNAVAILABLE there.

        :raises ValueDecodeError: a value does not fit its column.
        :raises SchemaMismatchError: an insert lacks a column.
        """
        op = _OPS[operation.op]
        before, after = self._texts(operation.before), self._texts(operation.after)
        if op is Op.CREATE:
            self._check_whole(operation)
        old = tuple(before.get(column.name, UNAVAILABLE) for column in self.schema.columns)
        new = tuple(
            after.get(column.name, UNAVAILABLE if column.name in self._large else old[i])
            for i, column in enumerate(self.schema.columns)
        )
        return op, None if op is Op.CREATE else old, None if op is Op.DELETE else new

    def _texts(self, image: Mapping[str, Value] | None) -> dict[str, RowValue]:
        found: dict[str, RowValue] = {}
        for name, value in (image or {}).items():
            convert = self._convert.get(name)
            if convert is None:
                continue
            if name in self._many_digits and isinstance(value, Single):
                self._warn_of_lost_digits(name)
            try:
                found[name] = convert(value)
            except ValueDecodeError as error:
                raise ValueDecodeError(f"{name}: {error.message.removeprefix(f'{name}: ')}", hint=error.hint) from error
        return found

    def _warn_of_lost_digits(self, name: str) -> None:
        """Log once for a column of the table version that its numbers may have had more digits than the server sends."""
        self._many_digits.discard(name)
        _log.warning(
            "%s.%s comes as a float32, as OpenLogReplicator's protobuf sends a NUMBER without precision: of a value with more than six digits,"
            " those that are lost may not show. Set the server's format.type to json, or declare the precision",
            self.schema.id,
            name,
        )

    def _check_whole(self, operation: Operation) -> None:
        """Raise SchemaMismatchError when an insert lacks a column: it has to hold each, since null and unknown look alike
        where the server leaves out nulls. Large columns may be missing, and those that the message's own list of columns does
        not have."""
        listed = operation.columns
        missing = [
            name
            for name in self._convert
            if name not in self._large and name not in (operation.after or ()) and (listed is None or name in listed)
        ]
        if missing:
            raise SchemaMismatchError(
                f"the message of an insert does not contain {', '.join(missing)}",
                hint="In OpenLogReplicator's configuration, set format.column to 2 (all columns in redo); invisible"
                " columns need 64 in flags.",
            )
