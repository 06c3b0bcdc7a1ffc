"""What a server is run by, in containers: it fits its schema, and each part fits the others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy.manifests import compose_complaints, kubernetes_complaints, schema_complaints

from askew_server.serving.settings import configuration_of, read_file

DEPLOY = Path(__file__).parents[2] / "deploy"
KUBERNETES = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
COMPOSE = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
TOML = (DEPLOY / "server.toml").read_text(encoding="utf-8")


def configuration() -> Any:
    found = read_file(DEPLOY / "server.toml")
    assert found.problems == ()
    return configuration_of(found.values)


def replaced(text: str, shipped: str, planted: str) -> str:
    assert shipped in text
    return text.replace(shipped, planted)


def documents(text: str = KUBERNETES) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def kubernetes(text: str = KUBERNETES) -> list[str]:
    return kubernetes_complaints(documents(text), configuration().server.grace)


def test_the_manifests_fit_their_schema_and_each_other() -> None:
    assert schema_complaints(documents()) == []
    assert kubernetes() == []


def test_a_name_that_no_cluster_knows_is_seen() -> None:
    planted = replaced(KUBERNETES, "failureThreshold: 150", "failuresThreshold: 150")
    [complaint] = schema_complaints(documents(planted))
    assert "failuresThreshold" in complaint


@pytest.mark.parametrize(
    ("shipped", "planted", "complaint"),
    [
        ("replicas: 2", "replicas: 1", "an eviction takes all, or can take none"),
        ("minAvailable: 1", "minAvailable: 2", "an eviction takes all, or can take none"),
        ("maxUnavailable: 0", "maxUnavailable: 1", "an upgrade takes servers before"),
        ("grpc: {port: 7571}", "grpc: {port: 7572}", "startupProbe asks a port that nobody has"),
        ("path: /live, port: metrics", "path: /live, port: web", "livenessProbe asks a port"),
        ("  podSelector:\n    matchLabels: {app: a", "  podSelector:\n    matchLabels: {app: b",
         "NetworkPolicy selects other pods"),
        ("selector: {app: askew-server}", "selector: {app: askew}", "Service selects other pods"),
        ("{askew.example/proxy: \"true\"}", "{}", "anybody may call"),
        ("egress: []", "egress: [{}]", "a server may call others"),
        ("protocol: TCP, port: grpc", "protocol: TCP, port: web", "the policy opens a port"),
        ("targetPort: grpc", "targetPort: web", "the service leads to a port that nobody has"),
        ("runAsNonRoot: true", "runAsNonRoot: false", "the pod may run as root"),
        ("runAsUser: 10001", "runAsUser: 0", "the pod may run as root"),
        ("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "its files can be"),
        ("drop: [ALL]", "drop: [NET_RAW]", "it has capabilities"),
        ("server:0.1.0", "server:latest", "registry.example/askew-server:latest is not pinned"),
        (", memory: 2Gi", "", "no limits"),
        ("terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 20", "it is killed"),
        ("models, mountPath", "model, mountPath", "no volume model"),
        ("automountServiceAccountToken: false", "automountServiceAccountToken: true", "the pod h"),
    ],
)  # fmt: skip
def test_a_bug_in_a_manifest_is_seen(shipped: str, planted: str, complaint: str) -> None:
    found = kubernetes(replaced(KUBERNETES, shipped, planted))
    assert [each for each in found if each.startswith(complaint)]


def test_the_servers_of_both_have_one_configuration() -> None:
    """That of the file beside, whose ports are the ones that are asked."""
    [config] = [each for each in documents() if each["kind"] == "ConfigMap"]
    assert config["data"]["server.toml"] == TOML
    server = configuration().server
    assert (server.port, server.metrics.port) == (7571, 7580)
    for asked in ("askew-1:7571", "askew-2:7571"):
        assert asked in (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    [job] = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text("utf-8"))["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["askew-1:7580", "askew-2:7580"]}]


def test_the_compose_file_opens_no_more_than_the_proxy() -> None:
    document = yaml.safe_load(COMPOSE)
    assert compose_complaints(document) == []
    opened = {name: each["ports"] for name, each in document["services"].items() if "ports" in each}
    assert opened == {"proxy": ["443:8443"], "prometheus": ["127.0.0.1:9090:9090"]}
    beside = {*re.findall(r"^ +- \./([\w.]+)[:/]", COMPOSE, re.MULTILINE)}
    made = {"models", "tls"}  # the operator's own
    assert {name for name in beside if not (DEPLOY / name).exists()} == made


@pytest.mark.parametrize(
    ("shipped", "planted", "complaint"),
    [
        ('user: "10001:10001"', 'user: "0:0"', "askew-1: runs as root"),
        ("read_only: true", "read_only: false", "askew-1: its files can be written"),
        ("cap_drop: [ALL]", "cap_drop: []", "askew-1: has capabilities"),
        ("unprivileged:1.28.0-alpine3.21", "unprivileged", "proxy: docker.io/nginxinc/nginx-unpr"),
        ("internal: true", "internal: false", "servers reach the network outside"),
        ("networks: [inside]\n  mem", "networks: [inside, outside]\n  mem", "askew-1: can be reac"),
        ("mem_limit: 2g", "x-mem: 2g", "askew-1: has no limits"),
        ("models:ro", "models", "askew-1: ./models:/srv/askew/models can be written"),
    ],
)
def test_a_bug_in_the_compose_file_is_seen(shipped: str, planted: str, complaint: str) -> None:
    found = compose_complaints(yaml.safe_load(replaced(COMPOSE, shipped, planted)))
    assert [each for each in found if each.startswith(complaint)]
