"""The chain of a configuration's transformations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minercdc.errors import DecodeError, MinerCdcError, RecordSchemaError, ValueDecodeError
from minercdc.messages.transforms.record import ConnectRecord, Transform


@dataclass(frozen=True, slots=True)
class Step:
    """One transformation of the chain.

    :param applies: which records it is made of; None for all.
    """

    name: str
    transform: Transform
    applies: Callable[[ConnectRecord], bool] | None = None


class Chain:
    """The transformations of a configuration, which are applied to a record one after the other."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps

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
