import assert from "node:assert/strict";
import { test } from "node:test";

import {
  contains,
  epsilonOf,
  LEVELS,
  microdegrees,
  perturbed,
  systemBits,
} from "../build/askew/noise.js";
import { add, exact, number, parsed, rational, rounded, written } from "../build/askew/rational.js";
import { questionBytes } from "../build/askew/wire.js";
import { regions, tape, toHex, vectors } from "./vectors.mjs";

function drawn([region, level, latitude, longitude], bits) {
  return perturbed(LEVELS[level], regions[region], { latitude, longitude }, bits);
}

test("the numbers of a level are the core's", () => {
  for (const [level, numbers] of Object.entries(vectors.levels)) {
    const law = LEVELS[level];
    assert.equal(law.stepExponent, numbers.step_exponent);
    assert.equal(law.inverseRate, numbers.inverse_rate);
    assert.equal(law.digits, numbers.digits);
    assert.equal(law.grain, BigInt(numbers.grain));
    assert.equal(written(epsilonOf(law)), numbers.epsilon_per_km);
  }
});

test("every draw is the core's, from the same bytes", () => {
  assert.ok(vectors.draws.length >= 4000);
  const reads = new Map();
  vectors.draws.forEach((row, seed) => {
    const bits = tape(seed);
    assert.deepEqual(drawn(row, bits), row.slice(4), `row ${seed}`);
    reads.set(row[1], new Set([...(reads.get(row[1]) ?? []), bits.read]));
  });
  for (const counts of reads.values()) assert.equal(counts.size, 1); // the coins of a level are as many for all
});

test("every rare branch is the core's: coins on their bounds, draws that stay, and far ones", () => {
  for (const row of vectors.forced) {
    const [seed, patches, read] = row.slice(6);
    const bits = tape(seed, patches);
    assert.deepEqual(drawn(row, bits), row.slice(4, 6), `seed ${seed}`);
    assert.equal(bits.read, read);
  }
});

test("draws on the edges of their grain are the core's", () => {
  // Elsewhere 512 steps are one, and hide how a point is rounded.
  for (const row of vectors.edges)
    assert.deepEqual(drawn(row, tape(row[6])), row.slice(4, 6), `seed ${row[6]}`);
});

test("degrees are rounded as the core rounds them", () => {
  for (const [latitude, longitude, ...expected] of vectors.roundings) {
    const [north, east] = [latitude, longitude].map((text) => {
      const found = parsed(text.replace("-", ""));
      return text.startsWith("-") ? { n: -found.n, d: found.d } : found;
    });
    assert.deepEqual(microdegrees(north, east), expected, `${latitude} ${longitude}`);
  }
});

test("a question's bytes are the core's, but for a date, which this device never has", () => {
  const rows = vectors.requests.filter(([, , , date]) => date === 0);
  assert.ok(rows.length > 30);
  for (const [row, collection, k, , bytes] of rows) {
    const [region, level, , , ...signal] = vectors.draws[row];
    assert.equal(
      toHex(questionBytes(LEVELS[level], regions[region].cosine, signal, k, collection)),
      bytes,
    );
  }
});

test("a position outside the region is refused, and is in no message", () => {
  const [germany] = regions.filter((each) => each.code === "DE");
  for (const [latitude, longitude] of [
    [48.85, 2.35],
    [NaN, 10],
    [50, Infinity],
    [50, 370],
    [91, 10],
  ]) {
    const refused = () => perturbed(LEVELS.town, germany, { latitude, longitude }, systemBits);
    assert.throws(refused, (error) => error.code === "place" && !/48|2\.35/.test(error.message));
    assert.equal(contains(germany, { latitude, longitude }), false);
  }
});

test("doubles are exact rationals", () => {
  for (const value of [0, -0, 0.1, -13.405, 1e-200, 2 ** 60, 180, 1e-7]) {
    const { n, d } = exact(value);
    assert.equal(Number(n) / Number(d), value === 0 ? 0 : value);
  }
  assert.equal(written(add(exact(0.5), rational(1n, 3n))), "5/6");
  assert.equal(rounded(rational(5n, 2n)), 2n);
  assert.equal(rounded(rational(-5n, 2n)), -2n);
  assert.equal(rounded(rational(7n, 2n)), 4n);
});

test("a bound is shown rounded up", () => {
  assert.equal(number(rational(118805n, 10000n)), 11.89);
  assert.equal(number(parsed("36944/133375")), 0.277);
  assert.equal(number(rational(1n, 3n), 3), 0.334);
  assert.equal(number(rational(0n)), 0);
});

test("the kernel's randomness is read in blocks that a browser gives", () => {
  assert.equal(systemBits(200_000).length, 200_000);
  assert.notEqual(toHex(systemBits(16)), toHex(systemBits(16)));
  assert.ok(
    systemBits(200_000)
      .slice(-16)
      .some((byte) => byte !== 0),
  );
});
