import "fake-indexeddb/auto";
import "./tabs.mjs";

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

// What is served, and no other build of it.
import {
  ALL,
  openDevice,
  preferencesOf,
} from "../../../server/askew_server/serving/web/askew/index.js";
import { fromHex, regions, tape, toHex, vectors } from "./vectors.mjs";

const GERMANY = regions.find((each) => each.code === "DE");
const CARD = fromHex(vectors.cards[0].bytes);
const ROW =
  vectors.replies.find(
    (each) =>
      each.card === 0 &&
      each.collection === "food" &&
      each.preferences === "cuisine = italian | thai",
  ) ?? vectors.replies.find((each) => each.card === 0 && each.collection === "food");
const AT = { latitude: ROW.true[0], longitude: ROW.true[1] };
const real = globalThis.fetch;
afterEach(() => (globalThis.fetch = real));

afterEach(() => globalThis.localStorage.clear());

// Time passes where something waits for it, and nowhere else.
let clock = 0;
performance.now = () => clock;
const timers = [];
globalThis.setTimeout = (done, milliseconds) => {
  timers.push({ at: clock + milliseconds, done });
  setImmediate(() => {
    const [next] = timers.sort((one, other) => one.at - other.at).splice(0, 1);
    clock = Math.max(clock, next.at);
    next.done();
  });
};

const answer = (bytes, type = "application/proto", status = 200) =>
  new Response(bytes, { status, headers: { "content-type": type } });
const refusal = (code, status) =>
  answer(JSON.stringify({ code, message: "\u001b[2J of the server" }), "application/json", status);

let opened = 0;

// A device whose server answers from a list; a function of it is called, and may throw.
async function world({ replies = [], ...options } = {}) {
  const [calls, events] = [[], []];
  globalThis.fetch = async (url, init) => {
    calls.push({
      url: String(url),
      body: toHex(init.body),
      headers: init.headers,
      credentials: init.credentials,
    });
    await new Promise((done) => setTimeout(done, 5));
    if (String(url).endsWith("GetModelCard")) return answer(CARD);
    const next = replies.shift() ?? answer(fromHex(ROW.reply));
    return typeof next === "function" ? next() : next;
  };
  const device = await openDevice({
    server: "https://askew.example",
    region: GERMANY,
    k: ROW.k,
    interval: 100,
    database: options.database ?? `device ${(opened += 1)}`,
    now: () => new Date(2026, 10, 23 + ROW.now[0], 0, ROW.now[1]),
    observe: (what, begins) => events.push([what, begins, performance.now()]),
    ...options,
  });
  return { device, calls, events };
}

const retrieved = (calls) =>
  calls.filter((each) => each.url.endsWith("Retrieve")).map((each) => each.body);

test("a question: one card, one signal, one call, and the private order of the core", async () => {
  const { device, calls } = await world();
  await device.connect();
  const quote = await device.quote(AT, "food");
  assert.deepEqual([calls.length, quote.price.fresh, quote.price.refused], [1, true, null]);
  const [found] = await device.ask(quote, preferencesOf(ROW.preferences));
  assert.deepEqual(
    calls.map((each) => each.url.split("/").at(-1)),
    ["GetModelCard", "Retrieve"],
  );
  assert.deepEqual(
    calls.map((each) => each.credentials),
    ["omit", "omit"],
  );
  assert.equal(retrieved(calls)[0], toHex(found.body));
  assert.deepEqual(
    found.results.map((each) => Number(each.passes)),
    ROW.answers[0].passes,
  );
  const distances = found.results.map((each) => each.distance);
  distances.forEach((each, n) => assert.ok(Math.abs(each - ROW.answers[0].distances[n]) < 1e-6));
  assert.ok(Math.abs(found.sent.latitude) <= 90);
  const { entries } = await device.account();
  assert.equal(entries.length, 1);
});

test("from the same random bytes the same question leaves as from the core", async () => {
  const row = vectors.draws.findIndex(
    ([region, level]) => regions[region].code === "DE" && level === "town",
  );
  const [region, , latitude, longitude, north, east] = vectors.draws[row];
  const draw = tape(row);
  // Names and handles are random too: only a draw reads its many bytes.
  const bits = (count) => (count === 16 && draw.read === 0 ? new Uint8Array(16) : draw(count));
  const { device } = await world({ bits, region: regions[region] });
  await device.connect();
  const [found] = await device.ask(await device.quote({ latitude, longitude }, "food"));
  assert.deepEqual(found.sent, { latitude: north / 1e6, longitude: east / 1e6 });
});

