"""Both wheels, built and examined as a release's, and installed into a fresh environment: the product works without the sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest
from deploy.release import check
from tests.e2e.lab import Lab
from tests.native_pair import BUILT_HERE

pytestmark = pytest.mark.timeout(1800)

ROOT = Path(__file__).parents[2]
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}


def command(*words: object, cwd: Path, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=seconds, cwd=cwd, env=_ENVIRONMENT, check=False
    )


def done(*words: object, cwd: Path) -> str:
    ended = command(*words, cwd=cwd)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Wheel by name of its distribution."""
    copy, dist = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("dist")
    for part in (".", "sandbox"):  # a build leaves files beside what it builds
        (copy / part).mkdir(exist_ok=True)
        shutil.copytree(
            ROOT / part / "src", copy / part / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
        )
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / part / name, copy / part)
    check(dist, copy)
    assert len(list(dist.glob("*.tar.gz"))) == 2
    return {path.name.partition("-")[0]: path for path in dist.glob("*.whl")}


def test_the_product_without_the_sandbox_and_with_it(wheels: dict[str, Path], lab: Lab, tmp_path: Path) -> None:
    assert set(wheels) == {"minercdc", "minercdc_sandbox"}
    done(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    programs = tmp_path / "env" / "bin"
    install = (
        programs / "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--constraint",
        ROOT / "constraints.txt",
    )
    minercdc, config = programs / "minercdc", lab.config(snapshot_mode="initial_only")

    done(*install, wheels["minercdc"], cwd=tmp_path)
    assert done(minercdc, "--version", cwd=tmp_path) == f"minercdc {metadata.version('minercdc')} ({BUILT_HERE})\n"
    assert "capture" in done(minercdc, "--help", cwd=tmp_path).lower()
    assert done(minercdc, "check", config, cwd=tmp_path).splitlines()[-1].startswith("ready")
    done(minercdc, "run", config, cwd=tmp_path)
    assert len(lab.topics.records(lab.topic())) == 3
    sandbox = command(minercdc, "sandbox", cwd=tmp_path)
    assert sandbox.returncode == 2
    assert "pip install 'minercdc[sandbox]'" in sandbox.stderr

    done(*install, wheels["minercdc_sandbox"], cwd=tmp_path)
    for words in ((programs / "oracle-sandbox",), (minercdc, "sandbox")):
        assert _ready(words, tmp_path).startswith("ready 127.0.0.1:")


def _ready(words: Sequence[object], cwd: Path) -> str:
    """The line that a server prints when clients may connect; it is stopped then."""
    with subprocess.Popen(
        [*map(str, words), "--port", "0"], stdout=subprocess.PIPE, text=True, cwd=cwd, env=_ENVIRONMENT
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        server.terminate()
        assert server.wait(30) == 0
    return line
