"""What is wrong with a set of Kubernetes manifests, or with a compose file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import kubernetes_validate

Document = Mapping[str, Any]
SCHEMA = "1.33"
PINNED = re.compile(r"[\w.-]+/[\w./-]+(@sha256:[0-9a-f]{64}|:v?\d+\.\d+\.\d+[\w.-]*)")


def kubernetes_complaints(documents: list[dict[str, Any]], grace: float) -> list[str]:
    """grace: seconds that a server takes for the calls under way when it is stopped."""
    by_kind = {each["kind"]: each for each in documents}
    pod = by_kind["Deployment"]["spec"]["template"]
    return [
        *_selectors(by_kind, pod["metadata"]["labels"]),
        *_pod(pod["spec"], grace),
        *(words for each in pod["spec"]["containers"] for words in _container(each)),
        *_ports(pod["spec"]["containers"][0], by_kind["Service"]["spec"]),
        *_mounts(pod["spec"]),
        *_policy(by_kind["NetworkPolicy"]["spec"], pod["spec"]["containers"][0]),
        *_disruptions(by_kind),
    ]


def schema_complaints(documents: list[dict[str, Any]]) -> list[str]:
    """What no cluster would take, unknown names among it."""
    found = []
    for document in documents:
        try:
            kubernetes_validate.validate(document, SCHEMA, strict=True)
        except kubernetes_validate.ValidationError as error:
            found.append(f"{document['kind']}: {error.message}")
    return found


def _selectors(by_kind: Mapping[str, Document], labels: Document) -> Iterator[str]:
    """Each kind that selects pods selects those of the deployment."""
    selected = {
        "Deployment": by_kind["Deployment"]["spec"]["selector"]["matchLabels"],
        "Service": by_kind["Service"]["spec"]["selector"],
        "PodDisruptionBudget": by_kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        "NetworkPolicy": by_kind["NetworkPolicy"]["spec"]["podSelector"].get("matchLabels", {}),
    }
    for kind, wanted in selected.items():
        if not wanted or not wanted.items() <= labels.items():
            yield f"{kind} selects other pods"


def _pod(spec: Document, grace: float) -> Iterator[str]:
    security = spec.get("securityContext", {})
    if security.get("runAsNonRoot") is not True or not security.get("runAsUser"):
        yield "the pod may run as root"
    if security.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "no profile of system calls"
    if spec.get("automountServiceAccountToken") is not False:
        yield "the pod holds a token of the cluster"
    pause = spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    if spec["terminationGracePeriodSeconds"] <= pause + grace:
        yield "it is killed while calls are under way"


def _container(container: Document) -> Iterator[str]:
    if not PINNED.fullmatch(container["image"]):
        yield f"{container['image']} is not pinned"
    security = container.get("securityContext", {})
    if security.get("allowPrivilegeEscalation") is not False:
        yield "it may gain rights"
    if security.get("readOnlyRootFilesystem") is not True:
        yield "its files can be written"
    if security.get("capabilities") != {"drop": ["ALL"]}:
        yield "it has capabilities"
    for bound in ("requests", "limits"):
        if container.get("resources", {}).get(bound, {}).keys() != {"cpu", "memory"}:
            yield f"no {bound}"


def _ports(container: Document, service: Document) -> Iterator[str]:
    names = {each["name"]: each["containerPort"] for each in container["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        how = container.get(probe, {})
        port = (how.get("grpc") or how.get("httpGet") or {}).get("port")
        if port not in {*names, *names.values()}:
            yield f"{probe} asks a port that nobody has"
    for each in service["ports"]:
        if each["targetPort"] not in names:
            yield "the service leads to a port that nobody has"


def _mounts(spec: Document) -> Iterator[str]:
    volumes = {each["name"] for each in spec["volumes"]}
    for container in spec["containers"]:
        for mount in container["volumeMounts"]:
            if mount["name"] not in volumes:
                yield f"no volume {mount['name']}"
            if mount.get("readOnly") is not True:
                yield f"{mount['mountPath']} can be written"


def _policy(spec: Document, container: Document) -> Iterator[str]:
    if set(spec["policyTypes"]) != {"Ingress", "Egress"} or spec.get("egress"):
        yield "a server may call others"
    names = {each["name"] for each in container["ports"]}
    for rule in spec["ingress"]:
        if not rule.get("from") or not all(map(_selects, rule["from"])):
            yield "anybody may call"
        if not rule.get("ports") or {each["port"] for each in rule["ports"]} - names:
            yield "the policy opens a port that nobody has"


def _selects(peer: Document) -> bool:
    return any(each.get("matchLabels") for each in peer.values())


def _disruptions(by_kind: Mapping[str, Document]) -> Iterator[str]:
    deployment = by_kind["Deployment"]["spec"]
    if not 0 < by_kind["PodDisruptionBudget"]["spec"]["minAvailable"] < deployment["replicas"]:
        yield "an eviction takes all, or can take none"
    if deployment["strategy"]["rollingUpdate"]["maxUnavailable"] != 0:
        yield "an upgrade takes servers before there are others"


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


def compose_complaints(document: Document) -> list[str]:
    """What ends `docker compose`, and what is wrong with a service or the servers' network."""
    services: Mapping[str, Document] = document["services"]
    found = [f"{name}: {words}" for name, each in services.items() for words in _service(each)]
    for name, service in services.items():
        found += [
            f"{name}: {key} is no name of the specification, or of another type"
            for key, value in service.items()
            if type(value) is not COMPOSE_KEYS.get(key)
        ]
        volumes = {each.partition(":")[0] for each in service.get("volumes", ())}
        named = {
            "networks": service.get("networks", ()),
            "volumes": {each for each in volumes if "/" not in each},
            "services": service.get("depends_on", {}),
        }
        found += [
            f"{name}: {each} is none of {kind}"
            for kind, names in named.items()
            for each in set(names) - document[kind].keys()
        ]
        found += [
            f"{name}: {each} is no condition"
            for each in service.get("depends_on", {}).values()
            if each.keys() != {"condition"} or each["condition"] not in CONDITIONS
        ]
    if unknown := {key for key in document if not key.startswith("x-")} - {"name", *_PARTS}:
        found.append(f"{unknown} is no name of the specification")
    if document["networks"]["inside"].get("internal") is not True:
        found.append("servers reach the network outside")
    return found


_PARTS = {"services", "networks", "volumes"}


def _service(service: Document) -> Iterator[str]:
    if not (PINNED.fullmatch(service["image"]) or "build" in service):
        yield f"{service['image']} is not pinned"
    if service.get("user", "0").startswith(("0", "root")):
        yield "runs as root"
    if service.get("read_only") is not True:
        yield "its files can be written"
    if service.get("cap_drop") != ["ALL"]:
        yield "has capabilities"
    if service.get("security_opt") != ["no-new-privileges:true"]:
        yield "may gain rights"
    if not {"mem_limit", "cpus", "pids_limit"} <= service.keys():
        yield "has no limits"
    if "build" in service and (service["networks"] != ["inside"] or "ports" in service):
        yield "can be reached from outside"
    for volume in service.get("volumes", ()):
        if volume.startswith(".") and not volume.endswith(":ro"):
            yield f"{volume} can be written"
