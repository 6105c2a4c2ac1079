"""compose.yaml holds together: what one part names, another defines."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from minercdc.config.load import load_config

ROOT = Path(__file__).parents[2]
DATABASES = {"oracle": ("oracle", "connector", "lake"), "sandbox": ("sandbox", "connector-sandbox", "lake-sandbox")}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return loaded


def test_every_service_has_an_image_or_a_build(document: dict[str, Any]) -> None:
    assert set(document["services"]) == {"kafka", *(name for names in DATABASES.values() for name in names)}
    for name, service in document["services"].items():
        assert service.keys() & {"image", "build"}, name
        if "build" in service:
            assert (ROOT / service["build"] / "Dockerfile").is_file()


def test_dependencies_exist_in_the_same_profile_and_have_what_is_waited_for(document: dict[str, Any]) -> None:
    services = document["services"]
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in services, f"{name} depends on {other}"
            assert set(service["profiles"]) <= set(services[other].get("profiles", service["profiles"])), (name, other)
            assert how["condition"] in ("service_healthy", "service_started")
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[other], f"{name} waits for {other}"


def test_each_profile_is_a_whole_pipeline(document: dict[str, Any]) -> None:
    services = document["services"]
    for profile, names in DATABASES.items():
        assert {name for name, service in services.items() if service.get("profiles") == [profile]} == set(names)
    assert "profiles" not in services["kafka"]


def test_volumes_are_declared_and_files_are_there(document: dict[str, Any]) -> None:
    used: set[str] = set()
    for service in document["services"].values():
        for volume in service.get("volumes", []):
            source, target = volume.split(":")[:2]
            assert target.startswith("/")
            if source.startswith("."):
                assert (ROOT / source).exists(), source
            else:
                used.add(source)
    assert used == set(document["volumes"])


def test_ports_are_free_of_each_other_within_a_profile(document: dict[str, Any]) -> None:
    for profile in DATABASES:
        ports = [
            port.split(":")[0]
            for service in document["services"].values()
            if profile in service.get("profiles", [profile])
            for port in service.get("ports", [])
        ]
        assert len(ports) == len(set(ports)), ports
        assert all(re.fullmatch(r"\d+:\d+", p) for s in document["services"].values() for p in s.get("ports", []))


def test_interpolated_variables_have_defaults(document: dict[str, Any]) -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    variables = re.findall(r"\$\{([^}]*)\}", text)
    assert variables
    assert all(re.fullmatch(r"[A-Z_]+:-\w+", variable) for variable in variables), variables


@pytest.mark.parametrize("service", ["connector", "lake", "connector-sandbox", "lake-sandbox"])
def test_the_configuration_is_accepted_with_the_environment_of_each_service(
    document: dict[str, Any], service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = document["services"][service]
    for name, value in config["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+:-(\w+)\}", r"\1", value))
    loaded = load_config(ROOT / "compose" / "connector.yaml")
    assert loaded.database.database_hostname in document["services"]
    broker, _, port = loaded.kafka.bootstrap_servers.partition(":")
    assert f"INTERNAL://{broker}:{port}" in document["services"][broker]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    mounted = {volume.split(":")[1] for volume in config["volumes"]}
    assert config["command"][-1] in mounted
    needed = loaded.log_mining.minercdc_state_dir if config["command"][0] == "run" else loaded.lake.minercdc_lake_path
    assert str(needed) in mounted
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert str(needed) in dockerfile  # made there for the user that the container runs as


def test_the_oracle_script_grants_what_the_guide_grants() -> None:
    def grants(path: Path) -> set[str]:
        return set(re.findall(r"(?m)^GRANT [^;]+;", path.read_text(encoding="utf-8")))

    assert grants(ROOT / "compose" / "oracle" / "01-capture.sh") == grants(ROOT / "docs" / "operations.md")


def test_docker_compose_accepts_it() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker compose is not installed")
    for profile, names in DATABASES.items():
        done = subprocess.run(
            [docker, "compose", "--profile", profile, "config", "--format", "json"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert set(json.loads(done.stdout)["services"]) == {"kafka", *names}