test("other preferences send nothing", async () => {
  const { device, calls } = await world();
  await device.connect();
  const [found] = await device.ask(await device.quote(AT, "food"));
  const before = calls.length;
  const again = await device.rank(found, preferencesOf("cuisine = nothing"));
  assert.equal(again.nonePasses, true);
  assert.equal((await device.rank(again, preferencesOf(""))).results[0].title, found.results[0].title);
  assert.equal(calls.length, before);
});

test("nothing private is at work while a connection is open, and each call waits for its moment", async () => {
  const { device, events } = await world();
  await device.connect();
  await device.addPlace("home", AT, await device.priceOf());
  for (let n = 0; n < 3; n += 1) await device.ask(await device.quote("home", "food"));
  const open = { private: 0, connection: 0 };
  for (const [what, begins] of events) {
    open[what] += begins ? 1 : -1;
    assert.ok(
      !(open.private && open.connection),
      "planted bug: a reply that is opened before its connection ends",
    );
  }
  assert.equal(events.filter(([what]) => what === "connection").length, 8);
});

// Two tabs, each of which looks at its places while the other asks: what begins and ends, in order.
async function twoTabs() {
  const database = `tabs ${(opened += 1)}`;
  const [events, tabs, looks] = [[], [], []];
  const observe = (tab) => (what, begins) => events.push([tab, what, begins, performance.now()]);
  for (const tab of [0, 1]) tabs.push((await world({ database, observe: observe(tab) })).device);
  const network = globalThis.fetch;
  for (const tab of tabs) await tab.connect();
  await tabs[0].addPlace("home", AT, await tabs[0].priceOf());
  for (const asking of [0, 1, 0]) {
    globalThis.fetch = (...call) => {
      looks.push(tabs[1 - asking].places());
      return network(...call);
    };
    clock += 30;
    await tabs[asking].ask(await tabs[asking].quote("home", "food"));
  }
  await Promise.all(looks);
  return events;
}

// Whether private work of one overlaps a connection of the other, and the gaps between connections.
function overlaps(events) {
  const open = [];
  let found = false;
  for (const [tab, what, begins] of events) {
    if (begins) found ||= open.some(([other, kind]) => other !== tab && kind !== what);
    if (begins) open.push([tab, what]);
    else open.splice(open.findIndex(([other, kind]) => other === tab && kind === what), 1);
  }
  const connections = events.filter(([, what]) => what === "connection");
  const begun = connections.filter(([, , begins]) => begins).map((each) => each[3]);
  const ended = connections.filter(([, , begins]) => !begins).map((each) => each[3]);
  return { found, gaps: begun.slice(1).map((at, n) => at - ended[n]) };
}

test("two tabs are one device: neither works in private while the other is connected", async () => {
  const { found, gaps } = overlaps(await twoTabs());
  assert.equal(found, false);
  assert.equal(gaps.length, 4);
  assert.ok(Math.min(...gaps) >= 100, `${gaps}`);
});

test("without locks, or without a common moment, that is seen", async () => {
  const { locks } = navigator;
  navigator.locks = undefined;
  const alone = overlaps(await twoTabs());
  navigator.locks = locks;
  assert.ok(alone.found);
  const { getItem } = localStorage;
  localStorage.getItem = () => null;
  const hasty = overlaps(await twoTabs());
  localStorage.getItem = getItem;
  assert.ok(Math.min(...hasty.gaps) < 100, `${hasty.gaps}`);
});

test("private work while a connection is open is refused, and loses nothing", async () => {
  const { device } = await world();
  await device.connect();
  await device.addPlace("home", AT, await device.priceOf());
  const quote = await device.quote("home", "food");
  let during;
  globalThis.fetch = async () => {
    during = await device.places().catch((error) => error);
    return answer(fromHex(ROW.reply));
  };
  const [found] = await device.ask(quote);
  assert.equal(during.code, "late");
  assert.equal(found.results.length, ROW.k);
});

test("the next moment is fixed when a connection ends, and whole intervals later for who asks later", async () => {
  const { device, events } = await world();
  await device.connect();
  await device.addPlace("home", AT, await device.priceOf());
  for (const pause of [0, 60, 100, 137]) {
    clock += pause; // what a person does in between
    await device.ask(await device.quote("home", "food"));
  }
  const moments = events.filter(([what]) => what === "connection").map(([, , moment]) => moment);
  const waited = [1, 3, 5, 7].map((n) => moments[n + 1] - moments[n]);
  assert.deepEqual(waited, [100, 100, 100, 300]);
});

