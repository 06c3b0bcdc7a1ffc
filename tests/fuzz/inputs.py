"""Everything that reads what another wrote, each with a proper input: a table for the fuzzers.

A file is read from a disk in memory. Files that a digest covers are signed anew after they were
altered, or no change would come further than the digest.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import socket
import ssl
import struct
import warnings
import zipfile
from base64 import encodebytes
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cached_property
from http.client import HTTPConnection
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.utils import CryptographyDeprecationWarning
from issuer import Issuer
from served_rows import rows_model
from server.ledger.scenes import new_ledger, open_ledger
from small_collections import keys_of, small_map
from wire import metric_world as metric
from wire import taste_world as taste
from wire.messages import DOCUMENT, SENT

from askew.catalog.catalog_file import FIRST, HEAD_BYTES, OF_ROWS_BYTES, FileHead, Part, file_of
from askew.catalog.item import Item
from askew.dp.mark import START, Mark, compare
from askew.dp.mark import encode as encode_mark
from askew.dp.privacy import SignalCharge
from askew.dp.release import release_from_bytes
from askew.errors import AskewError
from askew.protocol.cards import ALL_NUMBER, ServingMode
from askew.wire.catalog_file import live_to_bytes, rows_from_body, rows_to_bytes, with_live_values
from askew.wire.places import all_places_to_bytes, places_from_bytes
from askew_client.catalog.cache import CatalogCache, Record, Version
from askew_client.catalog.https import Download, as_ours
from askew_client.near.gazetteer import spot_of
from askew_client.near.pick import preferences_of
from askew_client.profile.document import NamedPlace, PastAnswer, ProfileDocument, ReceivedItem
from askew_client.profile.files import read_export
from askew_client.profile.store import ProfileStore
from askew_client.settings import config as device_settings
from askew_client.settings.regions import corners_of, region_of
from askew_client.settings.settings import Caps, StaticHost
from askew_client.signals.store import SignalStore, decode_signal, encode_signal
from askew_server.cli.saved_model import load as load_saved
from askew_server.collections import artifact as metric_artifact
from askew_server.collections.intake import (
    AttributeOption,
    CollectionFile,
    read_collection,
    read_towns,
)
from askew_server.collections.model import MetricModel
from askew_server.published.reader import ReleaseReader
from askew_server.ratings.reader import read_items, read_ratings
from askew_server.ratings.vectors import read_vectors
from askew_server.release.forecast import expected_counts
from askew_server.serving import settings as server_settings
from askew_server.serving.certificates import read_pair
from askew_server.serving.tokens import Tokens
from askew_server.tables import open_table
from askew_server.taste import artifact as taste_artifact
from askew_server.taste import paid_matrix
from askew_server.taste.model import train
from askew_server.taste.options import TrainingOptions

SIGNAL = taste.QUERY.signal
TOKENS = f"{hashlib.sha256(b't' * 43).hexdigest()} ann\n".encode()
CAFES = b"title,latitude,longitude,key,kind,price\nBlue,52.5,13.4,a,tea,2\nRed,48.1,11.6,b,,x\n"
GEOJSON = b"""{"type": "FeatureCollection", "features": [
    {"type": "Feature", "id": "a", "geometry": {"type": "Point", "coordinates": [13.4, 52.5]},
     "properties": {"name": "Blue", "kind": "tea", "price": 2.5, "open": true}},
    {"geometry": {"type": "Point", "coordinates": [11, 48]}, "properties": {"name": "Red"}}]}"""


@dataclass
class World:
    """A folder, and what proper inputs are made of."""

    folder: Path
    _valid: dict[str, bytes] = field(default_factory=dict)

    def written(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)
        return path

    @cached_property
    def identity(self) -> tuple[bytes, bytes]:
        return Issuer(datetime.now(UTC), 30).server(["localhost", "127.0.0.1"])

    @cached_property
    def tastes(self) -> Path:
        rows = [f"{n},film {m},{1 + (n * m + n) % 5}\n" for n in range(20) for m in range(n % 3, 6)]
        path = self.written("few.csv", ("user,item,rating\n" + "".join(rows)).encode())
        table, _ = read_ratings(path)
        options = TrainingOptions(min_ratings=2, least_likes=2)
        taste_artifact.save(train(table, {}, options, source="few"), self.folder / "tastes")
        return self.folder / "tastes"

    @cached_property
    def places(self) -> Path:
        model, directory = small_map(), self.folder / "places"
        metric_artifact.save(model, directory, {"cafes": keys_of(30)})
        path = metric_artifact.live_path(directory, 0)
        metric_artifact.write_live(path, model.collections["cafes"])
        return directory

    @cached_property
    def profile(self) -> ProfileDocument:
        place = NamedPlace("0" * 32, spot_of("52.5, 13.4"))
        answer = PastAnswer(date(2026, 11, 1), "2026-11", ("Heat (1995)",), "Heat (1995)")
        document = ProfileDocument().edited({"Heat (1995)": (4.5,), "Alien": (None,)})
        met = ReceivedItem(Item("Brazil", 1985, ("Drama",)), b"\x12", 3)
        document = document.receiving("ab" * 16, [met])
        return document.with_place("home", place).answered(answer)

    @cached_property
    def matrix(self) -> bytes:
        path = self.folder / "matrix"
        noise = (str(Fraction(1)), str(Fraction(1, 1000)))
        fields = paid_matrix.MatrixFields(paid_matrix.KIND, 2, "ab" * 32, *noise, "films", 1)
        paid_matrix.write_matrix(path, fields, np.array([[3, 1], [1, 2]]))
        return path.read_bytes()

    @cached_property
    def operators(self) -> tuple[bytes, bytes]:
        place = self.folder / "operator"
        place.mkdir()
        with new_ledger(place):
            pass
        return (place / "ledger.sqlite").read_bytes(), (place / "mark").read_bytes()

    def valid(self, name: str) -> bytes:
        if name not in self._valid:
            self._valid[name] = INPUTS[name].valid(self)
        return self._valid[name]


Read = Callable[[World, bytes], object]


@dataclass(frozen=True)
class Input:
    """A kind of input. valid: one that is accepted; read: what the program does with any."""

    valid: Callable[[World], bytes]
    read: Read


def of_bytes(valid: bytes, read: Callable[[bytes], object]) -> Input:
    return Input(lambda _: valid, lambda _, data: read(data))


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def of_text(valid: str, read: Callable[[str], object]) -> Input:
    return of_bytes(valid.encode(), lambda data: read(text_of(data)))


def of_file(name: str, valid: bytes, read: Callable[[Path], object]) -> Input:
    return Input(lambda _: valid, lambda world, data: read(world.written(name, data)))


def signed(fields: dict[str, Any]) -> bytes:
    unsigned = {name: value for name, value in fields.items() if name != "sha256"}
    content = json.dumps(unsigned, sort_keys=True).encode()
    return json.dumps(unsigned | {"sha256": hashlib.sha256(content).hexdigest()}).encode()


def model_file(
    directory: Callable[[World], Path], name: str, load: Callable[[Path], object]
) -> Input:
    def read(world: World, data: bytes) -> object:
        place = directory(world)
        manifest = place / "manifest.json"
        before = {each: each.read_bytes() for each in (manifest, place / name)}
        try:
            if name == manifest.name:
                with suppress(ValueError, TypeError, AttributeError, RecursionError):
                    data = signed(json.loads(data))
                manifest.write_bytes(data)
            else:
                fields = json.loads(before[manifest])
                digest = hashlib.sha256(data).hexdigest()
                if name in fields["files"]:
                    fields["files"][name] = {"bytes": len(data), "sha256": digest}
                manifest.write_bytes(signed(fields))
                (place / name).write_bytes(data)
            return load(place)
        finally:
            for path, content in before.items():
                path.write_bytes(content)

    return Input(lambda world: (directory(world) / name).read_bytes(), read)


def load_places(directory: Path) -> object:
    """With its keys and its live values."""
    model = load_saved(directory)
    assert isinstance(model, MetricModel)
    metric_artifact.read_card(directory)
    metric_artifact.read_keys(directory, 0)
    collection, *_ = model.collections.values()  # the card may give it another name
    return metric_artifact.read_live(metric_artifact.live_path(directory, 0), collection)


def profile_file(world: World) -> bytes:
    path = world.folder / "own" / "profile.sqlite"
    ProfileStore(path).change(lambda _: world.profile)
    return path.read_bytes()


def read_profile(world: World, data: bytes) -> object:
    return ProfileStore(_alone(world.folder / "own" / "profile.sqlite", data)).read()


def ledger_file(world: World) -> bytes:
    path, charge = world.folder / "signals" / "signals.sqlite", SignalCharge(Fraction(2))
    store = SignalStore(path, Caps(Fraction(10)))
    store.remember(SIGNAL.space_version, "2026-11", charge, lambda: SIGNAL)
    return path.read_bytes()


def read_ledger(world: World, data: bytes) -> object:
    path = _alone(world.folder / "signals" / "signals.sqlite", data)
    return SignalStore(path, Caps(Fraction(10))).account()


def read_operators(world: World, data: bytes) -> object:
    """Opened and read; and what a service of releases reads of it."""
    place = world.folder / "operator"
    _, mark = world.operators
    path = _alone(place / "ledger.sqlite", data)
    (place / "mark").write_bytes(mark)
    ReleaseReader(path).page("", 0, 5)
    with open_ledger(place) as ledger:
        return ledger.datasets(), ledger.charges(), ledger.refused


def read_operators_mark(world: World, data: bytes) -> object:
    """As a ledger is opened and, where they differ, accepted."""
    place = world.folder / "operator"
    ledger_file, _ = world.operators
    _alone(place / "ledger.sqlite", ledger_file)
    (place / "mark").write_bytes(data)
    with open_ledger(place) as ledger:
        if ledger.refused is not None:
            ledger.accept()
        return ledger.datasets()


def _alone(path: Path, data: bytes) -> Path:
    """A database without a log."""
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def record_of_cache(world: World) -> bytes:
    version = Version(FIRST, Part.WHOLE, FileHead(9, bytes(32)))
    cache = CatalogCache(world.folder / "cache")
    cache.directory.mkdir(exist_ok=True)
    cache.remember(Record(version, FIRST, 5))
    return (cache.directory / "record.json").read_bytes()


def device_file(path: Path) -> object:
    return device_settings.configured({}, {}, device_settings.read_file(path), str(path))


def variables(names: Iterable[str], read: Callable[[dict[str, str]], object]) -> Input:
    """Every variable of the environment, one by one, with this text."""

    def read_each(text: str) -> None:
        for name in names:
            with suppress(AskewError):
                read({name: text})

    return of_text("4", read_each)


def zipped(files: Mapping[Any, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def lzma_damaged(name: str) -> bytes:
    """A zip file whose member of this name is packed by LZMA, of properties that are none."""
    data, at = zipped({name: bytes(200)}, zipfile.ZIP_LZMA), 30 + len(name) + 4
    return data[:at] + b"\xff" + data[at + 1 :]


def larger_than_itself(valid: bytes) -> bytes:
    """A zip file that says of its first member that it has 2 GiB, and another checksum."""
    at = valid.index(b"PK\1\2") + 16
    return valid[:at] + struct.pack("<LLL", 0, 2**31, 2**31) + valid[at + 12 :]


def begins_nowhere(name: str) -> bytes:
    """A zip64 file whose member of this name begins at byte 2^64 - 1."""
    entry = zipfile.ZipInfo(name)
    entry.extra = struct.pack("<HHQ", 1, 8, 2**64 - 1)
    data = zipped({entry: bytes(200)}, zipfile.ZIP_STORED)
    at = data.index(b"PK\1\2") + 42
    return data[:at] + b"\xff" * 4 + data[at + 4 :]


def npz() -> bytes:
    buffer = BytesIO()
    vectors, keys = np.eye(3, 2, dtype=np.float32), np.array(["a", "b", "c"])
    np.savez_compressed(buffer, vectors=vectors, keys=keys)
    return buffer.getvalue()


class Answered(Download):
    """A request that this is the answer to."""

    def __init__(self, answer: bytes) -> None:
        super().__init__(StaticHost.of("https://a.example/catalog"), "/catalog/x", 0, 48)
        self._answer = answer

    def _connected(self, timeout: float, trust: ssl.SSLContext | None) -> HTTPConnection:
        self._socket, host = socket.socketpair()
        self._socket.settimeout(timeout)
        self._host_socket = host
        host.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        host.sendall(self._answer)
        host.shutdown(socket.SHUT_WR)
        return HTTPConnection("a.example")


def downloaded(answer: bytes) -> object:
    """What a host answers, as a source of files reads it."""
    download = Answered(answer)
    with closing(download):
        try:
            return download.read(5.0, None)
        except Exception as error:
            raise as_ours(error, "a.example") from None
        finally:
            download._host_socket.close()


def counted_text(path: Path) -> int:
    table = open_table(path, encoding="utf-8", private=True)
    return sum(len(batch.rows) for batch in table.batches(table.columns, table.omissions()))


def pem(data: bytes) -> bytes:
    """A certificate in its armor, which would break before what is in it."""
    return b"-----BEGIN CERTIFICATE-----\n" + encodebytes(data) + b"-----END CERTIFICATE-----\n"


def identity(world: World, certificate: bytes, key: bytes) -> object:
    chain, secret = world.written("server.pem", certificate), world.written("server.key", key)
    with warnings.catch_warnings():  # the library's, of serial numbers that it will refuse one day
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        return read_pair(chain, secret, datetime.now(UTC))


def collection(path: Path) -> object:
    options = AttributeOption("kind"), AttributeOption("price")
    file = CollectionFile("cafes", path, date(2026, 11, 23), "a list")
    return read_collection(file, metric.MAP_CARD.space, options)


ROWS = rows_model(12)


def live_values() -> Input:
    """Their live values, behind a head and a digest of rows that fit."""
    model = rows_model(12, ServingMode.HELD)
    file = live_to_bytes(model.card, model.collections)
    assert file is not None
    of_rows, values = file[HEAD_BYTES:][:OF_ROWS_BYTES], file[HEAD_BYTES + OF_ROWS_BYTES :]

    def read(data: bytes) -> object:
        return with_live_values(model.card, model.collections, file_of(of_rows, data))

    return of_bytes(values, read)


SERVER_FILE = b"[server]\nport = 7571\n[limits]\nconnections = 9\n[metrics]\nport = 1\n"
DEVICE_FILE = (
    b'server = "a.example:443"\nepsilon_per_rating = 1\nregion = "DE"\n[keys]\n"near.ask" = "x"\n'
)
RATINGS = b"userId,movieId,rating,timestamp\n" + b"1,2,3.5,964982703\n" * 9 + b"1,3,x,9\n"

INPUTS: Mapping[str, Input] = {
    # what a server, a device or an analyst sends
    **{name: of_bytes(sent.data, sent.parse) for name, sent in SENT.items()},
    "all places": of_bytes(
        all_places_to_bytes([metric.REPLY_BYTES]),
        lambda data: places_from_bytes(
            data,
            replace(metric.MAP_CARD, collections=(metric.CAFES,)),
            replace(metric.QUERY, collection=ALL_NUMBER),
        ),
    ),
    "live values": live_values(),
    "answer of a host of files": of_bytes(
        b"HTTP/1.1 206 x\r\nContent-Range: bytes 0-47/96\r\nContent-Length: 48\r\n\r\n" + bytes(48),
        downloaded,
    ),
    "token": Input(
        lambda _: b"Bearer " + b"t" * 43,
        lambda w, data: Tokens(w.written("tokens", TOKENS), lambda: None).find(text_of(data)),
    ),
    # files that devices hold
    "head": of_bytes(taste.FILE, FileHead.of),
    "rows": of_bytes(rows_to_bytes(ROWS.card, dict(ROWS.collections))[HEAD_BYTES:], rows_from_body),
    "record of a cache": Input(
        record_of_cache,
        lambda w, data: CatalogCache(w.written("cache/record.json", data).parent).record(),
    ),
    # what a device keeps
    "profile": Input(lambda w: w.profile.to_bytes(), lambda _, d: ProfileDocument.from_bytes(d)),
    "profile's file": Input(profile_file, read_profile),
    "ledger's file": Input(ledger_file, read_ledger),
    "ledger's mark": of_bytes(
        encode_mark(Mark((7, "ab" * 16), {"device": (Fraction(2), Fraction(1, 3))})),
        lambda data: compare(data, 2, (7, "ab" * 16), START),
    ),
    "stored signal": of_bytes(
        encode_signal(SIGNAL), lambda data: decode_signal(SIGNAL.space_version, data)
    ),
    # what a person brings or types
    "ratings of a person": of_file(
        "own.csv", b'title,rating\n"Heat, (1995)",4.5\nAlien,\n', read_export
    ),
    "export of a person": of_file(
        "own.zip",
        zipped(
            {
                "ratings.csv": b"userId,movieId,rating,timestamp\n1,2,3.5,9\n",
                "movies.csv": b"movieId,title,genres\n2,Heat (1995),Crime\n",
            }
        ),
        read_export,
    ),
    "preferences": of_text(
        "kind = a | b, price <= 10\n1 EUR = 2 km # x\nkind: a +2", preferences_of
    ),
    "position": of_text("52.5, 13.4", spot_of),
    "town": of_text("Berlin, Germany", spot_of),
    "values": of_text("hour = 12; post = 3.5", spot_of),
    "region": of_text("47.1/5.5/55.4/15.4", lambda text: (region_of(text), corners_of(text))),
    "device's settings": of_file("config.toml", DEVICE_FILE, device_file),
    "device's variables": variables(
        [setting.variable for setting in device_settings.SETTINGS.settings],
        lambda values: device_settings.configured({}, values, {}),
    ),
    "static host": of_text("https://a.example:8443/catalog", StaticHost.of),
    # what an operator brings or types
    "server's settings": of_file("server.toml", SERVER_FILE, server_settings.read_file),
    "server's variables": variables(
        [setting.variable for setting in server_settings.KEYS],
        lambda values: server_settings.SETTINGS.read({}, values, {}),
    ),
    "ratings": of_file("ratings.csv", RATINGS, read_ratings),
    "packed ratings": of_file("ratings.csv.gz", gzip.compress(RATINGS), read_ratings),
    "items": of_file(
        "movies.csv", b"movieId,title,genres\n2,Heat (1995),Crime|Drama\n", read_items
    ),
    "vectors, npz": of_file("vectors.npz", npz(), read_vectors),
    "collection, csv": of_file("cafes.csv", CAFES, collection),
    "collection, GeoJSON": of_file("cafes.geojson", GEOJSON, collection),
    "towns": of_file(
        "towns.csv",
        b"latitude,longitude,population\n52.5,13.4,3000000\n",
        lambda path: read_towns(path, metric.MAP_CARD.space, "a list"),
    ),
    "attribute": of_text("price=number:EUR", AttributeOption.parsed),
    "expectation": of_text("1200", lambda text: expected_counts(text, 3)),
    "expected counts": of_file(
        "counts.csv", b"item,count\na,9\nb,7\nc,5\n", lambda path: expected_counts(str(path), 3)
    ),
    "packed log": of_file("log.csv.gz", gzip.compress(b"unit,item\n1,a\n"), counted_text),
    "certificate": Input(
        lambda w: ssl.PEM_cert_to_DER_cert(w.identity[0].decode()),
        lambda w, data: identity(w, pem(data), w.identity[1]),
    ),
    "key of a certificate": Input(
        lambda w: w.identity[1], lambda w, data: identity(w, w.identity[0], data)
    ),
    "tokens": of_file("tokens", TOKENS, lambda path: Tokens(path, lambda: None)),
    # what a server keeps
    **{
        f"tastes, {name}": model_file(lambda w: w.tastes, name, load_saved)
        for name in ("manifest.json", "card.binpb", "arrays.safetensors", "items.json")
    },
    **{
        f"places, {name}": model_file(lambda w: w.places, name, load_places)
        for name in (
            "manifest.json",
            "card.binpb",
            "collection-0.safetensors",
            "keys-0.safetensors",
            "towns.safetensors",
            "live-0.safetensors",
        )
    },
    "noisy matrix": Input(
        lambda w: w.matrix, lambda w, data: paid_matrix.read_matrix(w.written("matrix", data))
    ),
    "stored release": of_bytes(DOCUMENT, release_from_bytes),
    "operator's ledger": Input(lambda w: w.operators[0], read_operators),
    "operator's mark": Input(lambda w: w.operators[1], read_operators_mark),
}

EXPORT = "export of a person"
# What was found once: the input, and how it was altered.
FOUND: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a profile of deep lists": ("profile", lambda _: b"[" * 3000),
    "a profile's file whose schema is no text": (
        "profile's file",
        lambda valid: valid.replace(b"CREATE TABLE profile", b"CREATE TABLE prof\xe5le"),
    ),
    "a number of users in a digit that is no ASCII": ("expectation", lambda _: "²".encode()),
    "a number of users of thousands of digits": ("expectation", lambda _: b"9" * 5000),
    "expected counts in a file that no disk has": ("expectation", lambda _: b"\0"),
    "an export whose zip is damaged within": (EXPORT, lambda it: it[:41] + b"\xff" + it[42:]),
    "an export of damaged LZMA": (EXPORT, lambda _: lzma_damaged("ratings.csv")),
    "an export whose member begins nowhere": (EXPORT, lambda _: begins_nowhere("ratings.csv")),
    "an export that says it is larger than it is": (EXPORT, larger_than_itself),
    "a certificate that says two times whom it is for": (
        "certificate",
        lambda valid: valid.replace(b"\x55\x1d\x25", b"\x55\x1d\x11"),
    ),
    "vectors of damaged LZMA": ("vectors, npz", lambda _: lzma_damaged("vectors.npy")),
    "vectors that begin nowhere": ("vectors, npz", lambda _: begins_nowhere("vectors.npy")),
}

# Why a function that is named like a reader has no input above.
NO_INPUT: Mapping[str, tuple[str, ...]] = {
    "it reads random bits": (
        "askew.noise.randomness:RandomBits.read",
        "askew.noise.randomness:ReplayBits.read",
        "askew.noise.randomness:SystemBits.read",
        "askew_server.release.forecast:SimulatedBits.read",
    ),
    "it takes a value or a name of this program, and reads nothing that another wrote": (
        "askew.spaces.vectors:Encoder.decode",
        "askew_client.cli.options:load",
        "askew_client.opening:files_of",
        "askew_client.profile.store:PassingProfile.read",
        "askew_client.transport.shaped:ShapedTransport.load",
        "askew_server.release.plan:kind_of",
    ),
    "it hands bytes to a reader of the table, and looks at none itself": (
        "askew_client.transport.shaped:metric_card_of",
        "askew_server.cli.serve:read_models",
        "askew_server.ledger.records:rational_of",
        "askew_server.serving.models:ModelFolder.read",
        "askew_server.serving.models:ModelFolder.read_all",
    ),
}
