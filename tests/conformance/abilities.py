"""What each adapter cannot deliver by nature. The suite holds every adapter to all the rest; docs/architecture.md has the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.conformance.history import TRANSACTIONS, Change


@dataclass(frozen=True)
class Abilities:
    """What of the history arrives.

    :param before_images: the row before an update or delete.
    :param deletes: deleted rows at all.
    :param inserts: inserts apart from updates.
    :param every_image: all images of a row within one transaction, not only the last.
    :param order_within_transaction: changes of one transaction come in the order they were made.
    """

    before_images: bool = True
    deletes: bool = True
    inserts: bool = True
    every_image: bool = True
    order_within_transaction: bool = True


ABILITIES: Mapping[str, Abilities] = {
    "logminer": Abilities(),
    "logminer_unbuffered": Abilities(),
}


def expected(abilities: Abilities, transactions: Sequence[Sequence[Change]] = TRANSACTIONS) -> list[list[Change]]:
    """The transactions as an adapter with these abilities delivers them; those without any change left are missing."""
    return list(filter(None, (_seen(abilities, changes) for changes in transactions)))


def comparable(abilities: Abilities, transactions: Sequence[Sequence[Change]]) -> list[list[Change]]:
    """Transactions in a form that does not depend on an order that the adapter does not know."""
    if abilities.order_within_transaction:
        return [list(changes) for changes in transactions]
    return [sorted(changes, key=repr) for changes in transactions]


def _seen(abilities: Abilities, changes: Sequence[Change]) -> list[Change]:
    found = [change for change in changes if abilities.deletes or change.op != "d"]
    if not abilities.every_image:
        last = {(change.table, _key(change)): at for at, change in enumerate(found)}
        found = [change for at, change in enumerate(found) if last[change.table, _key(change)] == at]
    if not abilities.before_images:
        found = [replace(change, before=None) if change.op == "u" else change for change in found]
    if not abilities.inserts:
        found = [replace(change, op="u") if change.op == "c" else change for change in found]
    return found


def _key(change: Change) -> str | None:
    return (change.after or change.before or ("",))[0]
