// Oblivious HTTP by others' code: Connect's client, @hpke/core and bhttp-js ask the gateway of
// askew-server through a relay process. Needs an environment with askew-server;
// ASKEW_BROWSERS=require lets it not be left out.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createFileRegistry, fromJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { BHttpDecoder, BHttpEncoder } from "bhttp-js";

const SERVER = fileURLToPath(new URL("../../../.venv/bin/askew-server", import.meta.url));
const RELAY = fileURLToPath(new URL("relay.mjs", import.meta.url));
const RELEASED = new URL("../../../proto/released.json", import.meta.url);
const NOBODY = "https://films.invalid"; // what the device calls the server: no request goes there
const K = 7;
const TODAY = Math.floor(Date.now() / 86_400_000); // days since a Thursday
const QUESTION = {
  k: K,
  mechanism: { case: "lattice", value: { stepExponent: 6, inverseRate: 64 } },
  values: [3, 3],
  catalogDate: TODAY - ((TODAY + 3) % 7), // Monday of this week
};
const SUITE = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes128Gcm(),
});

const skip = !existsSync(SERVER) && process.env.ASKEW_BROWSERS !== "require" && `${SERVER} not found`;

const text = (words) => new TextEncoder().encode(words);
const joined = (...parts) => new Uint8Array(Buffer.concat(parts));

/** The reply's key and nonce, section 4.4 of RFC 9458. */
async function replyKey(secret, salt) {
  const known = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const derived = (label, bytes) =>
    crypto.subtle.deriveBits(
      { name: "HKDF", hash: "SHA-256", salt, info: text(label) },
      known,
      8 * bytes,
    );
  const key = await derived("key", 16);
  return [
    await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]),
    await derived("nonce", 12),
  ];
}

/** fetch, by a relay. keys: application/ohttp-keys. */
function byRelay(relay, keys) {
  const configuration = keys.subarray(2);
  return async (url, init) => {
    const plain = await new BHttpEncoder().encodeRequest(new Request(url, init));
    const header = joined(configuration.subarray(0, 3), Uint8Array.of(0, 1, 0, 1));
    const owner = await SUITE.kem.deserializePublicKey(configuration.slice(3, 35).buffer);
    const sender = await SUITE.createSenderContext({
      recipientPublicKey: owner,
      info: joined(text("message/bhttp request"), Uint8Array.of(0), header).buffer,
    });
    const body = joined(header, new Uint8Array(sender.enc), new Uint8Array(await sender.seal(plain)));
    const reply = await fetch(relay, {
      method: "POST",
      headers: { "content-type": "message/ohttp-req" },
      body,
    });
    if (reply.headers.get("content-type") !== "message/ohttp-res") return reply;
    const sealed = new Uint8Array(await reply.arrayBuffer());
    const secret = await sender.export(text("message/bhttp response"), 16);
    const salt = joined(new Uint8Array(sender.enc), sealed.subarray(0, 16));
    const [key, iv] = await replyKey(secret, salt);
    const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, sealed.subarray(16));
    return new BHttpDecoder().decodeResponse(opened);
  };
}

/** The first line that a process says. */
function said(process) {
  return new Promise((done, fail) => {
    process.stdout.once("data", (data) => done(String(data)));
    process.once("exit", () => fail(new Error("a process did not start")));
  });
}

describe("@hpke/core and bhttp-js by a relay", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "askew-"));
  const started = [];
  const sizes = [];
  let [relay, keys, client] = [];

  before(async () => {
    const file = join(folder, "keys.pem");
    execFileSync(SERVER.replace(/askew-server$/, "python"), [
      "-c",
      `import os, sys
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey as Key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
pem = Key.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
os.write(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600), pem)`,
      file,
    ]);
    const server = spawn(SERVER, ["serve", "--demo", "--port", "0", "--ohttp-key", file], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    started.push(server);
    const [door] = (await said(server)).match(/http:\/\/[^:]+:\d+/);
    const gateway = `${door}/.well-known/ohttp-gateway`;
    const listed = await fetch(gateway);
    assert.equal(listed.headers.get("content-type"), "application/ohttp-keys");
    keys = new Uint8Array(await listed.arrayBuffer());
    const passing = spawn(process.execPath, [RELAY, gateway], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    started.push(passing);
    relay = (await said(passing)).trim();
    passing.stdout.on("data", (lines) =>
      sizes.push(...String(lines).trim().split("\n").map(JSON.parse)),
    );
    const described = JSON.parse(readFileSync(RELEASED, "utf8"));
    const files = fromJson(FileDescriptorSetSchema, described, { ignoreUnknownFields: true });
    const service = createFileRegistry(files).getService("askew.wire.v1.Retrieval");
    const transport = createConnectTransport({
      baseUrl: NOBODY,
      useBinaryFormat: true,
      fetch: byRelay(relay, keys),
    });
    client = createClient(service, transport);
  });

  after(async () => {
    for (const each of started.reverse()) {
      if (each.exitCode === null) {
        each.kill();
        await new Promise((done) => each.once("exit", done));
      }
    }
    rmSync(folder, { recursive: true });
  });

  test("reads the card, an answer and an error", async () => {
    assert.ok((await client.getModelCard({})).nItems > K);
    assert.equal(new Set((await client.retrieve(QUESTION)).itemIds).size, K);
    await assert.rejects(client.retrieve({ ...QUESTION, k: 0 }), (error) => {
      assert.ok(error instanceof ConnectError);
      return error.code === Code.OutOfRange;
    });
  });

  test("reads a file that devices hold", async () => {
    const monday = new Date(QUESTION.catalogDate * 86_400_000).toISOString().slice(0, 10);
    const asked = { headers: { range: "bytes=0-47" } };
    const reply = await byRelay(relay, keys)(`${NOBODY}/catalog/${monday}.whole`, asked);
    assert.equal(reply.status, 206);
    assert.equal((await reply.arrayBuffer()).byteLength, 48);
  });

  test("has replies of public sizes", () => {
    assert.ok(sizes.length >= 4);
    for (const [, size] of sizes) assert.ok([2048, 8192].includes(size), `${size} bytes`);
  });

  test("is told of a key that the server has not", async () => {
    const other = keys.slice();
    other[2] ^= 1;
    const reply = await byRelay(relay, other)(`${NOBODY}/`, {});
    assert.equal(reply.status, 400);
    assert.equal(
      (await reply.json()).type,
      "https://iana.org/assignments/http-problem-types#ohttp-key",
    );
  });
});
