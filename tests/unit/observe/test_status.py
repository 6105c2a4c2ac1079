"""The documents, the sentence and the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import resources

import pytest

from minercdc.observe.latest_notifications import Watch
from minercdc.observe.status.history import History
from minercdc.observe.status.model import Status
from minercdc.observe.status.page import Page
from minercdc.observe.status.sentence import seconds_text, sentence
from minercdc.stream.counters.connector import Counters, RequestedScan, SuspendedShow, TableScan
from minercdc.stream.counters.lag_causes import Cause, TimeSpent
from minercdc.stream.counters.mining import BufferedTransaction
from minercdc.stream.counters.source import SourceFigures, SourceTransaction
from minercdc.stream.signal import ACTIONS

EVIL = "S.</script><img src=x onerror=alert(1)>&\"'"
NOW = 1_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def streaming(lag: float, **more: object) -> tuple[Counters, Clock]:
    """A connector that has run for 1000 s."""
    clock = Clock()
    counters = Counters(phase="streaming", progress_us=int((NOW - lag) * 1e6), **more)  # type: ignore[arg-type]
    counters.spent = TimeSpent(clock)
    counters.spent.enter(Cause.REDO)
    clock.now += 1000
    return counters, clock


def said(counters: Counters, rate: float = 0.0, snapshot_rate: float = 0.0) -> str:
    return sentence(counters, rate, snapshot_rate, NOW)


def test_streaming_without_a_lag() -> None:
    counters, _ = streaming(0.4)
    assert said(counters) == "Streaming, the lag is 0.4 s, waiting for new redo."
    assert said(counters, rate=1234.5) == "Streaming, the lag is 0.4 s, 1,234 changes/s."


def test_a_lag_is_given_its_largest_cause_and_what_is_waited_for() -> None:
    counters, clock = streaming(200)
    counters.spent.enter(Cause.UNCAPTURED)
    clock.now += 150
    counters.spent.enter(Cause.KAFKA)
    clock.now += 30
    text = said(counters)
    assert text.startswith(
        "Streaming, the lag is 3 min 20 s, 75 % of it because redo of tables that are not captured is read"
    )
    assert text.endswith("waiting for the sink to take records for 30 s now.")


def test_other_phases() -> None:
    counters = Counters(since_us=int((NOW - 90) * 1e6))
    assert said(counters).startswith("Starting")
    counters.phase = "snapshot"
    assert said(counters).startswith("Preparing the initial snapshot")
    counters.scans = [TableScan("S.A", 100, 100, True), TableScan("S.B", 50, 900)]
    assert said(counters, snapshot_rate=85) == (
        "Reading the initial snapshot: 150 of about 1,000 rows, 1 of 2 tables, now S.B, 85 rows/s, about 10 s left."
    )
    counters.phase, counters.trouble = "reconnecting", "connecting to db:1521: no answer."
    assert said(counters) == (
        "Waiting, and trying again, since connecting to db:1521: no answer; the lag is at least 1 min 30 s, and rising."
    )
    counters.phase, counters.suspended = "streaming", (SuspendedShow("S.T", 1, "MC", "r", "f"),)
    counters.requested = [RequestedScan("i", "incremental", "DB.S.T", 10, 1, "", "", 0, True)]
    assert "Suspended: S.T. A requested incremental snapshot reads DB.S.T (10 rows, paused)." in said(counters)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (59.7, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (7_500, "2 h 5 min"), (270_000, "3 d 3 h")],
)
def test_spans_of_time(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def shown(counters: Counters) -> Status:
    return Status(
        counters,
        Watch(counters),
        History(counters, lambda: NOW),
        {"name": "c"},
        [{"name": "p", "value": "***"}],
        now=lambda: NOW,
    )


def full() -> Counters:
    counters, _ = streaming(30)
    counters.tables[EVIL] = 7
    counters.suspended = (SuspendedShow(EVIL, 1, "MC-4302", EVIL, "fix"),)
    counters.redo.add([("S", "OUT", 90, 900), ("S", "OURS", 10, 100)], frozenset({("S", "OURS")}))
    oldest = SourceTransaction("aa", EVIL, "sqlplus", "host", 7, 5, 40.0, 3)
    counters.source = SourceFigures(NOW - 2, (oldest,), 1, 5000.0, True, 600.0, 900.0)
    counters.mining.open = (BufferedTransaction("aa", "U", int((NOW - 42) * 1e6), 5, 3, 0),)
    counters.mining.open_count = 1
    return counters


def test_a_table_that_a_requested_snapshot_reads_is_read_again() -> None:
    counters = full()
    counters.requested = [RequestedScan("i", "incremental", "S.OURS", 10, 1, "", "", 0, False)]
    states = {one["table"]: one["state"] for one in json.loads(json.dumps(shown(counters).tables()))}
    assert states["S.OURS"] == "read again"
    assert states[EVIL] == "suspended"


def test_the_document_has_every_part_and_is_json() -> None:
    document = json.loads(json.dumps(shown(full()).document(), allow_nan=False))
    assert document["lag"]["seconds"] == 30
    assert sum(document["lag"]["causes"].values()) == pytest.approx(30)
    assert document["lag"]["largest"] == "redo"
    tables = {one["table"]: one for one in document["tables"]}
    assert tables[EVIL]["state"] == "suspended"
    assert tables["S.OURS"]["redo_bytes"] == 100
    assert [(one["table"], one["share"]) for one in document["redo"]] == [("OUT", 0.9), ("OURS", 0.1)]
    transactions = document["transactions"]
    assert transactions["source"][0]["age_seconds"] == 42
    assert transactions["captured"][0]["age_seconds"] == 42
    assert document["headroom"]["archive_seconds"] == 4400
    assert document["headroom"]["undo_seconds"] is None


def test_an_unknown_lag_is_null() -> None:
    document = json.loads(json.dumps(shown(Counters()).document(), allow_nan=False))
    assert (document["lag"]["seconds"], document["lag"]["known"]) == (None, False)


def test_every_part_has_its_path() -> None:
    pages = shown(full()).pages()
    assert set(pages) >= {"/api/status", "/api/lag", "/api/tables", "/api/history", "/api/configuration"}
    for page in pages.values():
        json.dumps(page(), allow_nan=False)


def test_samples_give_rates_and_last_changes() -> None:
    counters, now = Counters(), [NOW]
    history = History(counters, lambda: now[0])
    for number in range(10):
        counters.tables["S.T"] = counters.events["c"] = 20 * number
        counters.source_us = number
        history.sample()
        now[0] += 2
    now[0] -= 2
    assert history.rates()[0] == pytest.approx(10)
    assert history.table_rates()["S.T"] == pytest.approx(10)
    history.sample()
    assert history.last_changes() == {"S.T": 9}
    assert len(history.samples()) == 11


class Elements(HTMLParser):
    """Elements of a page, and what they load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href", "action", "srcset", "style")]