test("private work that is late for its moment sends nothing, and is sent again for nothing", async () => {
  let slow = false;
  const bits = (count) => {
    if (slow && count > 100) clock += 250;
    return crypto.getRandomValues(new Uint8Array(count));
  };
  const { device, calls } = await world({ bits });
  await device.connect();
  slow = true;
  await assert.rejects(device.ask(await device.quote(AT, "food")), { code: "late" });
  assert.equal(retrieved(calls).length, 0);
  const quote = await device.quote(AT, "food", true);
  assert.equal(quote.price.fresh, false);
  await device.ask(quote);
  assert.equal((await device.account()).entries.length, 1);
});

test("an answer is not ranked anew while a connection is open", async () => {
  const { device } = await world();
  await device.connect();
  await device.addPlace("home", AT, await device.priceOf());
  const [first] = await device.ask(await device.quote("home", "food"));
  const quote = await device.quote("home", "food");
  globalThis.fetch = async () => {
    await assert.rejects(device.rank(first, preferencesOf("")), { code: "late" });
    return answer(fromHex(ROW.reply));
  };
  await device.ask(quote);
  assert.equal((await device.rank(first, preferencesOf(""))).results.length, first.results.length);
});

test("which calls are made, and how long, is the same wherever a place is and whatever is preferred", async () => {
  const seen = [];
  for (const [at, text] of [
    [AT, ""],
    [{ latitude: 54.3, longitude: 10.1 }, "cuisine = nothing, price <= -1"],
  ]) {
    const { device, calls } = await world();
    await device.connect();
    await device.addPlace("home", at, await device.priceOf());
    await device.ask(await device.quote("home", "food"), preferencesOf(text));
    seen.push(calls.map((each) => [each.url, each.body.length]));
  }
  assert.deepEqual(seen[0], seen[1]);
});

test("a named place sends the same bytes for ever, at any level and in a new session", async () => {
  const { device, calls } = await world({ database: "kept" });
  await device.connect();
  await device.addPlace("home", AT, await device.priceOf());
  await device.ask(await device.quote("home", "food"));
  device.settings = { ...device.settings, level: "district", region: regions[0] };
  const quote = await device.quote("home", "food");
  assert.equal(quote.price.fresh, false);
  await device.ask(quote);
  const later = await world({ database: "kept", level: "county" });
  await later.device.connect();
  await later.device.ask(await later.device.quote("home", "food"));
  const [first, ...others] = [...retrieved(calls), ...retrieved(later.calls)];
  assert.equal(others.length, 2);
  for (const each of others) assert.equal(each, first);
  assert.equal((await later.device.account()).entries.length, 1);
  await assert.rejects(later.device.addPlace("home", AT, await later.device.priceOf()), {
    code: "place",
  });
});

test("what was charged and did not arrive is sent again for nothing, where the person says so", async () => {
  const fails = () => {
    throw new TypeError("fetch failed");
  };
  const { device, calls } = await world({ replies: [fails, refusal("resource_exhausted", 429)] });
  await device.connect();
  await assert.rejects(device.ask(await device.quote(AT, "food")), { code: "unreachable" });
  const second = await device.quote(AT, "food", true);
  assert.equal(second.price.fresh, false);
  await assert.rejects(device.ask(second), { code: "busy" });
  await device.ask(await device.quote(AT, "food", true));
  assert.equal(new Set(retrieved(calls)).size, 1);
  await assert.rejects(device.quote(AT, "food", true), { code: "place" }); // it was answered
  assert.equal((await device.account()).entries.length, 1);
});

test("a server that fails a question does not learn whether the next one is from the same spot", async () => {
  const seen = [];
  for (const next of [AT, { latitude: AT.latitude + 1e-5, longitude: AT.longitude }]) {
    let draws = 0; // the kernel's draws are equal in one of a hundred
    const bits = (count) => Uint8Array.from({ length: count }, () => (37 * ++draws) % 251);
    const { device, calls } = await world({ bits, replies: [refusal("resource_exhausted", 429)] });
    await device.connect();
    await assert.rejects(device.ask(await device.quote(AT, "food")), { code: "busy" });
    await assert.rejects(device.quote(next === AT ? { latitude: 50, longitude: 9 } : next, "food", true), { code: "place" });
    const quote = await device.quote(next, "food");
    await device.ask(quote);
    const { entries } = await device.account();
    seen.push([quote.price.fresh, new Set(retrieved(calls)).size, entries.length]);
  }
  assert.deepEqual(seen, [[true, 2, 2], [true, 2, 2]]);
});

test("a card is kept as long as a file of its week, and no longer", async () => {
  let day = 25; // of November 2026, a Wednesday
  const { device, calls } = await world({ now: () => new Date(Date.UTC(2026, 10, day)) });
  const at = async (now) => {
    day = now;
    try {
      return (await device.quote(AT, "food")) !== null;
    } catch (error) {
      return error.code;
    }
  };
  await device.connect();
  assert.deepEqual([await at(21), await at(22), await at(39), await at(40)], ["quote", true, true, "quote"]);
  assert.equal(device.card, null);
  await device.connect();
  assert.equal(await at(40), true);
  assert.equal(calls.length, 2);
});

