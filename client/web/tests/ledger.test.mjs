import "fake-indexeddb/auto";

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  CAPS,
  Ledger,
  accountOf,
  covers,
  priceOf,
  recordOf,
  signalOf,
} from "../build/askew/ledger.js";
import { LEVELS, epsilonOf, systemBits } from "../build/askew/noise.js";
import { hexOf } from "../build/askew/wire.js";
import { parsed, written } from "../build/askew/rational.js";
import { regions, vectors } from "./vectors.mjs";

const [{ cosine }] = regions;
let opened = 0;

const fresh = () => Ledger.open(`ledger ${(opened += 1)}`, systemBits);

function signalFor(handle, level) {
  const { stepExponent, inverseRate } = LEVELS[level];
  const number = [...new TextEncoder().encode(handle)].reduce((a, b) => a + b, 0);
  return { stepExponent, inverseRate, cosine, values: [number, number] };
}

// A handle of the vectors, as long as one is.
const long = (handle) => hexOf(new TextEncoder().encode(handle)).padStart(32, "0");

async function step(ledger, caps, { act, handle, month, level }) {
  if (act === "accept") return ledger.acceptClock(month);
  const epsilon = epsilonOf(LEVELS[level]);
  const price = priceOf(await ledger.entries(), long(handle), month, epsilon, caps);
  const said = () => ({
    fresh: price.fresh,
    charged_in: price.month,
    spent: written(price.spent),
    spent_this_month: written(price.spentThisMonth),
  });
  if (act === "price") return said();
  const signal = await ledger.remember(long(handle), month, epsilon, caps, () =>
    signalFor(handle, level),
  );
  return { ...said(), record: recordOf(signal) };
}

for (const { name, caps, steps, entries, spent } of vectors.ledgers)
  test(`a ledger is the core's: ${name}`, async () => {
    const ledger = await fresh();
    const [lifetime, monthly, draw] = caps.map(parsed);
    const own = { lifetime, monthly, draw };
    for (const each of steps) {
      const {
        act,
        handle,
        month,
        level,
        error,
        whose,
        spent: before,
        cap,
        next_month,
        ...expected
      } = each;
      const done = step(ledger, own, each);
      if (error) {
        await assert.rejects(done, (refused) => {
          assert.equal(refused.code, error);
          if (whose)
            assert.match(
              refused.message,
              /lifetime/.test(whose)
                ? /lifetime/
                : /monthly/.test(whose)
                  ? /monthly/
                  : /one position/,
            );
          return true;
        });
      } else if (act === "draw" || act === "price") {
        assert.deepEqual(await done, { ...expected, spent: before }, JSON.stringify(each));
      } else await done;
    }
    const kept = await ledger.entries();
    assert.deepEqual(
      kept.map((e) => [
        e.kind,
        e.handle,
        e.month,
        e.epsilon,
        e.record,
      ]),
      entries.map(([kind, handle, ...rest]) => [kind, kind === "accept" ? "" : long(handle), ...rest]),
    );
    assert.equal(written(accountOf(kept, "2026-11", own).spent), spent);
  });

const TOWN = epsilonOf(LEVELS.town);
const draw = () => signalFor("home", "town");
const times = (count) => ({ n: count * TOWN.n, d: TOWN.d });

test("two tabs that draw for one place draw once", async () => {
  const ledger = await fresh();
  let drawn = 0;
  const once = () =>
    ledger.remember(
      "home",
      "2026-11",
      TOWN,
      CAPS,
      () => ((drawn += 1), signalFor(`${drawn}`, "town")),
    );
  const found = await Promise.all([once(), once(), once()]);
  assert.equal(drawn, 1);
  assert.deepEqual(found[1], found[0]);
  assert.equal((await ledger.entries()).length, 1);
});

test("what fails in the middle of a charge leaves nothing behind", async () => {
  const ledger = await fresh();
  const kept = { name: "home", position: { latitude: 1, longitude: 2 }, handle: "home" };
  const fails = () => {
    throw new TypeError("planted");
  };
  await assert.rejects(ledger.remember("home", "2026-11", TOWN, CAPS, fails, undefined, kept), {
    code: "storage",
  });
  await assert.rejects(
    ledger.remember(
      "home",
      "2026-11",
      TOWN,
      { ...CAPS, draw: parsed("1/10") },
      draw,
      undefined,
      kept,
    ),
    { code: "budget" },
  );
  assert.deepEqual(await ledger.entries(), []);
  assert.deepEqual(await ledger.places(), []);
});

