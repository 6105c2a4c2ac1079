"""compose.yaml holds together: what one part names, another defines."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.containers.images import CONNECTOR, LAKE
from tests.containers.stack import FILES, compose_program

from minercdc.config.load import load_config

ROOT = Path(__file__).parents[2]
IMAGES = {"connector": CONNECTOR, "lake": LAKE}
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
            assert service["image"] == IMAGES[service["build"]["target"]]
            assert f" AS {service['build']['target']}\n" in (ROOT / service["build"]["context"] / "Dockerfile").read_text()


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


_PORT = r"\$\{[A-Z]+_PORT:-\d+\}"


def published(document: dict[str, Any]) -> list[str]:
    return [port for service in document["services"].values() for port in service.get("ports", [])]


def test_ports_are_free_of_each_other_within_a_profile(document: dict[str, Any]) -> None:
    for profile in DATABASES:
        ports = [
            port.rpartition(":")[0].removeprefix("127.0.0.1:")
            for service in document["services"].values()
            if profile in service.get("profiles", [profile])
            for port in service.get("ports", [])
        ]
        assert len(ports) == len(set(ports)), ports
        assert all(re.fullmatch(rf"127\.0\.0\.1:{_PORT}:({_PORT}|\d+)", p) for p in published(document))


def test_interpolated_variables_have_defaults(document: dict[str, Any]) -> None:
    defaults: dict[str, str] = {}
    for file in FILES:
        for name, default in re.findall(r"\$\{([A-Z_]+):-([\w.:-]+)\}", (ROOT / file).read_text(encoding="utf-8")):
            assert defaults.setdefault(name, default) == default, name
    assert {"ORACLE_PORT", "KAFKA_PORT", "STATUS_PORT", "BASE_IMAGE"} < defaults.keys()
    assert "${" not in re.sub(r"\$\{[A-Z_]+:-[\w.:-]+\}", "", "".join((ROOT / file).read_text() for file in FILES))


@pytest.mark.parametrize("service", ["connector", "lake", "connector-sandbox", "lake-sandbox"])
def test_the_configuration_is_accepted_with_the_environment_of_each_service(
    document: dict[str, Any], service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = document["services"][service]
    for name, value in config["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+:-(\w+)\}", r"\1", str(value)))
    loaded = load_config(ROOT / "compose" / "connector.yaml")
    assert loaded.database.database_hostname in document["services"]
    broker, _, port = loaded.kafka.bootstrap_servers.partition(":")
    assert f"INTERNAL://{broker}:{port}" in document["services"][broker]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    mounted = {volume.split(":")[1] for volume in config["volumes"]}
    assert config["command"][-1] in mounted
    needed = loaded.capture.minercdc_state_dir if config["command"][0] == "run" else loaded.lake.minercdc_lake_path
    assert str(needed) in mounted
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert str(needed) in dockerfile  # made there for the user that the container runs as


def test_the_oracle_script_grants_what_the_guide_grants() -> None:
    def grants(path: Path) -> set[str]:
        return set(re.findall(r"(?m)^GRANT [^;]+;", path.read_text(encoding="utf-8")))

    assert grants(ROOT / "compose" / "oracle" / "01-capture.sh") == grants(ROOT / "docs" / "how-to" / "prepare-oracle.md")


@pytest.mark.usefixtures("docker_programs")
@pytest.mark.parametrize("files", [FILES[:1], FILES])
def test_compose_accepts_it(files: tuple[str, ...]) -> None:
    """`docker compose`, or Compose of version 1, which wants `version` and takes no `name`."""
    program = compose_program()
    if program is None:
        pytest.skip("Compose is not installed")
    given = [word for file in files for word in ("-f", file)]
    for profile, names in DATABASES.items():
        environment = {**os.environ, "COMPOSE_PROFILES": profile}
        asked = [*program, *given, "config", "--services"]
        done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert {"kafka", *names} <= set(done.stdout.split())


def test_it_is_for_both_versions_of_compose(document: dict[str, Any]) -> None:
    local = yaml.safe_load((ROOT / FILES[1]).read_text(encoding="utf-8"))
    for read in (document, local):
        assert re.fullmatch(r"3\.\d", read["version"])
        assert "name" not in read


def test_the_local_broker_is_our_own_image_with_a_volume_of_its_own(document: dict[str, Any]) -> None:
    local = yaml.safe_load((ROOT / FILES[1]).read_text(encoding="utf-8"))
    assert set(local["services"]) == {"kafka"}
    broker, official = local["services"]["kafka"], document["services"]["kafka"]
    assert broker["image"] == LAKE
    assert broker["read_only"]
    (volume,), (replaced,) = broker["volumes"], official["volumes"]
    assert volume.split(":")[1] == replaced.split(":")[1]  # takes the other's place; files of the other user would not do
    assert {volume.split(":")[0]} == set(local["volumes"])
    assert volume.split(":")[0] not in document["volumes"]
