// The HTTP door as Connect's official client for the web finds it. Needs an environment with
// askew-server; ASKEW_BROWSERS=require lets it not be left out.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createFileRegistry, fromJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ended, serving } from "./browsers.mjs";

const SERVER = fileURLToPath(new URL("../../../.venv/bin/askew-server", import.meta.url));
const RELEASED = new URL("../../../proto/released.json", import.meta.url);
const K = 7;
const TODAY = Math.floor(Date.now() / 86_400_000); // days since a Thursday
const QUESTION = {
  k: K,
  mechanism: { case: "lattice", value: { stepExponent: 6, inverseRate: 64 } },
  values: [3, 3],
  catalogDate: TODAY - ((TODAY + 3) % 7), // Monday of this week
};

const skip = !existsSync(SERVER) && process.env.ASKEW_BROWSERS !== "require" && `${SERVER} not found`;

describe("@connectrpc/connect-web", { skip }, () => {
  let [server, client] = [];

  before(async () => {
    let baseUrl;
    [server, baseUrl] = await serving("--demo");
    const described = JSON.parse(readFileSync(RELEASED, "utf8"));
    const files = fromJson(FileDescriptorSetSchema, described, { ignoreUnknownFields: true });
    const service = createFileRegistry(files).getService("askew.wire.v1.Retrieval");
    client = createClient(service, createConnectTransport({ baseUrl, useBinaryFormat: true }));
  });

  after(() => ended(server));

  test("reads the card", async () => {
    const card = await client.getModelCard({});
    assert.equal(card.kind.case, "space");
    assert.ok(card.nItems > K);
    assert.ok(card.simulated);
  });

  test("reads an answer", async () => {
    const { itemIds, catalogVersion } = await client.retrieve(QUESTION);
    assert.equal(new Set(itemIds).size, K);
    assert.equal(catalogVersion.length, 16);
  });

  test("reads the code of an error and its text", async () => {
    await assert.rejects(client.retrieve({ ...QUESTION, k: 0 }), (error) => {
      assert.ok(error instanceof ConnectError);
      assert.equal(error.code, Code.OutOfRange);
      return error.rawMessage !== "";
    });
  });

  test("may say how long it waits", async () => {
    assert.equal((await client.retrieve(QUESTION, { timeoutMs: 10_000 })).itemIds.length, K);
  });
});
