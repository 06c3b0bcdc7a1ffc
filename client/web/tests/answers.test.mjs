import assert from "node:assert/strict";
import { test } from "node:test";

import { greatCircle, isOpen, judged, missing, preferencesOf } from "../build/askew/rank.js";
import { ALL, asked, cardOf, largestSlate, replyOf, resultsOf } from "../build/askew/wire.js";
import { fromHex, vectors } from "./vectors.mjs";

const cards = vectors.cards.map((each) => cardOf(fromHex(each.bytes)));

// A Monday, so that a day of the week and a minute make a date of this device's own clock.
const dateOf = ([day, minute]) => new Date(2026, 10, 23 + day, 0, minute);

test("a card is read as the core reads it", () => {
  vectors.cards.forEach((said, n) => {
    const { area, collections, maxSlateSize } = cards[n];
    assert.deepEqual([area.south, area.west, area.north, area.east], said.area);
    assert.equal(maxSlateSize, said.max_slate_size);
    assert.deepEqual(
      collections.map((each) => ({
        number: each.number,
        name: each.name,
        version: each.version,
        n_items: each.nItems,
        source: each.source,
        simulated: each.simulated,
        item_bytes: each.itemBytes,
        attributes: each.attributes.map((a) => [a.name, a.kind, a.live, a.unit, a.words]),
      })),
      said.collections.map(({ mode, ...each }) => each),
    );
  });
});

test("how many results are asked for follows from the card, as in the core", () => {
  vectors.cards.forEach((said, n) => {
    for (const [name, k] of Object.entries(said.results)) {
      assert.equal(resultsOf(cards[n], name, 0), k);
      assert.equal(largestSlate(cards[n], name), said.largest[name]);
      assert.equal(resultsOf(cards[n], name, said.largest[name]), said.largest[name]);
      assert.throws(() => resultsOf(cards[n], name, said.largest[name] + 1), { code: "range" });
    }
    assert.throws(() => resultsOf(cards[n], "nothing", 0), { code: "not_found" });
  });
});

function orders({ card, collection, k, true: at, preferences, now, reply }) {
  const position = { latitude: at[0], longitude: at[1] };
  const wants = preferencesOf(preferences);
  return replyOf(fromHex(reply), cards[card], collection, k).map((listings, n) => {
    const { attributes } = asked(cards[card], collection)[n];
    const found = judged(listings, attributes, position, wants, dateOf(now));
    return { found, missing: missing(attributes, wants) };
  });
}

test("a reply gets the private order of the core", () => {
  assert.ok(vectors.replies.some((each) => each.collection === ALL));
  for (const row of vectors.replies) {
    const parts = orders(row);
    assert.equal(parts.length, row.answers.length);
    parts.forEach(({ found }, n) => {
      const expected = row.answers[n];
      assert.deepEqual(
        found.map((each) => each.listing.id),
        expected.order,
        row.preferences,
      );
      assert.deepEqual(
        found.map((each) => Number(each.passes)),
        expected.passes,
      );
      found.forEach(({ distance }, rank) => {
        assert.ok(Math.abs(distance - expected.distances[rank]) <= 1e-9 * (1 + distance));
      });
    });
  }
});

test("what preferences name and is not there is told", () => {
  const bare = (names) => names.map((each) => each.replace(/ \(perhaps .*\)$/, "")).sort();
  for (const row of vectors.replies)
    orders(row).forEach((part, n) => {
      assert.deepEqual(bare(part.missing), bare(row.answers[n].missing), row.preferences);
    });
});

test("the preferences of the vectors change orders, and what passes", () => {
  const changed = vectors.replies.filter((row) => {
    const plain = orders({ ...row, preferences: "" });
    return plain.some(({ found }, n) =>
      found.some((each, rank) => each.listing.id !== row.answers[n].order[rank]),
    );
  });
  assert.ok(changed.length > 20);
  assert.ok(
    vectors.replies.some((row) => row.answers.some((each) => new Set(each.passes).size === 2)),
  );
});

test("a hostile reply is refused by the core's error", () => {
  for (const { name, reply, error } of vectors.hostile_replies)
    assert.throws(() => replyOf(fromHex(reply), cards[0], "food", 3), { code: error }, name);
});

test("any bytes are refused with our error, or are an answer", () => {
  const good = vectors.replies.filter((each) => each.collection === "food" && each.k === 7);
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (const { card, reply } of good)
    for (let n = 0; n < 300; n += 1) {
      const bytes = fromHex(reply);
      for (let m = 0; m <= random(3); m += 1) bytes[random(bytes.length)] = random(256);
      try {
        replyOf(bytes.subarray(0, bytes.length - random(3)), cards[card], "food", 7);
      } catch (error) {
        assert.ok(["malformed", "stale"].includes(error.code), error.stack);
      }
    }
  for (const { bytes } of vectors.cards)
    for (let n = 0; n < 600; n += 1) {
      const said = fromHex(bytes);
      said[random(said.length)] = random(256);
      try {
        cardOf(said);
      } catch (error) {
        assert.equal(error.code, "malformed", error.stack);
      }
    }
});

test("opening hours are read as the core reads them", () => {
  for (const [text, day, minute, open] of vectors.opening_hours)
    assert.equal(isOpen(text, day, minute) ?? null, open, `${text} on day ${day} at ${minute}`);
});

test("what is no preference is refused, and not repeated", () => {
  for (const text of vectors.no_preferences)
    assert.throws(
      () => preferencesOf(text),
      (error) => error.code === "preference" && !error.message.includes(text),
      text,
    );
});

test("distances are great circles", () => {
  const berlin = { latitude: 52.52, longitude: 13.405 };
  assert.equal(greatCircle(berlin, berlin), 0);
  assert.ok(Math.abs(greatCircle(berlin, { latitude: 48.137, longitude: 11.575 }) - 504.4) < 0.3);
  const beyond = { latitude: 1, longitude: -179.999 };
  assert.ok(greatCircle({ latitude: 1, longitude: 179.999 }, beyond) < 0.3);
});
