"""The chain of a configuration's transformations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minercdc.errors import DecodeError, MinerCdcError, RecordSchemaError, ValueDecodeError
from minercdc.messages.transforms.drawings import Draw, Seen
from minercdc.messages.transforms.drawn import Document, DrawnRecord, NotDrawn
from minercdc.messages.transforms.record import ConnectRecord, Transform


@dataclass(frozen=True, slots=True)
class Step:
    """One transformation of the chain.

    :param applies: which records it is made of; None for all. It looks at the topic, the names of the headers, and whether there is a value.
    :param draw: what it makes of a drawn record; None where only Python does it.
    """

    name: str
    transform: Transform
    applies: Callable[[ConnectRecord], bool] | None = None
    draw: Draw | None = None


class Chain:
    """The transformations of a configuration, which are applied to a record one after the other."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        # Whether `drawn` says something of any record.
        self.is_drawn = all(step.draw is not None or step.applies is not None for step in steps)

    def __call__(self, record: ConnectRecord) -> ConnectRecord | None:
        """What the chain makes of a record; None when it is left out.

        :raises DecodeError: a transformation does not fit it; the message names the transformation. RecordSchemaError where it fits none
            of the table's records.
        :raises ConfigError: a row of an outbox table was updated, where `table.op.invalid.behavior` is `fatal`.
        """
        found: ConnectRecord | None = record
        for step in self._steps:
            assert found is not None
            try:
                if step.applies is not None and not step.applies(found):
                    continue
                found = step.transform(found)
            except DecodeError as error:
                kind = RecordSchemaError if isinstance(error, RecordSchemaError) else ValueDecodeError
                raise kind(f"transforms.{step.name}: {error.message}", hint=error.hint) from None
            except (MinerCdcError, MemoryError):
                raise
            except Exception as error:  # of Python or of a library, for one record
                raise ValueDecodeError(f"transforms.{step.name}: the record does not fit: {error!r}") from None
            if found is None:
                return None
        return found

    def drawn(
        self, record: ConnectRecord, drawing: DrawnRecord, document: Document
    ) -> tuple[ConnectRecord, DrawnRecord] | None:
        """What the chain makes of a record, and how that is made of the document that it came from; None when it is left out.

        :raises NotDrawn: that is only for Python to do.
        :raises Exception: a transformation does not fit the record.
        """
        for step in self._steps:
            if step.applies is not None and not step.applies(record):
                continue
            if step.draw is None:
                raise NotDrawn
            found = step.transform(record)
            made = step.draw(Seen(record, record if found is None else found, document), drawing)
            if found is None or made is None:
                if found is not None or made is not None:
                    raise NotDrawn
                return None
            record, drawing = found, made
        return record, drawing
