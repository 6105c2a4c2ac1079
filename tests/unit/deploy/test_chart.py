"""The Helm chart, rendered by Helm's own engine: what comes out is valid, holds no secret, and fits what the product serves and takes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import helm_python
import jsonschema
import kubernetes_validate
import pytest
import yaml
from deploy.helm.manifests import CHART, EXAMPLES, MANIFESTS, PLAIN, ROOT, example, plain, rendered
from pydantic import SecretStr

from minercdc.config.load import SECTIONS, load_config
from minercdc.config.section import property_of
from minercdc.local.spark_artifacts import spark_jars

VERSIONS = ("1.31", "1.34", "1.37")
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
SELECTING = ("Service", "StatefulSet", "Deployment", "PodDisruptionBudget")
# What the operators' resources have, of what the chart uses.
_STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
_POD = {
    "cores": {"type": "integer", "minimum": 1},
    "memory": {"type": "string"},
    "labels": _STRINGS,
    "env": {"type": "array"},
    "envFrom": {"type": "array"},
    "volumeMounts": {"type": "array"},
    "securityContext": {"type": "object"},
    "nodeSelector": _STRINGS,
    "tolerations": {"type": "array"},
    "serviceAccount": {"type": "string"},
    "ports": {"type": "array", "items": {"type": "object", "required": ["name", "protocol", "containerPort"]}},
}
OPERATORS = {
    "SparkApplication": {
        "additionalProperties": False,
        "required": ["type", "sparkVersion", "mainApplicationFile", "driver", "executor"],
        "properties": {
            "type": {"const": "Python"},
            "pythonVersion": {"const": "3"},
            "mode": {"enum": ["cluster", "client"]},
            **{name: {"type": "string"} for name in ("image", "imagePullPolicy", "mainApplicationFile", "sparkVersion")},
            "imagePullSecrets": {"type": "array", "items": {"type": "string"}},
            "arguments": {"type": "array", "items": {"type": "string"}},
            "sparkConf": _STRINGS,
            "deps": {"type": "object", "additionalProperties": False, "properties": {"packages": {"type": "array"}}},
            "volumes": {"type": "array"},
            "restartPolicy": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "type": {"enum": ["Never", "Always", "OnFailure"]},
                    **{
                        name: {"type": "integer", "minimum": 1}
                        for name in ("onFailureRetryInterval", "onSubmissionFailureRetryInterval")
                    },
                },
            },
            "driver": {"type": "object", "additionalProperties": False, "properties": _POD},
            "executor": {
                "type": "object",
                "additionalProperties": False,
                "properties": {**_POD, "instances": {"type": "integer", "minimum": 1}},
            },
        },
    },
    "ServiceMonitor": {
        "additionalProperties": False,
        "required": ["selector", "endpoints"],
        "properties": {
            "selector": {"type": "object", "additionalProperties": False, "properties": {"matchLabels": _STRINGS}},
            "endpoints": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {name: {"type": "string"} for name in ("port", "path", "interval")},
                },
            },
        },
    },
}


def resources(values: dict[str, Any]) -> list[dict[str, Any]]:
    found = [yaml.safe_load(text) for name, text in rendered(values).items() if name.endswith(".yaml")]
    assert all(found)
    return found


def of(kind: str, found: list[dict[str, Any]], name: str = "") -> dict[str, Any]:
    (one,) = [one for one in found if one["kind"] == kind and name in one["metadata"]["name"]]
    return one


def changed(**more: Any) -> dict[str, Any]:
    """The example of a connector; a value that is a dict is added to what the example has."""
    values = example("connector")
    for name, value in more.items():
        values[name] = {**values.get(name, {}), **value} if isinstance(value, dict) else value
    return values


def config_of(found: list[dict[str, Any]]) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(of("ConfigMap", found)["data"]["connector.yaml"])
    return config


def pods(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each pod that Kubernetes would make, those of the Spark operator as far as the chart says what is in them."""
    for one in found:
        if one["kind"] in ("StatefulSet", "Deployment"):
            yield {"apiVersion": "v1", "kind": "Pod", **one["spec"]["template"]}
        if one["kind"] == "SparkApplication":
            for part in (one["spec"]["driver"], one["spec"]["executor"]):
                container = {
                    name: part[name] for name in ("env", "volumeMounts", "securityContext", "ports") if name in part
                }
                yield {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"labels": part["labels"]},
                    "spec": {"containers": [{"name": "spark", **container}], "volumes": one["spec"]["volumes"]},
                }


