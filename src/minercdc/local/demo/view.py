"""The display of the demo while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from minercdc.local.demo.processes import Command

_LINE_SECONDS = 5.0  # between lines of figures, where there is no terminal


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


@contextmanager
def shown(scene: Scene, console: Console, seconds: float = _LINE_SECONDS) -> Iterator[Callable[[], None]]:
    """Gives a function that shows the scene as it is when called: on a terminal as a picture that is drawn again; elsewhere what was said since the
    last call, and a line of figures every `seconds`, with the picture at the end."""
    if console.is_terminal:
        with Live(console=console, refresh_per_second=4) as live:
            yield lambda: live.update(draw(scene))
        return
    lines = _Lines(scene, console, seconds)
    yield lines.print
    console.print(draw(scene))


class _Lines:
    def __init__(self, scene: Scene, console: Console, seconds: float) -> None:
        self._scene = scene
        self._console = console
        self._seconds = seconds
        self._said = 0
        self._next = scene.began + seconds

    def print(self) -> None:
        for line in self._scene.said[self._said :]:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        self._said = len(self._scene.said)
        if (now := time.monotonic()) >= self._next:
            self._next = now + self._seconds
            self._console.print(figures(self._scene), markup=False, highlight=False, soft_wrap=True)


def figures(scene: Scene) -> str:
    """The scene's figures in a line, with the seconds since the beginning."""
    topics, rows = sum(scene.topics.values()), sum(scene.lake.values())
    work = sum(scene.work.values())
    return f"{time.monotonic() - scene.began:5.1f} s  {work:,} changes made, {topics:,} messages in the topics, {rows:,} rows in the lake; {scene.lag}"
