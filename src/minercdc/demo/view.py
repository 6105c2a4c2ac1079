"""What the demo shows while it runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from minercdc.demo.processes import Command


@dataclass(slots=True)
class Scene:
    """The state of the demo at a moment.

    :param topics: topic -> sum of its partitions' end offsets.
    :param lake: table -> rows.
    :param lag: the connector's last progress line.
    :param work: what the workload has done, by kind.
    :param said: lines about what happened.
    """

    began: float = field(default_factory=time.monotonic)
    topics: dict[str, int] = field(default_factory=dict)
    lake: dict[str, int] = field(default_factory=dict)
    lag: str = ""
    work: dict[str, int] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def say(self, what: str) -> None:
        """Add a line, with the seconds since the beginning."""
        self.said.append(f"{time.monotonic() - self.began:5.1f} s  {what}")

    def look(self, ends: Mapping[str, Mapping[str, int]], lake: Mapping[str, int], connector: Command) -> None:
        """Take the present figures; the connector's are from its log. Raises OSError as `Command.last_match`.

        :param ends: topic -> partition -> offset.
        """
        self.topics = {topic: sum(partitions.values()) for topic, partitions in ends.items()}
        self.lake = dict(lake)
        self.lag = connector.last_match(r"INFO +(?:\S+ )*?((?:streaming|snapshot|reconnecting): .*)") or "starting"


def draw(scene: Scene) -> RenderableType:
    """The scene as a table with a few lines under it."""
    table = Table(title=f"{time.monotonic() - scene.began:.0f} s")
    table.add_column("table")
    table.add_column("in the topic", justify="right")
    table.add_column("rows in the lake", justify="right")
    for name, rows in sorted(scene.lake.items()):
        table.add_row(name, f"{scene.topics.get(f'shop.SHOP.{name}', 0):,}", f"{rows:,}")
    work = ", ".join(f"{count:,} {kind}" for kind, count in sorted(scene.work.items()))
    lines = [f"connector  {scene.lag}", f"workload   {work}", *scene.said]
    return Group(table, Text("\n".join(lines)))
