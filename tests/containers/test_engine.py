"""An engine of our own leaves nothing: no process, directory or network interface."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# In a network of its own, where no other engine's bridge is.
_PROGRAM = """
import os, pathlib, subprocess, tempfile
from tests.containers.engine import own_engine
directory = pathlib.Path(tempfile.gettempdir())
with own_engine() as address:
    os.environ["DOCKER_HOST"] = address
    print(subprocess.run(["docker", "version", "--format", "up"], capture_output=True, text=True, check=True).stdout)
    assert pathlib.Path("/sys/class/net/docker0").exists()
assert not pathlib.Path("/sys/class/net/docker0").exists()
after = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout
print([line for line in after.splitlines() if "DOCKER" in line or " DROP " in line], list(directory.iterdir()))
"""


@pytest.mark.usefixtures("docker_programs")
def test_an_engine_of_our_own_leaves_nothing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not request.config.getoption("--start-engine"):
        pytest.skip("only `make containers` starts engines")
    if os.geteuid() or not all(shutil.which(program) for program in ("dockerd", "docker", "unshare", "iptables-save")):
        pytest.skip("needs root, and Docker's programs")
    directory = tmp_path_factory.mktemp("e")
    isolated = ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c"]
    mounted = 'mount -t sysfs sysfs /sys && mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null; exec "$@"'
    done = subprocess.run(
        [*isolated, mounted, "sh", sys.executable, "-c", _PROGRAM],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(directory)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["up", "[]", "[]"]