@pytest.mark.parametrize("name", PLAIN)
def test_the_plain_manifests_are_those_of_the_chart(name: str) -> None:
    assert (MANIFESTS / f"{name}.yaml").read_text() == plain(name), "run `make manifests`"


def test_helm_finds_no_fault_in_the_chart() -> None:
    for name in NAMES:
        report = helm_python.lint(CHART, example(name), strict=True)
        assert not report["errors"], report
        assert not [message for message in report["messages"] if message["severity"] >= 2], report


@pytest.mark.parametrize("name", NAMES)
def test_what_an_example_comes_to_is_taken(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = resources(example(name))
    for one in found:
        schema = OPERATORS.get(one["kind"])
        if schema is not None:
            jsonschema.validate(one["spec"], schema)
    for version in VERSIONS:
        for one in (*(one for one in found if one["kind"] not in OPERATORS), *pods(found)):
            kubernetes_validate.validate(one, version, strict=True)
    for pod in pods(found):
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]} | {"state"}
        for container in pod["spec"]["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            for variable in container["env"]:
                monkeypatch.setenv(variable["name"], "x" * 20)
    file = tmp_path / "connector.yaml"
    file.write_text(of("ConfigMap", found)["data"]["connector.yaml"])
    config = load_config(file)
    assert (config.identity.name, config.signals.minercdc_http_host) == ("orders", "0.0.0.0")


@pytest.mark.parametrize("name", NAMES)
def test_each_selector_means_the_pods_of_one_component(name: str) -> None:
    found = resources(example(name))
    labels = {json.dumps(pod["metadata"]["labels"], sort_keys=True): pod["metadata"]["labels"] for pod in pods(found)}
    selectors = [one["spec"]["selector"] for one in found if one["kind"] in SELECTING]
    for selector in [selector.get("matchLabels", selector) for selector in selectors]:
        assert len([one for one in labels.values() if selector.items() <= one.items()]) == 1
    ports = {port["name"] for pod in pods(found) for one in pod["spec"]["containers"] for port in one.get("ports", ())}
    services = [one for one in found if one["kind"] == "Service"]
    assert {port["targetPort"] for one in services for port in one["spec"]["ports"]} == ports


def test_prometheus_finds_every_service() -> None:
    found = resources(example("spark"))
    monitor = of("ServiceMonitor", found)
    (endpoint,) = monitor["spec"]["endpoints"]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    services = [one for one in found if one["kind"] == "Service"]
    assert len(services) == 2
    for service in services:
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert [port["name"] for port in service["spec"]["ports"]] == [endpoint["port"]]


@pytest.mark.parametrize("name", NAMES)
def test_no_pod_is_root_or_writes_to_its_root(name: str) -> None:
    found = resources(example(name))
    for pod in pods(found):
        for container in pod["spec"]["containers"]:
            context = {**pod["spec"].get("securityContext", {}), **container["securityContext"]}
            assert context["runAsNonRoot"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            # Spark's entry point writes into its own directory.
            assert context.get("readOnlyRootFilesystem", False) is (container["name"] != "spark")


def test_values_of_the_configuration_keep_their_types() -> None:
    given = {"log.mining.batch.size.max": 1000000, "lob.enabled": False, "snapshot.mode": "no", "x.y": "0123", "x.z": 1.5}
    config = config_of(resources(changed(config=given)))
    assert {name: config[name] for name in given} == given
    assert (config["name"], config["topic.prefix"]) == ("orders", "orders")
    config = config_of(resources(changed(config={"name": "one", "minercdc.log.format": "text"})))
    assert (config["name"], config["topic.prefix"], config["minercdc.log.format"]) == ("one", "one", "text")


def secret_properties() -> list[str]:
    """The properties that the product itself hides; the address of a collector is no secret unless it has a password."""
    names = [
        property_of(name)
        for section in SECTIONS.values()
        for name, field in section.model_fields.items()
        if SecretStr in (field.annotation, *get_args(field.annotation))
    ]
    return [name for name in names if name not in ("minercdc.http.token", "minercdc.opentelemetry.endpoint")]


@pytest.mark.parametrize(
    "name",
    [
        *secret_properties(),
        "minercdc.kafka.client.sasl.password",
        "minercdc.kafka.client.ssl.key.pem",
        "minercdc.lake.spark.hadoop.fs.s3a.secret.key",
        "value.converter.basic.auth.user.info",
    ],
)
def test_a_secret_in_plain_text_is_refused(name: str) -> None:
    password = {} if name == "database.password" else {"existingSecret": "orders-database"}
    values = changed(config={name: "tiger"})
    values["database"] = password
    with pytest.raises(helm_python.HelmError, match=rf"{re.escape(name)} would stand in a ConfigMap in plain text"):
        rendered(values)
    values["config"][name] = "${env:ANOTHER}"
    assert config_of(resources(values))[name] == "${env:ANOTHER}"


def test_a_password_in_a_url_is_refused() -> None:
    with pytest.raises(helm_python.HelmError, match="has a password in its URL"):
        rendered(changed(config={"schema.registry.url": "https://scott:tiger@registry:8081"}))
    assert resources(changed(config={"schema.registry.url": "https://scott:${env:X}@registry:8081"}))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"database": {"existingSecret": ""}}, "name the Secret that has the database user's password"),
        ({"config": {"database.password": "${env:X}"}}, "leave database.password out"),
        ({"config": {"minercdc.http.port": 1}}, "the chart sets minercdc.http.port; leave it out, and set http.port"),
        ({"config": {"minercdc.http.token": "${env:X}"}}, "set http.existingSecret"),
        ({"config": {"debezium.sink.type": "segments"}}, "set connector.standby to false and connector.replicas to 1"),
        ({"config": {"minercdc.kafka.transactional": False}}, "set connector.standby to false"),
        ({"connector": {"standby": False}}, "only one pod may run"),
        ({"lake": {"enabled": True, "kind": "SparkApplication"}}, "lake.spark.image: name an image"),
        ({"lake": {"enabled": True, "persistence": {"enabled": False}}}, "minercdc.lake.path is needed"),
        (
            {"lake": {"enabled": True}, "config": {"minercdc.lake.path": "s3a://b/l"}},
            "leave it out, or set lake.persistence",
        ),
        ({"config": {"database": {"hostname": "x"}}}, "/config/database.*got object"),
        ({"connecter": {}}, "connecter"),
        ({"connector": {"replicas": "two"}}, "replicas"),
        ({"lake": {"kind": "Job"}}, "kind"),
    ],
)
def test_values_that_cannot_work_are_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(helm_python.HelmError, match=said):
        rendered(changed(**more))