test("a signal is returned when it is stored, and not where the last step of that fails", async () => {
  const ledger = await fresh();
  const { add } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.add = function (...values) {
    const request = add.apply(this, values);
    request.addEventListener("success", () => queueMicrotask(() => this.transaction.abort()));
    return request;
  };
  try {
    await assert.rejects(ledger.remember("home", "2026-11", TOWN, CAPS, draw), { code: "storage" });
  } finally {
    IDBObjectStore.prototype.add = add;
  }
  assert.deepEqual(await ledger.entries(), []);
  await ledger.remember("home", "2026-11", TOWN, CAPS, draw);
  const [entry] = await (await Ledger.open(`ledger ${opened}`, systemBits)).entries();
  assert.deepEqual(signalOf(entry.record), draw());
});

test("a price that is another one than was shown is refused before anything is drawn", async () => {
  const ledger = await fresh();
  const shown = priceOf(await ledger.entries(), "b", "2026-11", TOWN, CAPS);
  await ledger.remember("a", "2026-11", TOWN, CAPS, draw);
  const now = priceOf(await ledger.entries(), "b", "2026-11", TOWN, CAPS);
  assert.equal(covers(shown, shown), true);
  assert.equal(covers(shown, now), false);
});

test("one date from the future locks nobody out, and gives no month for nothing", async () => {
  const ledger = await fresh();
  const price = async (month) => priceOf(await ledger.entries(), "new", month, TOWN, CAPS);
  for (let n = 0; n < 5; n += 1) await ledger.remember(ledger.newHandle(), "2027-09", TOWN, CAPS, draw);
  const ahead = await price("2026-11"); // the clock is right again: the ledger's does not run back
  assert.deepEqual([ahead.month, ahead.refused.code], ["2027-09", "budget"]);
  await ledger.acceptClock("2026-11");
  const accepted = await price("2026-11"); // the five count here: no sixth one
  assert.deepEqual([accepted.month, accepted.refused.code], ["2026-11", "budget"]);
  const december = await price("2026-12");
  assert.deepEqual([december.month, december.refused, written(december.spentThisMonth)], ["2026-12", null, "0"]);
  assert.equal((await price("2027-09")).refused.code, "budget"); // nobody knows which clock was wrong
  // Forward and back again, as often as one likes: each month has its cap once.
  for (let n = 0; n < 3; n += 1) {
    await ledger.remember(ledger.newHandle(), "2026-12", TOWN, CAPS, draw);
    await ledger.acceptClock("2026-11");
  }
  const entries = await ledger.entries();
  assert.equal(written(accountOf(entries, "2026-11", CAPS).spentThisMonth), written(times(8n)));
  assert.equal(written(accountOf(entries, "2026-12", CAPS).spentThisMonth), written(times(3n)));
});

test("a file with a date from the future moves the clock, and it may be put right", async () => {
  const [ledger, other] = [await fresh(), await fresh()];
  await other.remember(other.newHandle(), "2999-12", TOWN, CAPS, draw);
  await ledger.importText(await other.exportText(), CAPS);
  assert.equal(accountOf(await ledger.entries(), "2026-11", CAPS).month, "2999-12");
  await ledger.acceptClock("2026-11");
  const account = accountOf(await ledger.entries(), "2026-12", CAPS);
  assert.deepEqual([account.month, written(account.spentThisMonth), written(account.spent)], ["2026-12", "0", written(TOWN)]);
});

test("an older file gives no budget back, and the same file adds nothing", async () => {
  const ledger = await fresh();
  await ledger.remember(ledger.newHandle(), "2026-11", TOWN, CAPS, draw);
  const older = await ledger.exportText();
  await ledger.remember(ledger.newHandle(), "2026-11", TOWN, CAPS, draw);
  assert.deepEqual(await ledger.importText(older, CAPS), { entries: 0, places: 0 });
  assert.equal((await ledger.entries()).length, 2);
  const other = await fresh();
  assert.deepEqual(await other.importText(await ledger.exportText(), CAPS), {
    entries: 2,
    places: 0,
  });
  assert.deepEqual(await other.entries(), await ledger.entries());
});

