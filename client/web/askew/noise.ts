// The draw of a noisy position. docs/protocol.md has its law, and askew.noise.hexagonal the proof.
//
// A coin with probability p falls on heads where a uniform real U is below p. U is read 128 bits at a
// time, and p is known by integers low <= p * 2^precision <= high, so no float takes part. How many
// coins a draw throws does not depend on what is drawn.

import { AskewError } from "./errors.js";
import {
  add,
  exact,
  floor,
  floorDivided,
  less,
  modulo,
  over,
  rational,
  rounded,
  same,
  subtract,
  times,
  ZERO,
  type Rational,
} from "./rational.js";

export type Bits = (count: number) => Uint8Array;

const BLOCK = 65_536; // what a browser gives in one call

export const systemBits: Bits = (count) => {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += BLOCK) crypto.getRandomValues(bytes.subarray(at, at + BLOCK));
  return bytes;
};

export interface Position {
  readonly latitude: number; // degrees, north positive
  readonly longitude: number; // degrees, east positive
}

// A part of the Earth with the plane of its distances. cosine is a number of the table of regions,
// in parts of 1/65536, and is never computed here.
export interface Region {
  readonly code: string;
  readonly name: string;
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
  readonly cosine: number;
}

export type Level = "district" | "town" | "county";

// The law of a level: a step is 2^-stepExponent kilometers, the noise ratio q / (q + 1) a step.
export interface Law {
  readonly stepExponent: number;
  readonly inverseRate: number;
  readonly digits: number; // of a geometric draw, that are thrown at once
  readonly grain: bigint; // steps, which both coordinates are rounded to
}

export const LEVELS: Readonly<Record<Level, Law>> = {
  district: { stepExponent: 11, inverseRate: 1706, digits: 18, grain: 512n },
  town: { stepExponent: 8, inverseRate: 1067, digits: 17, grain: 512n },
  county: { stepExponent: 6, inverseRate: 1067, digits: 17, grain: 512n },
};

const GAUGE = rational(11_545n, 10_000n); // steps that a distance of one step takes, at most
const KM_OF_LONGITUDE = rational(11_131n, 100n); // a degree, at the equator
const KM_OF_LATITUDE = rational(11_057n, 100n);
const NEIGHBORS = [
  [1n, 0n],
  [1n, 1n],
  [0n, 1n],
  [-1n, 0n],
  [-1n, -1n],
  [0n, -1n],
] as const;

// Per straight-line kilometer, exact: what a draw by this law costs.
export function epsilonOf(law: Pick<Law, "stepExponent" | "inverseRate">): Rational {
  return times(GAUGE, rational(1n << BigInt(law.stepExponent), BigInt(law.inverseRate)));
}

type Odds = (precision: bigint) => readonly [low: bigint, high: bigint];
const WORD = 128n;
const BYTES = 16;
const GUARD = 64n;

const up = (n: bigint, d: bigint) => -floorDivided(-n, d);

function rationalOdds({ n, d }: Rational): Odds {
  return (precision) => [(n << precision) / d, up(n << precision, d)];
}

// r^(2^level) * 2^scale for r = q / (q + 1), from below and above.
function power(q: bigint, level: number, scale: bigint): [bigint, bigint] {
  let low = (q << scale) / (q + 1n);
  let high = up(q << scale, q + 1n);
  for (; level > 0; level -= 1) {
    low = (low * low) >> scale;
    high = -((-high * high) >> scale);
  }
  return [low, high];
}

// Whether binary digit `level` of a geometric draw is one: x / (1 + x), x = r^(2^level).
function digitOdds(q: bigint, level: number): Odds {
  return (precision) => {
    const [low, high] = power(q, level, precision + GUARD);
    const one = 1n << (precision + GUARD);
    return [(low << precision) / (one + low), up(high << precision, one + high)];
  };
}

// Whether a geometric draw is at least 2^digits: r^(2^digits).
function beyondOdds(q: bigint, digits: number): Odds {
  return (precision) => {
    const [low, high] = power(q, digits, precision + GUARD);
    return [low >> GUARD, -(-high >> GUARD)];
  };
}

interface Coin {
  readonly odds: Odds;
  readonly bounds: readonly [bigint, bigint]; // at 128 bits
}

const coin = (odds: Odds): Coin => ({ odds, bounds: odds(WORD) });

function word(bytes: Uint8Array, at: number): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, BYTES);
  return (view.getBigUint64(0) << 64n) | view.getBigUint64(8);
}

// Heads is 1n. The bytes of all the coins are read at once; who is still undecided reads more.
function thrown(coins: readonly Coin[], bits: Bits, count = 1): bigint[] {
  const bytes = bits(count * coins.length * BYTES);
  const found: bigint[] = [];
  for (let n = 0; n < count * coins.length; n += 1) {
    const { odds, bounds } = coins[n % coins.length]!;
    let [low, high] = bounds;
    let value = word(bytes, n * BYTES);
    for (let precision = WORD; value >= low && value < high;) {
      value = (value << WORD) | word(bits(BYTES), 0);
      precision += WORD;
      [low, high] = odds(precision);
    }
    found.push(value < low ? 1n : 0n);
  }
  return found;
}

interface Coins {
  readonly sector: readonly Coin[];
  readonly digits: readonly Coin[];
  readonly beyond: readonly Coin[];
}