def test_one_instance_without_a_standby() -> None:
    values = changed(
        connector={"standby": False, "replicas": 1},
        config={"debezium.sink.type": "json", "minercdc.kafka.transactional": False},
    )
    pod = of("StatefulSet", resources(values))["spec"]["template"]
    assert pod["spec"]["containers"][0]["args"] == ["run", "/etc/minercdc/connector.yaml"]


def test_without_secrets_that_are_not_needed() -> None:
    values = changed(
        database={"existingSecret": ""},
        http={"existingSecret": ""},
        config={"minercdc.database.token.location": "/etc/token"},
    )
    found = resources(values)
    assert "env" not in of("StatefulSet", found)["spec"]["template"]["spec"]["containers"][0]
    assert not {"database.password", "minercdc.http.token"} & set(config_of(found))


def test_what_is_given_for_all_pods_is_in_all() -> None:
    more = {
        "extraEnv": [{"name": "A", "value": "b"}],
        "extraEnvFrom": [{"secretRef": {"name": "more"}}],
        "extraVolumes": [{"name": "wallet", "secret": {"secretName": "wallet"}}],
        "extraVolumeMounts": [{"name": "wallet", "mountPath": "/etc/wallet"}],
        "imagePullSecrets": ["pull"],
        "serviceAccount": {"create": True, "annotations": {"a": "b"}},
    }
    for name in NAMES:
        found = resources({**example(name), **more})
        assert of("ServiceAccount", found)["metadata"]["name"] == "orders"
        for pod in pods(found):
            (container,) = pod["spec"]["containers"]
            assert {"name": "A", "value": "b"} in container["env"]
            assert {"name": "wallet", "mountPath": "/etc/wallet"} in container["volumeMounts"]
            assert more["extraVolumes"][0] in pod["spec"]["volumes"]  # type: ignore[index]
            kubernetes_validate.validate(pod, VERSIONS[-1], strict=True)


