"""The plain manifests in deploy/kubernetes, made from the chart: ``python -m deploy.helm.manifests``, or ``make manifests``.

Helm's engine is a library here, of a package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import helm_python
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "minercdc"
EXAMPLES = ROOT / "deploy" / "helm" / "examples"
MANIFESTS = ROOT / "deploy" / "kubernetes"
RELEASE, NAMESPACE = "orders", "cdc"
# Manifest and example of the same name -> what it is.
PLAIN: Mapping[str, str] = {
    "connector": "A connector with a standby. Both pods are the same: whichever is first captures, the other one waits",
    "connector-and-lake": "A connector with a standby, and the lake with its tables on a volume",
}
_HEADER = """# {what} (docs/kubernetes.md).
#   kubectl create namespace cdc
#   kubectl -n cdc create secret generic orders-database --from-literal=password=...
#   kubectl -n cdc create secret generic orders-http --from-literal=token=...    # for signals and the status page
#   kubectl -n cdc apply -f deploy/kubernetes/{name}.yaml
# Change: the configuration, the image, and the name `orders`, which is also the connector's.
# Made by `make manifests` from deploy/helm/minercdc with deploy/helm/examples/{name}.yaml.
"""
_OF_HELM = re.compile(r"^ *(?:helm\.sh/chart|app\.kubernetes\.io/managed-by|checksum/config): .*\n", re.M)


def rendered(values: Mapping[str, Any]) -> dict[str, str]:
    """What each template of the chart comes to, by the file's name. Those that come to nothing are left out.

    :param values: beside the chart's own.
    :raises helm_python.HelmError: the chart or its schema refuses the values.
    """
    with helm_python.Chart.load(CHART) as chart:
        chart.validate_schema(dict(values))
        texts = chart.render(dict(values), name=RELEASE, namespace=NAMESPACE)
    return {Path(path).name: text for path, text in texts.items() if text.strip()}


def example(name: str) -> dict[str, Any]:
    """The values of an example."""
    values: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    return values


def plain(name: str) -> str:
    """The text of a manifest: what the chart makes of its example, without what only Helm uses.

    :raises helm_python.HelmError: see `rendered`.
    """
    texts = rendered(example(name))
    parts = [texts[file].strip("\n") + "\n" for file in sorted(texts) if file.endswith(".yaml")]
    return _HEADER.format(what=PLAIN[name], name=name) + "---\n".join(_OF_HELM.sub("", part) for part in parts)


if __name__ == "__main__":
    for name in PLAIN:
        (MANIFESTS / f"{name}.yaml").write_text(plain(name))