def page_of(data: Callable[[], dict[str, object]], name: str = "c") -> Page:
    return Page(name, data)  # type: ignore[arg-type]


def test_the_page_escapes_every_name_and_loads_nothing() -> None:
    status = shown(full())
    page = page_of(lambda: {"status": status.document()}, EVIL)
    text = page.render(True).decode()
    elements = Elements()
    elements.feed(text)
    assert "img" not in elements.tags
    assert elements.tags.count("script") == 2
    assert elements.loaded == ["data:,"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found
    assert json.loads(found[1])["status"]["tables"][0]["table"] == EVIL
    script = re.search(r"<script>(.*?)</script>", text, re.S)
    assert script
    assert "innerHTML" not in script[1]
    assert "insertAdjacentHTML" not in script[1]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


def test_a_page_for_one_without_the_token_has_no_data() -> None:
    status = shown(full())
    text = page_of(lambda: {"status": status.document()}, "secret-name").render(False).decode()
    assert "OURS" not in text
    assert "secret-name" not in text
    assert "The token is needed" in text


def test_each_button_sends_a_signal_that_there_is() -> None:
    page = resources.files("minercdc.observe.status").joinpath("page.html").read_text(encoding="utf-8")
    buttons = set(re.findall(r'data-signal="([\w-]+)"', page))
    assert buttons <= set(ACTIONS)
    pauses = {name for name in ACTIONS if name.startswith(("pause-", "resume-"))}
    assert pauses <= buttons
