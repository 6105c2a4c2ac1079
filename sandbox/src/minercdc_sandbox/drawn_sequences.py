"""NEXTVAL and CURRVAL of one session: the values it has drawn from each sequence."""

from __future__ import annotations

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import OraError


class DrawnSequences:
    """What NEXTVAL and CURRVAL need of one session: the number it drew last from each sequence, by OBJECT_ID. Used under the
    storage lock."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._drawn: dict[int, int] = {}

    def value(self, object_id: int, *, first: bool) -> int:
        """With `first`, `draw` a number for a row; else the number `drawn` last, as for every further NEXTVAL in the row and for
        CURRVAL. Raises as these two."""
        return self.draw(object_id) if first else self.drawn(object_id)

    def draw(self, object_id: int) -> int:
        """Draw the next number, which is not given back by a rollback; CURRVAL is then that. Raises ORA-02289 for an unknown
        sequence, ORA-08004 for an exhausted one."""
        sequence = self._catalog.sequence_of(object_id)
        if sequence is None:
            raise OraError(2289, "sequence does not exist")
        value = sequence.draw()
        self._catalog.cache_fills += sequence.filled
        if value is None:
            edge = "exceeds MAXVALUE" if sequence.increment > 0 else "goes below MINVALUE"
            raise OraError(8004, f"sequence {sequence.name}.NEXTVAL {edge} and cannot be instantiated")
        self._drawn[object_id] = value
        return value

    def drawn(self, object_id: int) -> int:
        """CURRVAL: the number that this session drew last. Raises ORA-08002 before it has drawn one."""
        if object_id not in self._drawn:
            found = self._catalog.sequence_of(object_id)
            name = found.name if found is not None else ""
            raise OraError(8002, f"sequence {name}.CURRVAL is not yet defined in this session")
        return self._drawn[object_id]
