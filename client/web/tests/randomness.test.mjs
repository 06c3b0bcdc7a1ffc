// Where chance comes from: the browser's kernel, by one line of the source, and from nowhere else.

import "fake-indexeddb/auto";

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, test } from "node:test";

import { openDevice } from "../../../server/askew_server/serving/web/askew/index.js";
import { fromHex, regions, vectors } from "./vectors.mjs";

const GERMANY = regions.find((each) => each.code === "DE");
const AT = { latitude: 52.52, longitude: 13.405 };
const CARD = fromHex(vectors.cards[0].bytes);
const REPLY = fromHex(vectors.replies.find((each) => each.card === 0 && each.collection === "food").reply);
const ours = (...folders) =>
  folders.flatMap((folder) =>
    readdirSync(new URL(folder, import.meta.url))
      .filter((name) => /\.[jt]s$/.test(name))
      .map((name) => [name, readFileSync(new URL(folder + name, import.meta.url), "utf8")]),
  );

const real = { fetch: globalThis.fetch, random: Math.random, values: crypto.getRandomValues };
afterEach(() => {
  globalThis.fetch = real.fetch;
  Math.random = real.random;
  crypto.getRandomValues = real.values;
});

const SERVED = "../../../server/askew_server/serving/web/";
const OTHERS = /Math\s*\.\s*random|\brandom\b\s*[,}]|\[\s*["'`]random|randomUUID|subtle|timeStamp/;

test("the source names one source of chance, once, and so does what is served", () => {
  for (const files of [ours("../askew/", "../page/"), ours(`${SERVED}askew/`, `${SERVED}page/`)]) {
    assert.ok(files.length >= 2);
    const named = files.flatMap(([, text]) => text.match(/getRandomValues/g) ?? []);
    assert.deepEqual(named, ["getRandomValues"]);
    for (const [name, text] of files) assert.doesNotMatch(text, OTHERS, name);
  }
});

let opened = 0;

async function device(calls) {
  globalThis.fetch = async (url) => {
    calls.push(String(url).split("/").at(-1));
    const reply = calls.at(-1) === "GetModelCard" ? CARD : REPLY;
    return new Response(reply, { headers: { "content-type": "application/proto" } });
  };
  const database = `randomness ${(opened += 1)}`;
  return openDevice({ server: "https://askew.example", region: GERMANY, interval: 20, database });
}

// A question and a named place, all of whose random bytes are counted.
test("all that a draw and a handle take is read from the kernel, and as much for everybody", async () => {
  Math.random = () => assert.fail("chance of another source");
  const found = [];
  for (const at of [AT, { latitude: 54.3, longitude: 10.1 }]) {
    const reads = [];
    crypto.getRandomValues = (bytes) => {
      reads.push(bytes.length);
      return real.values.call(crypto, bytes);
    };
    const tested = await device([]);
    await tested.connect();
    await tested.addPlace("home", at, await tested.priceOf());
    found.push(reads);
  }
  assert.deepEqual(found[0], found[1]);
  assert.equal(found[0][0], 16); // the handle
  assert.equal(found[0].slice(1).reduce((a, b) => a + b), 16 * (2 + 4 + 2 * 18)); // coins of a town
});

test("other bytes of the kernel are another draw, and the same are the same", async () => {
  const sent = [];
  for (const seed of [1, 1, 2]) {
    let state = seed;
    crypto.getRandomValues = (bytes) => {
      for (let at = 0; at < bytes.length; at += 1) {
        state = (Math.imul(state, 1103515245) + 12345) >>> 0;
        bytes[at] = state >>> 24;
      }
      return bytes;
    };
    const tested = await device([]);
    sent.push((await tested.addPlace("home", AT, await tested.priceOf())).sent);
  }
  assert.deepEqual(sent[0], sent[1]);
  assert.notDeepEqual(sent[0], sent[2]);
});

test("a source that fails, at any of its reads, stops the draw: nothing is kept, charged or sent", async () => {
  for (let last = 0; last < 4; last += 1) {
    const calls = [];
    const tested = await device(calls);
    await tested.connect();
    const price = await tested.priceOf();
    let reads = 0;
    crypto.getRandomValues = (bytes) => {
      if (reads === last) throw new DOMException("no entropy", "OperationError");
      reads += 1;
      return real.values.call(crypto, bytes);
    };
    await assert.rejects(tested.addPlace("home", AT, price));
    reads = 0;
    await assert.rejects(tested.quote(AT, "food").then((quote) => tested.ask(quote)));
    crypto.getRandomValues = real.values;
    assert.deepEqual([(await tested.places()).length, (await tested.account()).entries.length], [0, 0]);
    assert.deepEqual(calls, ["GetModelCard"]);
  }
});
