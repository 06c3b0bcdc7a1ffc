"""What every Kubernetes manifest and every compose file must say to be safe, as assertions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
PINNED = re.compile(r"[\w.-]+/[\w./-]+(@sha256:[0-9a-f]{64}|:v?\d+\.\d+\.\d+[\w.-]*)")


def check_kubernetes(documents: list[dict[str, Any]], grace: float) -> None:
    """grace: seconds that a server takes for the calls under way when it is stopped."""
    specs = {each["kind"]: each["spec"] for each in documents if "spec" in each}
    deployment, service, policy = (
        specs[kind] for kind in ("Deployment", "Service", "NetworkPolicy")
    )
    disruptions = specs["PodDisruptionBudget"]
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
    assert pod["terminationGracePeriodSeconds"] > pause + grace
    assert PINNED.fullmatch(container["image"])
    security = container["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
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


def check_compose(document: Document) -> None:
    """Names that docker knows, no service that may do harm, and servers that reach nobody."""
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
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert {"mem_limit", "cpus", "pids_limit"} <= service.keys(), name
        if "build" in service:
            assert service["networks"] == ["inside"]
            assert "ports" not in service
        for volume in service.get("volumes", ()):
            assert not volume.startswith(".") or volume.endswith(":ro"), volume
