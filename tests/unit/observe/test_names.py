"""Names of metrics: the page, the dashboard and the alert rules have those that there are; each of Debezium's beans is accounted for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from minercdc.observe.prometheus import CounterCollector, exposition_of
from minercdc.observe.prometheus.lake import LakeCollector
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.lag_causes import Cause
from minercdc.stream.counters.lake import LakeFigures

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "metrics.md").read_text()
ALERTS = ROOT / "docs" / "monitoring" / "alerts.yml"
DASHBOARD = ROOT / "docs" / "monitoring" / "grafana.json"
BEANS = Path(__file__).with_name("debezium-beans.txt")

_NAME = re.compile(r"\bminercdc_[a-z0-9_]+\b")
_PARTS = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum"), "summary": ("_count", "_sum")}


def names() -> set[str]:
    """Of all samples that there may be."""
    families = [*CounterCollector(Counters(), "c").collect(), *LakeCollector(LakeFigures(), "c").collect()]
    return {family.name + part for family in families for part in _PARTS[family.type]}


def families() -> set[str]:
    """As the page may write them: histograms and summaries without their parts, too."""
    return names() | {
        re.sub("_(bucket|count|sum)$", "", name) for name in names() if re.search("_(bucket|count|sum)$", name)
    }


def test_every_metric_is_on_the_page_and_no_other() -> None:
    on_page = set(_NAME.findall(PAGE))
    assert on_page <= families(), on_page - families()
    missing = {name for name in names() if name not in on_page and re.sub("_(bucket|count|sum)$", "", name) not in on_page}
    assert not missing


def test_every_cause_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE.split("## Names")[0], re.M))))
    assert {cause.value for cause in Cause} <= explained


def expressions() -> list[tuple[str, str]]:
    rules = yaml.safe_load(ALERTS.read_text())
    found = [(rule["alert"], rule["expr"]) for group in rules["groups"] for rule in group["rules"]]
    dashboard = json.loads(DASHBOARD.read_text())
    found += [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]
    return [*found, *((one["name"], one["query"]) for one in dashboard["templating"]["list"] if one["type"] == "query")]


@pytest.mark.parametrize(("where", "expression"), expressions())
def test_rules_and_panels_use_metrics_that_there_are(where: str, expression: str) -> None:
    used = set(_NAME.findall(expression))
    assert used, where
    assert used <= names(), (where, used - names())


def test_labels_that_rules_and_panels_use_are_those_of_the_metrics() -> None:
    text = exposition_of(_with_everything(), "c")().decode()
    known = {"job", "le", *re.findall(r'[{,]([a-z_]+)="', text)}
    used = {name for _, text in expressions() for name in re.findall(r'[{,]\s*([a-z_]+)(?:=~|=|!=)"', text)}
    assert used <= known, used - known


def _with_everything() -> Counters:
    counters = Counters()
    counters.events["c"] = counters.tables["S.T"] = counters.left_out["S.T"] = 1
    counters.redo.add([("S", "T", 1, 1)], frozenset())
    return counters


def test_every_rule_has_its_paragraph_in_the_run_book() -> None:
    page = (ROOT / "docs" / "runbook.md").read_text()
    for rule in (rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]):
        assert rule["alert"] in page, rule["alert"]


def test_every_bean_of_debezium_is_mapped_or_explained() -> None:
    beans = {line.strip() for line in BEANS.read_text().splitlines() if line.strip() and line[0] not in "#["}
    table = PAGE.split("## Debezium's beans")[1]
    rows = re.findall(r"^\| (`[^|]*`) \| (.+) \|$", table, re.M)
    mapped = {name: text for names_, text in rows for name in re.findall(r"`(\w+)`", names_)}
    assert len(beans) > 100
    assert beans <= set(mapped), beans - set(mapped)
    assert set(mapped) <= beans, set(mapped) - beans
    assert all(len(text) > 10 for text in mapped.values())