test("the name of a collection is not in what leaves, and another name changes nothing", async () => {
  const bits = (count) => new Uint8Array(count).fill(7);
  const { device } = await world({ bits });
  const { collections } = await device.connect();
  const [found] = await device.ask(await device.quote(AT, "food"));
  assert.ok(!new TextDecoder("latin1").decode(found.body).includes("food"));
  assert.deepEqual([...found.body.subarray(0, 5)], [13, collections[0].number, 0, 0, 0]);
  assert.equal(found.body.length, 37);
});

test("a quote is used once, and a price that changed is not charged", async () => {
  const { device, calls } = await world();
  await device.connect();
  const [used, stale] = [
    await device.quote(AT, "food"),
    await device.quote({ latitude: 50, longitude: 9 }, "food"),
  ];
  await device.ask(used);
  assert.throws(() => device.ask(used), { code: "quote" });
  await assert.rejects(device.ask(stale), { code: "quote" });
  assert.equal(retrieved(calls).length, 1);
  assert.equal((await device.account()).entries.length, 1);
});

test("a cap refuses before anything is drawn", async () => {
  const none = { n: 1n, d: 100n };
  const { device, calls } = await world({ caps: { lifetime: none, monthly: none, draw: none } });
  await device.connect();
  const quote = await device.quote(AT, "food");
  assert.equal(quote.price.refused.code, "budget");
  await assert.rejects(device.ask(quote), { code: "budget" });
  await assert.rejects(device.addPlace("home", AT, await device.priceOf()), { code: "budget" });
  assert.deepEqual(
    [
      retrieved(calls).length,
      (await device.account()).entries.length,
      (await device.places()).length,
    ],
    [0, 0, 0],
  );
});

test("a refusal of the server is told in our words, and a stale one needs a new card", async () => {
  const cases = [
    [refusal("out_of_range", 400), "range"],
    [refusal("failed_precondition", 400), "stale"],
    [refusal("not_found", 404), "not_found"],
    [refusal("constructor", 500), "failed"],
    [answer("<html>", "text/html", 502), "failed"],
    [answer("<html>", "text/html", 503), "busy"],
    [answer(fromHex(ROW.reply), "text/html"), "failed"],
    [answer(fromHex(ROW.reply).subarray(0, 40)), "malformed"],
    [answer(new Uint8Array((1 << 22) + 1)), "malformed"],
    [
      () => {
        throw new DOMException("slow", "TimeoutError");
      },
      "slow",
    ],
  ];
  for (const [reply, code] of cases) {
    const { device } = await world({ replies: [reply] });
    await device.connect();
    await assert.rejects(device.ask(await device.quote(AT, "food")), (error) => {
      assert.equal(error.code, code);
      assert.ok(
        !error.message.includes("of the server\u001b") && !error.message.includes("\u001b"),
      );
      return true;
    });
    assert.equal(device.card === null, ["stale", "malformed", "range"].includes(code));
  }
});

test("all collections are asked by one signal", async () => {
  const row = vectors.replies.find((each) => each.card === 0 && each.collection === ALL);
  const { device, calls } = await world({ k: row.k, replies: [answer(fromHex(row.reply))] });
  await device.connect();
  const found = await device.ask(
    await device.quote({ latitude: row.true[0], longitude: row.true[1] }, ALL),
  );
  assert.deepEqual(
    found.map((each) => each.collection.name),
    ["food", "power", "plain"],
  );
  assert.equal(retrieved(calls).length, 1);
});

test("a place that is forgotten leaves the ledger as it is", async () => {
  const { device } = await world();
  await device.addPlace("home", AT, await device.priceOf());
  const [{ sent }] = await device.places();
  assert.notEqual(sent, null);
  await device.forgetPlace("home");
  assert.deepEqual(await device.places(), []);
  assert.equal((await device.account()).entries.length, 1);
});

test("a position outside the region makes no call and no charge", async () => {
  const { device, calls } = await world();
  await device.connect();
  await assert.rejects(device.quote({ latitude: 48.85, longitude: 2.35 }, "food"), {
    code: "place",
  });
  await assert.rejects(
    device.addPlace("Paris", { latitude: 48.85, longitude: 2.35 }, await device.priceOf()),
    { code: "place" },
  );
  await assert.rejects(device.quote("nowhere", "food"), { code: "place" });
  assert.deepEqual([calls.length, (await device.account()).entries.length], [1, 0]);
});