const known = new Map<Law, Coins>(); // of public numbers

function coinsOf(law: Law): Coins {
  let found = known.get(law);
  if (!found) {
    const q = BigInt(law.inverseRate);
    const half = coin(rationalOdds(rational(1n, 2n)));
    const stays = coin(rationalOdds(rational(1n, 1n + 6n * q * (q + 1n))));
    const beyond = coin(beyondOdds(q, law.digits));
    const digits = Array.from({ length: law.digits }, (_, level) => coin(digitOdds(q, level)));
    found = {
      sector: [stays, half, coin(rationalOdds(rational(1n, 3n))), half],
      digits: [...digits, beyond],
      beyond: [beyond],
    };
    known.set(law, found);
  }
  return found;
}

// Two draws G with P(G = n) = (1 - r) r^n.
function geometric(law: Law, { digits, beyond }: Coins, bits: Bits): [bigint, bigint] {
  const faces = thrown(digits, bits, 2);
  const draw = (start: number) => {
    let value = 0n;
    for (let n = 0; n < digits.length; n += 1) value += faces[start + n]! << BigInt(n);
    for (let more = faces[start + law.digits]!; more;) {
      more = thrown(beyond, bits)[0]!;
      value += more << BigInt(law.digits);
    }
    return value;
  };
  return [draw(0), draw(digits.length)];
}

// Up or down by one shared uniform: the larger fraction's coin, and the smaller's given the larger's.
function roundedAtRandom(i: Rational, j: Rational, bits: Bits): [bigint, bigint] {
  const [belowI, belowJ] = [floor(i), floor(j)];
  const [partI, partJ] = [subtract(i, rational(belowI)), subtract(j, rational(belowJ))];
  const [low, high] = less(partI, partJ) ? [partI, partJ] : [partJ, partI];
  const given = less(low, high) ? over(low, high) : ZERO;
  const [larger, both] = thrown([coin(rationalOdds(high)), coin(rationalOdds(given))], bits);
  const move = (part: Rational) => larger! & (both! | (same(part, high) ? 1n : 0n));
  return [belowI + move(partI), belowJ + move(partJ)];
}

function toGrain(coordinate: bigint, grain: bigint): bigint {
  return floorDivided(coordinate + grain / 2n, grain) * grain;
}

const DEGREES = rational(360n);

function eastOf(west: Rational, longitude: Rational): Rational {
  const { n, d } = subtract(longitude, west);
  return rational(modulo(n, 360n * d), d);
}

// Whether a position lies in a region, and how far north and east of its corner in degrees.
function within(region: Region, at: Position): { north: Rational; east: Rational } | undefined {
  const numbers = [at.latitude, at.longitude];
  if (!numbers.every(Number.isFinite) || Math.abs(at.longitude) > 180) return undefined;
  const west = exact(region.west);
  const width = region.east - region.west === 360 ? DEGREES : eastOf(west, exact(region.east));
  const east = eastOf(west, exact(at.longitude));
  const inside = region.south <= at.latitude && at.latitude <= region.north && !less(width, east);
  return inside ? { north: subtract(exact(at.latitude), exact(region.south)), east } : undefined;
}

export const outside = () => new AskewError("place", "the place is outside the region");

export function contains(region: Region, at: Position): boolean {
  return within(region, at) !== undefined;
}

export function microdegrees(latitude: Rational, longitude: Rational): [number, number] {
  const million = rational(1_000_000n);
  const north = rounded(times(latitude, million));
  const most = 90_000_000n;
  const east = modulo(rounded(times(longitude, million)) + 2n * most, 4n * most) - 2n * most;
  return [Number(north > most ? most : north < -most ? -most : north), Number(east)];
}

// The noisy position in microdegrees; the only thing to send. Never drawn again, wherever it lands.
export function perturbed(law: Law, region: Region, at: Position, bits: Bits): [number, number] {
  const place = within(region, at);
  if (!place) throw outside();
  const coins = coinsOf(law);
  const steps = rational(1n << BigInt(law.stepExponent)); // a kilometer
  const kmOfLongitude = times(KM_OF_LONGITUDE, rational(BigInt(region.cosine), 65_536n));
  const row = rational(13n, 15n); // how high a row of the lattice is, in steps
  const j = over(times(times(KM_OF_LATITUDE, place.north), steps), row);
  const i = add(times(times(kmOfLongitude, place.east), steps), times(j, rational(1n, 2n)));
  const [nearI, nearJ] = roundedAtRandom(i, j, bits);
  const [stays, opposite, first, second] = thrown(coins.sector, bits);
  const side = Number(3n * opposite! + (1n - first!) * (2n - second!));
  const [along, across] = geometric(law, coins, bits);
  const [[a, b], [c, d]] = [NEIGHBORS[side]!, NEIGHBORS[(side + 1) % 6]!];
  const moves = 1n - stays!;
  const noisyI = toGrain(nearI + moves * ((1n + along) * a + across * c), law.grain);
  const noisyJ = toGrain(nearJ + moves * ((1n + along) * b + across * d), law.grain);
  const x = over(rational(2n * noisyI - noisyJ, 2n), steps);
  const y = over(times(row, rational(noisyJ)), steps);
  return microdegrees(
    add(exact(region.south), over(y, KM_OF_LATITUDE)),
    add(exact(region.west), over(x, kmOfLongitude)),
  );
}