test("what is no file of a ledger is refused whole", async () => {
  const ledger = await fresh();
  const handle = ledger.newHandle();
  const kept = { name: "home", position: { latitude: 1, longitude: 2 }, handle };
  await ledger.remember(handle, "2026-11", TOWN, CAPS, draw, undefined, kept);
  const text = await ledger.exportText();
  const file = JSON.parse(text);
  const spoiled = (change) => {
    const copy = structuredClone(file);
    change(copy);
    return JSON.stringify(copy);
  };
  const cases = [
    "",
    "{}",
    "null",
    "[]",
    "nothing",
    text.slice(0, -20),
    spoiled((f) => (f["askew browser"] = 2)),
    spoiled((f) => (f.entries[0].epsilon = "0")),
    spoiled((f) => (f.entries[0].epsilon = "-1")),
    spoiled((f) => (f.entries[0].epsilon = "1e9")),
    spoiled((f) => (f.entries[0].kind = "gift")),
    spoiled((f) => (f.entries[0].month = "2026-13")),
    spoiled((f) => (f.entries[0].handle = "home")),
    spoiled((f) => (f.entries[0].record = "02")),
    spoiled((f) => (f.entries[0] = null)),
    spoiled((f) => f.entries.push(f.entries[0])),
    spoiled((f) => (f.places[0].position.latitude = 91)),
    spoiled((f) => (f.places[0].position = null)),
    spoiled((f) => (f.places[0].position.latitude = null)),
    spoiled((f) => (f.places[0].position.longitude = "2")),
    spoiled((f) => (f.places[0].handle = [f.places[0].handle])),
    ...["handle", "month", "epsilon"].map((each) =>
      spoiled((f) => (f.entries[0][each] = [f.entries[0][each]])),
    ),
    spoiled((f) => Object.assign(f.entries[0], { epsilon: 0 })),
    spoiled((f) => (f.places[0].name = 7)),
  ];
  const empty = await fresh();
  for (const each of cases)
    await assert.rejects(empty.importText(each, CAPS), { code: "storage" }, each);
  assert.deepEqual(await empty.entries(), []);
  assert.deepEqual(await empty.importText(text, CAPS), { entries: 1, places: 1 });
});

test("a signal whose law shows more than this device lets one show is not taken in", async () => {
  const ledger = await fresh();
  const loose = {
    ...CAPS,
    draw: parsed("1000"),
    lifetime: parsed("1000"),
    monthly: parsed("1000"),
  };
  const law = { stepExponent: 20, inverseRate: 1700 };
  const signal = { ...law, cosine, values: [1, 2] };
  await ledger.remember(ledger.newHandle(), "2026-11", epsilonOf(law), loose, () => signal);
  await assert.rejects((await fresh()).importText(await ledger.exportText(), CAPS), {
    code: "storage",
  });
});

test("a file with another signal for a handle is refused whole, and what is kept can be read again", async () => {
  const [ledger, other] = [await fresh(), await fresh()];
  const handle = ledger.newHandle();
  await ledger.remember(handle, "2026-11", TOWN, CAPS, draw);
  await other.remember(handle, "2026-11", TOWN, CAPS, () => signalFor("another", "town"));
  await other.remember(other.newHandle(), "2026-11", TOWN, CAPS, draw);
  await assert.rejects(ledger.importText(await other.exportText(), CAPS), { code: "place" });
  assert.equal((await ledger.entries()).length, 1);
  const again = await ledger.importText(await ledger.exportText(), CAPS);
  assert.deepEqual(again, { entries: 0, places: 0 });
});

test("a stored signal that is damaged is not sent and not drawn anew", async () => {
  const ledger = await fresh();
  await ledger.remember("home", "2026-11", TOWN, CAPS, draw);
  const [entry] = await ledger.entries();
  assert.throws(() => priceOf([{ ...entry, record: "02ff" }], "home", "2026-11", TOWN, CAPS), {
    code: "storage",
  });
});
