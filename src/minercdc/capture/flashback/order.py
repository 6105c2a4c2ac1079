"""Puts the changes of one transaction in an order. Row versions do not show it, so it is made from keys and foreign keys.

    a key is free before another row takes it        always, or a reader by key would lose the row; the record key, too
    a parent is there before its child refers to it  strict
    a child is gone before its parent is             strict

Rows that swap their keys have no such order: one of them is deleted and inserted. Rows that refer to each other have none either:
some of them come too early, and so do those whose order by foreign keys contradicts that by keys. The order is the same at every
replay.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from minercdc.capture.flashback.version import KeyColumns, Version, places_of_keys
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.events import Row, Value

_Values = tuple[Value, ...]
_Taken = tuple[TableId, tuple[int, ...], _Values]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key: `columns` of the child table refer to `parent_columns` of the parent, in the same order."""

    child: TableId
    columns: tuple[str, ...]
    parent: TableId
    parent_columns: tuple[str, ...]


class ForeignKeys:
    """The foreign keys between captured tables, and the order of tables that they make.

    :ivar of_child: the keys of each table as child; `of_parent` as parent.
    :ivar cyclic: all tables that refer to each other in a circle, in order of name. One that refers to itself only is not among
        them.
    """

    def __init__(self, keys: Iterable[ForeignKey] = ()) -> None:
        self.of_child: Mapping[TableId, list[ForeignKey]] = defaultdict(list)
        self.of_parent: Mapping[TableId, list[ForeignKey]] = defaultdict(list)
        for key in keys:
            self.of_child[key.child].append(key)
            self.of_parent[key.parent].append(key)
        parents = {
            table: {key.parent for key in self.of_child.get(table, ())} - {table}
            for table in {*self.of_child, *self.of_parent}
        }
        self._ranks = _ranks(parents)
        self.cyclic = tuple(sorted(_in_circles(parents)))

    def rank(self, table: TableId) -> int:
        """Length of the longest way up from the table by its parents, 0 for a table without any: parents have lower ranks
        than their children, except in a circle and below one."""
        return self._ranks.get(table, 0)


def _ranks(parents: Mapping[TableId, set[TableId]]) -> dict[TableId, int]:
    """The rank of each table, as `ForeignKeys.rank` returns it. Where a circle leaves none that can be next, the first table by
    name is."""
    ranks: dict[TableId, int] = {}
    while left := sorted(table for table in parents if table not in ranks):
        ready = [table for table in left if all(parent in ranks for parent in parents[table])] or left[:1]
        found = {table: 1 + max((ranks.get(parent, -1) for parent in parents[table]), default=-1) for table in ready}
        ranks.update(found)
    return ranks


def _in_circles(parents: Mapping[TableId, set[TableId]]) -> Iterator[TableId]:
    """The tables of the strongly connected components with two tables or more, found by Kosaraju's algorithm."""
    children: dict[TableId, set[TableId]] = {table: set() for table in parents}
    for table, above in parents.items():
        for parent in above:
            children[parent].add(table)
    seen: set[TableId] = set()
    ended = [found for table in parents for found in _reached(table, parents, seen)]
    seen.clear()
    for table in reversed(ended):
        component = _reached(table, children, seen)
        if len(component) > 1:
            yield from component


def _reached(start: TableId, ways: Mapping[TableId, set[TableId]], seen: set[TableId]) -> list[TableId]:
    """`start` and the tables to which ways lead from it, without those in `seen`, which they are added to: by depth-first search,
    each when all ways from it have been followed."""
    if start in seen:
        return []
    seen.add(start)
    found: list[TableId] = []
    path = [(start, iter(ways[start]))]
    while path:
        table, left = path[-1]
        following = next((one for one in left if one not in seen), None)
        if following is None:
            found.append(table)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(ways[following])))
    return found


def ordered(
    changes: Sequence[Version],
    keys: ForeignKeys,
    *,
    strict: bool,
    record_key: KeyColumns = lambda schema: schema.key,
) -> list[Version]:
    """The changes of one transaction in their order. Where keys are swapped, one update comes as a delete and, later, an
    insert, so that there is a change more.

    :param changes: in any order, one for each row.
    :param strict: order them by foreign keys, too.
    :param record_key: by which readers know a table's rows. Oracle may know nothing of it: many rows may have one.
    """
    if len(changes) == 1:
        return list(changes)
    if strict:
        based = sorted(changes, key=lambda change: _strict_place(change, keys))
    else:
        based = sorted(changes, key=lambda change: (change.schema.id, change.op != "D", change.row_id))
    graph = _Graph(based, record_key)
    graph.by_keys()
    if strict:
        for key in sorted({key for change in based for key in keys.of_child.get(change.schema.id, ())}, key=repr):
            graph.by_foreign_key(key)
    return list(graph.sorted())


def _strict_place(change: Version, keys: ForeignKeys) -> tuple[int, int, TableId, str]:
    rank = keys.rank(change.schema.id)
    return (1, -rank, change.schema.id, change.row_id) if change.op == "D" else (0, rank, change.schema.id, change.row_id)


