"""What is in `deploy/` is valid, and fits what the connector serves, takes and ends with."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from minercdc.config.load import load_config
from minercdc.observe.http.server import serve
from minercdc.observe.latest_notifications import Watch
from minercdc.observe.prometheus import exposition_of
from minercdc.stream.counters.connector import Counters

ROOT = Path(__file__).parents[3]
MANIFEST = ROOT / "deploy" / "kubernetes" / "connector.yaml"
UNIT = ROOT / "deploy" / "systemd" / "minercdc@.service"
RESOURCES: list[dict[str, Any]] = list(yaml.safe_load_all(MANIFEST.read_text()))


def of(kind: str) -> dict[str, Any]:
    (found,) = [one for one in RESOURCES if one["kind"] == kind]
    return found


@pytest.mark.parametrize("resource", RESOURCES, ids=[one["kind"] for one in RESOURCES])
@pytest.mark.parametrize("version", ["1.31", "1.34", "1.37"])
def test_each_resource_is_one_that_kubernetes_takes(resource: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(resource, version, strict=True)


def test_its_configuration_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    container = of("StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    for variable in container["env"]:
        monkeypatch.setenv(variable["name"], "x" * 20)
    file = tmp_path / "connector.yaml"
    file.write_text(of("ConfigMap")["data"]["connector.yaml"])
    config = load_config(file)
    (port,) = container["ports"]
    assert config.signals.minercdc_http_port == port["containerPort"] == of("Service")["spec"]["ports"][0]["port"]
    assert config.signals.minercdc_http_host == "0.0.0.0"
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {str(config.capture.minercdc_state_dir), "/etc/minercdc", "/tmp"} == mounts
    assert container["args"] == ["run", "--standby", "/etc/minercdc/connector.yaml"]
    assert "useradd --uid 10001 " in (ROOT / "Dockerfile").read_text()
    assert of("StatefulSet")["spec"]["template"]["spec"]["securityContext"]["runAsUser"] == 10001


def test_its_probes_are_pages_that_anyone_may_ask() -> None:
    container = of("StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    paths = {container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"/live", "/ready"}
    counters = Counters()
    with serve("0.0.0.0", 0, Watch(counters), None, "t", exposition_of(counters, "c")) as address:
        for phase, ready in (
            ("starting", 503),
            ("snapshot", 200),
            ("streaming", 200),
            ("reconnecting", 503),
            ("stopped", 503),
        ):
            counters.phase = phase
            answers = {}
            for path in paths:
                connection = HTTPConnection("127.0.0.1", int(address.rpartition(":")[2]), timeout=5)
                connection.request("GET", path)
                answers[path] = connection.getresponse().status
                connection.close()
            assert answers == {"/live": 200, "/ready": ready}, phase


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    service = unit["Service"]
    assert re.fullmatch(r"/usr/bin/env minercdc run --standby /etc/minercdc/%i\.yaml", service["ExecStart"])
    pages = (ROOT / "docs" / "errors.md").read_text()
    for status in service["RestartPreventExitStatus"].split():
        assert re.search(rf"^\| {status} \|", pages, re.M), "the statuses are explained"
    if shutil.which("systemd-analyze") is None:
        return
    copy = tmp_path / "minercdc@orders.service"
    copy.write_text(UNIT.read_text())
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
