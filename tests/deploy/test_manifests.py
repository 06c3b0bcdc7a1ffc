"""What a server is deployed by: manifests, alerts and the unit name what there is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import grpc
import kubernetes_validate
import pytest
import yaml
from deploy.test_image import check_options
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from askew_server.serving.admission import Admission
from askew_server.serving.metrics import Observer
from askew_server.serving.settings import SETTINGS, ServerConfig, read_file

PINNED = re.compile(r"[\w.-]+/[\w./-]+(@sha256:[0-9a-f]{64}|:v?\d+\.\d+\.\d+[\w.-]*)")

# Of the Compose specification, what we use: a name that is none ends `docker compose`.
COMPOSE_KEYS = {
    **dict.fromkeys(("image", "user", "command", "restart"), str),
    **dict.fromkeys(("cap_drop", "security_opt", "volumes", "networks", "tmpfs", "ports"), list),
    **dict.fromkeys(("mem_limit", "stop_grace_period"), str),
    **dict.fromkeys(("cpus", "pids_limit"), int),
    **dict.fromkeys(("build", "depends_on"), dict),
    "read_only": bool,
}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
DEPLOY = Path(__file__).parents[2] / "deploy"
KUBERNETES = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
COMPOSE = (DEPLOY / "compose.yml").read_text(encoding="utf-8")
TOML = (DEPLOY / "server.toml").read_text(encoding="utf-8")


def configuration() -> ServerConfig:
    return ServerConfig(**SETTINGS.read({}, {}, read_file(DEPLOY / "server.toml")))


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES))


def test_the_manifests_fit_their_schema_and_each_other_and_are_safe() -> None:
    for document in documents():
        kubernetes_validate.validate(document, "1.33", strict=True)
    specs = {each["kind"]: each["spec"] for each in documents() if "spec" in each}
    kinds = ("Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget")
    deployment, service, policy, disruptions = (specs[kind] for kind in kinds)
    labels, pod = deployment["template"]["metadata"]["labels"], deployment["template"]["spec"]
    for selected in (  # each selects the pods of the deployment
        deployment["selector"]["matchLabels"],
        service["selector"],
        disruptions["selector"]["matchLabels"],
        policy["podSelector"]["matchLabels"],
    ):
        assert selected
        assert selected.items() <= labels.items()
    security = pod["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"]
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    [container] = pod["containers"]
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > pause + configuration().grace
    assert PINNED.fullmatch(container["image"])
    safe = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True}
    assert container["securityContext"] == safe | {"capabilities": {"drop": ["ALL"]}}
    for bound in ("requests", "limits"):
        assert container["resources"][bound].keys() == {"cpu", "memory"}
    assert all(mount["readOnly"] is True for mount in container["volumeMounts"])
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted <= {volume["name"] for volume in pod["volumes"]}
    names = {port["name"]: port["containerPort"] for port in container["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        how = container[probe]
        assert (how.get("grpc") or how["httpGet"])["port"] in {*names, *names.values()}
    assert {port["targetPort"] for port in service["ports"]} <= names.keys()
    # A server calls nobody, and only who is named calls it.
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert not policy["egress"]
    for rule in policy["ingress"]:
        peers = [peer for each in rule["from"] for peer in each.values()]
        assert peers
        assert all(peer.get("matchLabels") for peer in peers)
        assert rule["ports"]
        assert {each["port"] for each in rule["ports"]} <= names.keys()
    # An eviction takes one, and an upgrade none before there is another.
    assert 0 < disruptions["minAvailable"] < deployment["replicas"]
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_the_servers_of_both_have_one_configuration() -> None:
    """That of the file beside, whose ports are the ones that are asked."""
    [config] = [document for document in documents() if document["kind"] == "ConfigMap"]
    assert config["data"]["server.toml"] == TOML
    server = configuration()
    assert (server.port, server.metrics_port) == (7571, 7580)
    names = [f"askew-{number}" for number in (1, 2, 3)]
    for asked in (f"{name}:{port}" for name in names for port in (7571, 7572)):
        assert asked in (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    [job] = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text("utf-8"))["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"{name}:7580" for name in names]}]


def test_the_compose_file_opens_no_more_than_the_proxy() -> None:
    """Names that docker knows, no service that may do harm, and servers that reach nobody."""
    # As Compose makes it where no variable is set.
    document = yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", COMPOSE))
    parts = {key for key in document if not key.startswith("x-")}
    assert parts == {"name", "services", "networks", "volumes"}
    assert document["networks"]["inside"]["internal"] is True
    for name, service in document["services"].items():
        for key, value in service.items():
            assert type(value) is COMPOSE_KEYS.get(key), (name, key)
        volumes = {each.partition(":")[0] for each in service.get("volumes", ())}
        assert {each for each in volumes if "/" not in each} <= document["volumes"].keys()
        assert set(service.get("networks", ())) <= document["networks"].keys()
        for other, how in service.get("depends_on", {}).items():
            assert other in document["services"]
            assert how.keys() == {"condition"}
            assert how["condition"] in CONDITIONS
        assert PINNED.fullmatch(service["image"]) or "build" in service, name
        assert not service["user"].startswith(("0", "root")), name
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert {"mem_limit", "cpus", "pids_limit"} <= service.keys(), name
        if "build" in service:
            assert service["networks"] == ["inside"]
            assert "ports" not in service
        for volume in service.get("volumes", ()):
            assert not volume.startswith(".") or volume.endswith(":ro"), volume
    opened = {name: each["ports"] for name, each in document["services"].items() if "ports" in each}
    assert opened == {"proxy": ["443:8443"], "prometheus": ["127.0.0.1:9090:9090"]}
    beside = {*re.findall(r"^ +- \./([\w.]+)[:/]", COMPOSE, re.MULTILINE)}
    assert {name for name in beside if not (DEPLOY / name).exists()} == set()
    for service in document["services"].values():
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
            words = service["command"].split()
            check_options(words[0], words[1:])
    # What is mounted is what is read there, and what is open is what listens.
    server, proxy, prometheus = (
        [each.split(":")[1] for each in document["services"][name]["volumes"]]
        for name in ("askew-1", "proxy", "prometheus")
    )
    recipe, nginx = ((DEPLOY / name).read_text() for name in ("Containerfile", "nginx.conf"))
    assert server[0] in document["services"]["askew-1"]["command"].split()
    assert f"/empty {server[1]}" in recipe
    assert f"ssl_certificate {proxy[1]}/server.pem;" in nginx
    assert "listen 8443 ssl" in nginx
    assert prometheus[1] == str(Path(prometheus[0]).parent / "alerts.yaml")
    said, taken = COMPOSE.partition("name: askew")[::2]  # what its head explains
    assert {*re.findall(r"ASKEW_\w+", said)} == {*re.findall(r"\$\{(\w+)", taken)}


(GROUP,) = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
RULES: list[dict[str, Any]] = GROUP["rules"]
# Of the language of expressions, beside names of metrics; see Prometheus' own documents.
METRIC_WORDS = """
rate increase sum max min by changes histogram_quantile min_over_time max_over_time count ignoring
group_left instance queue method service status code le monday digest job
"""
OF_THE_READER = {"up"}  # Prometheus makes it itself


def published() -> dict[str, set[str]]:
    """The names that a server with everything on publishes, with the labels of each."""
    observer = Observer()
    observer.method("askew.wire.v1.Retrieval", "Retrieve")("OK", 0.1)
    Admission("answers", ServerConfig(), observer)
    observer.serving.labels("askew.wire.v1.Retrieval").set(1)
    observer.serves(lambda: 4, lambda: {4: "ab" * 8})
    observer.shows_certificate(lambda: 30.0)
    observer.fetches.labels("200").inc()
    families = text_string_to_metric_families(generate_latest(observer.registry).decode())
    samples = [sample for family in families for sample in family.samples]
    return {sample.name: set(sample.labels) for sample in samples}


def names_in(expression: str) -> set[str]:
    """The metrics of an expression: what is left of its words without selectors and functions."""
    plain = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b\d[\w.]*", " ", expression)
    return set(re.findall(r"[a-z_]\w*", plain)) - {*METRIC_WORDS.split()} - OF_THE_READER


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_what_there_is(rule: dict[str, Any]) -> None:
    """Planted bugs: a metric without its `_total`; a status that gRPC does not have."""
    there, expression = published(), rule["expr"]
    names = names_in(expression)
    assert names <= set(there)
    assert names or "up{" in expression
    for name, selector in re.findall(r"(\w+)\{([^}]*)\}", expression):
        labels = dict(re.findall(r'(\w+)=~?"([^"]*)"', selector))
        assert set(labels) <= there.get(name, set()) | {"job"}
        assert set(labels.get("status", "OK").split("|")) <= {each.name for each in grpc.StatusCode}
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        known = {label for name in names for label in there[name]} | {"instance", "job"}
        assert set(grouped.replace(" ", "").split(",")) <= known
    assert expression.count("(") == expression.count(")")


DASHBOARD = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_a_panel_of_the_dashboard_asks_for_what_there_is(panel: dict[str, Any]) -> None:
    """Planted bug: a metric of an older server, for which a panel stays empty without a word."""
    there = published()
    for target in panel["targets"]:
        names = names_in(target["expr"])
        assert names
        assert names <= set(there)
        labels = {label for name in names for label in there[name]} | {"instance", "job"}
        assert set(re.findall(r"(\w+)(?:=~|!=|=)\"", target["expr"])) <= labels
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels


def test_models_of_two_jobs_are_not_compared() -> None:
    """Places and tastes have Mondays and files of their own. Planted bug: a group without `job`."""
    rules = {rule["alert"]: rule["expr"] for rule in RULES}
    text = rules["AskewVersionsDiffer"] + rules["AskewCatalogChanged"]
    groups = re.findall(r"(?:max|min|count) (?:by \(([^)]*)\))?", text)
    assert ["job" in group.split(", ") for group in groups] == [True] * 4


WORDS = (DEPLOY / "askew-server@.service").read_text(encoding="utf-8")


def said(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", WORDS, re.MULTILINE)


def analyze(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """systemd-analyze of a unit, whose program is one that is here."""
    if not shutil.which("systemd-analyze"):
        if os.environ.get("ASKEW_ENGINES") == "require":
            raise RuntimeError("ASKEW_ENGINES=require, but systemd-analyze is not installed")
        pytest.skip("systemd-analyze is not installed; get it by: apt-get install systemd")
    path = folder / "askew-server@1.service"
    path.write_text(re.sub("(?m)^ExecStart=.*", "ExecStart=/bin/true", WORDS), encoding="utf-8")
    program = ["systemd-analyze", *command, str(path)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_systemd_reads_it_without_a_complaint_and_it_leaves_little_to_do_harm_with(
    tmp_path: Path,
) -> None:
    assert analyze(tmp_path, "verify").stderr == ""
    threshold = "--threshold=14"  # of 100, at which there is no sandbox
    assert analyze(tmp_path, "security", "--offline=true", threshold).returncode == 0


def test_it_starts_a_command_that_exists_and_reloads_without_an_end() -> None:
    [start] = said("ExecStart")
    program, command, *options = start.split()
    assert program.endswith("/askew-server")
    check_options(command, options)
    assert said("ExecReload") == ["/bin/kill -HUP $MAINPID"]
    assert said("WatchdogSec") == []  # nobody would answer it