class _Graph:
    """Which changes wait for which others. `by_keys` and `by_foreign_key` note that; `sorted` is called once, after them.

    :param changes: a change's place is its index here; this order decides where nothing else does. Places from their number on are
        of keys: such a place waits for all that free the key, and all that take it wait for that place.
    """

    def __init__(self, changes: Sequence[Version], record_key: KeyColumns) -> None:
        self._changes = changes
        self._record_key = record_key
        self._keys: dict[tuple[TableId, int], tuple[tuple[int, ...], ...]] = {}
        self._after: dict[int, set[int]] = defaultdict(set)
        self._waits: dict[int, set[int]] = defaultdict(set)
        self._of_foreign_keys: dict[int, set[int]] = defaultdict(set)  # what is in `_waits` for these only
        self._count = len(changes)
        self._movers: Iterator[int] | None = None  # those that may be split, until each was looked at once

    def by_keys(self) -> None:
        """Have the changes that take a key wait for those that free it."""
        takers: dict[_Taken, list[int]] = defaultdict(list)
        leavers: dict[_Taken, list[int]] = defaultdict(list)
        for place, change in enumerate(self._changes):
            for key in self._keys_of(change.schema):
                old, new = _whole(change.before, key), _whole(change.after, key)
                if old == new:
                    continue
                if new is not None:
                    takers[change.schema.id, key, new].append(place)
                if old is not None:
                    leavers[change.schema.id, key, old].append(place)
        for taken, places in leavers.items():
            others = takers.get(taken, [])
            if len(places) == 1 or len(others) == 1:
                for place in places:
                    for taker in others:
                        self._put(place, taker)
            elif others:
                between, self._count = self._count, self._count + 1
                for place in places:
                    self._put(place, between)
                for taker in others:
                    self._put(between, taker)

    def _keys_of(self, schema: TableSchema) -> tuple[tuple[int, ...], ...]:
        known = (schema.id, schema.version)
        if known not in self._keys:
            self._keys[known] = places_of_keys(schema, self._record_key)
        return self._keys[known]

    def by_foreign_key(self, key: ForeignKey) -> None:
        """Have a change of a child that refers to a parent wait for the change that makes the parent, and one that takes the
        parent away wait for those of its children."""
        comes: dict[_Values, list[int]] = defaultdict(list)
        goes: dict[_Values, list[int]] = defaultdict(list)
        for place, change in enumerate(self._changes):
            if change.schema.id == key.parent:
                old, new = (
                    _named(change, change.before, key.parent_columns),
                    _named(change, change.after, key.parent_columns),
                )
                if new is not None and new != old:
                    comes[new].append(place)
                if old is not None and new != old:
                    goes[old].append(place)
        for place, change in enumerate(self._changes):
            if change.schema.id == key.child:
                old, new = _named(change, change.before, key.columns), _named(change, change.after, key.columns)
                for parent in comes.get(new, ()) if new is not None else ():
                    self._put_by_foreign_key(parent, place)
                for parent in goes.get(old, ()) if old is not None and new != old else ():
                    self._put_by_foreign_key(place, parent)

    def sorted(self) -> Iterator[Version]:
        """The changes, each after those that it waits for, as far as that is possible (`_break`). It uses up what is noted."""
        left = set(range(self._count))
        ready = [place for place in left if not self._waits[place]]
        heapq.heapify(ready)
        split: set[int] = set()
        while left:
            if not ready:
                yield from self._break(left, split, ready)
                continue
            place = heapq.heappop(ready)
            if place not in left:
                continue
            left.discard(place)
            if place >= len(self._changes):
                self._release(place, ready)
                continue
            change = self._changes[place]
            yield replace(change, op="I", before=None) if place in split else change
            if place not in split:
                self._release(place, ready)

    def _break(self, left: set[int], split: set[int], ready: list[int]) -> Iterator[Version]:
        """Break a circle, when every change that is left waits for another. An update in `left` that changes a key is
        yielded as a delete, and added to `split`: it is to come as an insert later. Where there is none, the first change in
        `left` that waits by foreign keys only waits no more. What waits for nothing now is added to `ready`."""
        if self._movers is None:
            self._movers = iter([place for place, change in enumerate(self._changes) if self._changes_key(change)])
        place = next((place for place in self._movers if place in left), None)
        if place is not None:
            split.add(place)
            yield replace(self._changes[place], op="D", after=None)
            self._release(place, ready)
            return
        first = next((place for place in sorted(left) if self._waits[place] <= self._of_foreign_keys[place]), min(left))
        self._waits[first].clear()
        heapq.heappush(ready, first)

    def _changes_key(self, change: Version) -> bool:
        keys = self._keys_of(change.schema)
        return change.op == "U" and any(_whole(change.before, key) != _whole(change.after, key) for key in keys)

    def _release(self, place: int, ready: list[int]) -> None:
        for later in self._after[place]:
            self._waits[later].discard(place)
            if not self._waits[later]:
                heapq.heappush(ready, later)

    def _put(self, first: int, second: int) -> None:
        if first != second:
            self._after[first].add(second)
            self._waits[second].add(first)

    def _put_by_foreign_key(self, first: int, second: int) -> None:
        if first != second and first not in self._waits[second]:
            self._of_foreign_keys[second].add(first)
            self._put(first, second)


def _whole(row: Row | None, places: Sequence[int]) -> _Values | None:
    """The values of a row at these places, NULL among them; None without a row."""
    return None if row is None else tuple(row[place] for place in places)


def _values(row: Row | None, places: Sequence[int]) -> _Values | None:
    """The values of a row at these places; None without a row, without places, or when one of the values is NULL."""
    if row is None or not places:
        return None
    found = tuple(row[place] for place in places)
    return None if None in found else found


def _named(change: Version, row: Row | None, columns: Sequence[str]) -> _Values | None:
    positions = change.schema.positions()
    if row is None or any(column not in positions for column in columns):
        return None
    return _values(row, [positions[column] for column in columns])
