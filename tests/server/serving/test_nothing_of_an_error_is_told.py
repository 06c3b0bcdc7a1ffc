"""What goes wrong in a server is nobody's business: not its callers', and not its log's.

The text of an exception may hold a request, its notes may, and so may what caused it. Whatever is
raised in a method, a caller gets a status of the one table and, at most, a text that names limits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import grpc
import grpc.aio
import pytest
from logged import logged

from askew.dp.analyst import TopKQuestion
from askew.errors import AskewError, LedgerError, NotFound, Overloaded, WireError
from askew.noise.randomness import SystemBits
from askew.wire import releases as popular
from askew.wire.status import FIXED_TEXT
from askew.wire.v1 import popularity_pb2, retrieval_pb2
from askew_server.serving.analyst import AnalystService
from askew_server.serving.call import Answer, Job, QueueName, Service
from askew_server.serving.popularity import PopularityService
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.server import running
from askew_server.serving.settings import ServerConfig
from askew_server.serving.tokens import Tokens, add_token

SECRET = "person 17 saw Alien"
PATIENCE = 20


def planted(kind: Callable[[], Exception]) -> NoReturn:
    """Raises with the secret in every place that an exception has for text."""
    try:
        raise KeyError(SECRET)
    except KeyError as cause:
        error = kind()
        error.add_note(SECRET)
        raise error from cause


KINDS: dict[str, Callable[[], Exception]] = {
    "a bug": lambda: ValueError(SECRET),
    "an error of ours": lambda: LedgerError(SECRET),
    "several at once": lambda: ExceptionGroup(SECRET, [OSError(SECRET)]),
    "a refusal with a note": lambda: NotFound("release"),
    "no room": lambda: Overloaded("too many calls are under way"),
}


class Broken:
    """Whatever is asked of it raises."""

    def __init__(self, kind: Callable[[], Exception]) -> None:
        self._kind = kind

    snapshots = ()  # which a service looks at before its first call

    def __getattr__(self, _: str) -> NoReturn:
        planted(self._kind)


class LateService(Service):
    """One whose jobs fail, each in a queue of its own."""

    name = "askew.wire.v1.Late"

    def __init__(self, kind: Callable[[], Exception]) -> None:
        def in_lane(queue: QueueName) -> Answer:
            return lambda _, __: Job(lambda: planted(kind), queue)

        self.methods = {queue.value.title(): in_lane(queue) for queue in QueueName}


def services_of(kind: Callable[[], Exception], folder: Path) -> list[Service]:
    """Every service that there is, with what it works with broken."""
    broken: Any = Broken(kind)
    (folder / "tokens").touch(mode=0o600)
    return [
        RetrievalService(broken),
        PopularityService(broken),
        AnalystService(broken, Tokens(folder / "tokens", lambda: None)),
        LateService(kind),
    ]


REQUESTS: dict[str, bytes] = {
    "Retrieval/Retrieve": retrieval_pb2.RetrieveRequest(k=3).SerializeToString(),
    "Retrieval/GetModelCard": b"",
    "Popularity/GetRelease": popularity_pb2.GetReleaseRequest(charge=1).SerializeToString(),
    "Popularity/ListReleases": popularity_pb2.ListReleasesRequest(
        dataset="films"
    ).SerializeToString(),
    "Analyst/TopK": popular.question_to_bytes(TopKQuestion("films", 1, "key")),
    "Analyst/GetBudget": popular.budget_request_to_bytes("films"),
    "Late/Answers": b"",
    "Late/Analysts": b"",
}


def test_every_method_of_every_service_is_tried(tmp_path: Path) -> None:
    """A service or a method that is added is not forgotten here."""
    found = {
        f"{service.name.rpartition('.')[2]}/{method}"
        for service in services_of(KINDS["a bug"], tmp_path)
        for method in service.methods
    }
    declared = {
        f"{service.name}/{method.name}"
        for file in (retrieval_pb2, popularity_pb2)
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert found == set(REQUESTS) == declared | {"Late/Answers", "Late/Analysts"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", REQUESTS)
async def test_what_a_method_raises_reaches_neither_its_caller_nor_the_log(
    method: str,
    kind: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Planted bugs: str(error) as the status's text; an exception that gRPC itself answers; a
    traceback in the log.
    """
    make = KINDS[kind]
    token = "Bearer " + add_token(tmp_path / "tokens", "ada", SystemBits())
    caplog.set_level(logging.DEBUG)
    with logged() as lines:
        async with (
            running(services_of(make, tmp_path), ServerConfig(grace=0)) as server,
            grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
        ):
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
            call = channel.unary_unary(f"/askew.wire.v1.{method}")
            metadata = (("authorization", token),)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(REQUESTS[method], metadata=metadata, timeout=PATIENCE)
    code, text = caught.value.code(), caught.value.details() or ""
    rest = (caught.value.debug_error_string(), caught.value.initial_metadata())
    said = f"{text}{rest}{caught.value.trailing_metadata()}{lines.getvalue()}{caplog.text}"
    said += "".join(capfd.readouterr())
    assert "Alien" not in said
    error = make()
    assert text == (str(error) if isinstance(error, WireError) else FIXED_TEXT)
    is_ours = isinstance(error, AskewError) and not isinstance(error, LedgerError)
    assert (code is grpc.StatusCode.INTERNAL) == (not is_ours)
    assert (type(error).__name__ in lines.getvalue()) == (not is_ours)


@pytest.mark.parametrize("service", [RetrievalService, PopularityService])
def test_no_public_service_reads_who_calls(service: type) -> None:
    """A token on a question links a person's signals. Whoever sends one is answered as all are."""
    public = service(Broken(KINDS["a refusal with a note"]))
    for name, answer in public.methods.items():
        with suppress(WireError):  # of which NotFound is one
            reply = answer(REQUESTS[f"{public.name.rpartition('.')[2]}/{name}"], pytest.fail)
            if isinstance(reply, Job):
                reply.run()