def test_a_change_of_the_configuration_starts_the_pods_again() -> None:
    def annotation(**more: Any) -> str:
        pod = of("StatefulSet", resources(changed(**more)))["spec"]["template"]
        return str(pod["metadata"]["annotations"]["checksum/config"])

    assert annotation() == annotation(connector={"replicas": 3})
    assert annotation() != annotation(config={"lob.enabled": True})


def test_the_lake_of_the_spark_operator_is_that_of_the_product() -> None:
    spark = yaml.safe_load((CHART / "values.yaml").read_text())["lake"]["spark"]
    assert tuple(spark["packages"]) == spark_jars("4.2")
    assert f"pyspark=={spark['version']}" in (ROOT / "constraints.txt").read_text().splitlines()
    inside = spark["mainApplicationFile"].removeprefix("local:///opt/minercdc/lib/python3.11/site-packages/")
    assert (ROOT / "src" / inside).exists()
    assert set(spark["packages"]) < set(example("spark")["lake"]["spark"]["packages"])


def test_the_schema_has_the_values_and_no_others() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())

    def compare(values: dict[str, Any], schema: dict[str, Any], path: str) -> None:
        schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        if "properties" not in schema:
            return
        assert schema["additionalProperties"] is False, path
        assert set(schema["properties"]) - {"global"} == set(values), path
        for name, value in values.items():
            if isinstance(value, dict):
                compare(value, schema["properties"][name], f"{path}.{name}")

    schemas = schema["definitions"]
    compare(values, schema, "values")


def test_chart_image_and_product_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)
    image = of("StatefulSet", resources(example("spark")))["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == f"minercdc:{version}"


@pytest.mark.parametrize("name", NAMES)
def test_the_notes_name_what_is_there(name: str) -> None:
    notes = rendered(example(name))["NOTES.txt"]
    found = resources(example(name))
    names = {(one["kind"].lower(), one["metadata"]["name"]) for one in found}
    kinds = {"deploy": "deployment"}
    for kind, resource in re.findall(r"\b(statefulset|deploy|sparkapplication)[/ ]([\w-]+)", notes):
        assert (kinds.get(kind, kind), resource) in names
    assert ("the lake" in notes.lower()) is (name != "connector")
    assert "-n cdc " in notes


def test_the_page_names_values_that_there_are() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    named = set(
        re.findall(r"`((?:image|config|database|http|connector|lake|serviceMonitor|serviceAccount)(?:\.[a-zA-Z]+)+)`", page)
    )
    assert len(named) > 10
    for name in named:
        found: Any = values
        if name.startswith(("database.", "http.")) and name.split(".")[1] not in values[name.split(".")[0]]:
            continue  # a property of the connector
        for part in name.split("."):
            assert part in found, name
            found = found[part]
