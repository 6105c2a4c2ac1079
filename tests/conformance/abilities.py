"""What each adapter cannot deliver by nature. The suite holds every adapter to all the rest; docs/architecture.md has the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.conformance.history import PHASES, TRANSACTIONS, Change, Phase


@dataclass(frozen=True)
class Abilities:
    """What of the history arrives.

    :param before_images: the row before an update or delete.
    :param deletes: deleted rows at all.
    :param inserts: inserts apart from updates.
    :param every_image: all images of a row within one transaction, not only the last.
    :param order_within_transaction: changes of one transaction come in the order they were made.
    :param every_transaction: each transaction that changed a row, not only the last one before the row is read.
    :param keyless: tables without a key.
    :param idle_scn: without changes, too, it is known up to which SCN everything has come.
    """

    before_images: bool = True
    deletes: bool = True
    inserts: bool = True
    every_image: bool = True
    order_within_transaction: bool = True
    every_transaction: bool = True
    keyless: bool = True
    idle_scn: bool = True


ABILITIES: Mapping[str, Abilities] = {
    "logminer": Abilities(),
    "logminer_unbuffered": Abilities(),
    "flashback": Abilities(every_image=False, order_within_transaction=False),
    "olr": Abilities(),
    "fors_olr": Abilities(idle_scn=False),
    "txlog": Abilities(False, False, False, False, False, False, False),
}


@dataclass(frozen=True)
class OfDdl:
    """What of the `PHASES` an adapter can deliver.

    :param afterwards: what was committed before DDL, also when it is read after it.
    :param keys: DDL on the key of a table.
    :param exchange: EXCHANGE PARTITION.
    """

    afterwards: bool = True
    keys: bool = True
    exchange: bool = True

    def phases(self) -> list[Phase]:
        """Those that it can deliver."""
        found = list(PHASES)
        if not self.exchange:
            at = next(at for at, phase in enumerate(found) if any("exchange" in statement for statement in phase.ddl))
            found = found[:at]
        if not self.keys:
            found = [_without_keyed(phase) for phase in found]
        return found


def _without_keyed(phase: Phase) -> Phase:
    statements, ddl = ([one for one in texts if "keyed" not in one] for texts in (phase.statements, phase.ddl))
    return Phase(statements, [change for change in phase.changes if change.table != "KEYED"], ddl)


OF_DDL: Mapping[str, OfDdl] = {
    **dict.fromkeys(("logminer", "logminer_unbuffered", "olr"), OfDdl()),
    "fors_olr": OfDdl(keys=False),
    "txlog": OfDdl(afterwards=False, keys=False, exchange=False),
}
"""`flashback` reads a table again after DDL in place of its changes (tests/checker/test_demotion.py)."""


def expected(abilities: Abilities, transactions: Sequence[Sequence[Change]] = TRANSACTIONS) -> list[list[Change]]:
    """The transactions as an adapter with these abilities delivers them; those without any change left are missing."""
    if not abilities.keyless:
        transactions = [[change for change in changes if change.table != "NOTE"] for changes in transactions]
    if not abilities.every_transaction:
        transactions = _last(transactions)
    return list(filter(None, (_seen(abilities, changes) for changes in transactions)))


def comparable(abilities: Abilities, transactions: Sequence[Sequence[Change]]) -> list[list[Change]]:
    """Transactions in a form that does not depend on an order that the adapter does not know."""
    if abilities.order_within_transaction:
        return [list(changes) for changes in transactions]
    return [sorted(changes, key=repr) for changes in transactions]


def _last(transactions: Sequence[Sequence[Change]]) -> list[list[Change]]:
    """Each row that is there in the end, once: in the last transaction that changed it."""
    found: list[list[Change]] = []
    for changes in map(_folded, transactions):
        gone = [(change.table, change.before) for change in changes if change.before is not None]
        found = [[one for one in earlier if (one.table, one.after) not in gone] for earlier in found]
        found.append([change for change in changes if change.after is not None])
    return found


def _seen(abilities: Abilities, changes: Sequence[Change]) -> list[Change]:
    found = [change for change in changes if abilities.deletes or change.op != "d"]
    if not abilities.every_image:
        found = _folded(found)
    if not abilities.before_images:
        found = [replace(change, before=None) if change.op == "u" else change for change in found]
    if not abilities.inserts:
        found = [replace(change, op="u") if change.op == "c" else change for change in found]
    return found


def _folded(changes: Sequence[Change]) -> list[Change]:
    """One change for each row: from the image before the transaction to the last one; none for a row that came and went."""
    found: list[Change] = []
    for change in changes:
        earlier = next((one for one in found if one.table == change.table and one.after == change.before), None)
        if change.before is None or earlier is None:
            found.append(change)
            continue
        found.remove(earlier)
        if earlier.before is not None or change.after is not None:
            op = "d" if change.after is None else "c" if earlier.before is None else "u"
            found.append(Change(op, change.table, earlier.before, change.after))
    return found
