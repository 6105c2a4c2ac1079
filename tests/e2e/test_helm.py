"""The chart by the program `helm` of the version before, which most clusters are served by, compiled from its sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy.helm.manifests import CHART, EXAMPLES, NAMESPACE, RELEASE, example, rendered

pytestmark = pytest.mark.timeout(1800)

HELM = "helm.sh/helm/v3/cmd/helm@v3.22.0"
_BUILD_SECONDS = 1700
# A program that `go install` has made knows of no Kubernetes of its own.
_TEMPLATE = ("template", RELEASE, "--namespace", NAMESPACE, "--kube-version", "1.34.0")


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program. Go keeps what it has compiled."""
    assert shutil.which("go"), "Go is needed to compile Helm"
    place = tmp_path_factory.mktemp("helm")
    built = subprocess.run(
        ["go", "install", HELM],
        env={**os.environ, "GOBIN": str(place)},
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return place / "helm"


def done(*words: object) -> str:
    ended = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def documents(text: str) -> Iterator[Any]:
    return (document for document in yaml.safe_load_all(text) if document)


def test_the_program_makes_of_the_chart_what_its_engine_makes(helm: Path, tmp_path: Path) -> None:
    done(helm, "package", CHART, "--destination", tmp_path)
    (archive,) = tmp_path.glob("*.tgz")
    for file in EXAMPLES.glob("*.yaml"):
        done(helm, "lint", "--strict", "--values", file, CHART)
        text = done(helm, *_TEMPLATE, archive, "--values", file)
        wanted = [yaml.safe_load(part) for name, part in rendered(example(file.stem)).items() if name.endswith(".yaml")]
        found = list(documents(text))
        assert len(found) == len(wanted) >= 4
        assert all(document in wanted for document in found)


def test_the_program_refuses_what_cannot_work(helm: Path) -> None:
    values = ["--values", str(EXAMPLES / "connector.yaml")]
    for more, said in (
        (["--set", "connecter.replicas=1"], "connecter"),
        (["--set", r"config.minercdc\.kafka\.client\.sasl\.password=tiger"], "in plain text"),
    ):
        command = [str(helm), *_TEMPLATE, str(CHART), *values, *more]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode != 0
        assert re.search(said, ended.stderr)
        assert "tiger" not in ended.stderr
