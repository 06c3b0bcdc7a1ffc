// Exact numbers. Doubles are rationals, so nothing is lost between a position and its lattice.

export interface Rational {
  readonly n: bigint;
  readonly d: bigint; // above 0
}

export const ZERO: Rational = { n: 0n, d: 1n };

function gcd(a: bigint, b: bigint): bigint {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

export function rational(n: bigint, d = 1n): Rational {
  const by = gcd(n, d) || 1n;
  return { n: n / by, d: d / by };
}

// "36944/133375". Undefined for any other text, also where it means a number.
export function parsed(text: string): Rational | undefined {
  const found = /^(0|[1-9]\d{0,80})(?:\/([1-9]\d{0,80}))?$/.exec(text);
  return found ? rational(BigInt(found[1]!), BigInt(found[2] ?? 1)) : undefined;
}

export function written(a: Rational): string {
  return a.d === 1n ? `${a.n}` : `${a.n}/${a.d}`;
}

export function exact(value: number): Rational {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  const size = exponent ? fraction | 0x10000000000000n : fraction;
  const power = (exponent || 1n) - 1075n;
  const signed = bits >> 63n ? -size : size;
  return power < 0n ? rational(signed, 1n << -power) : rational(signed << power);
}

export const add = (a: Rational, b: Rational) => rational(a.n * b.d + b.n * a.d, a.d * b.d);
export const subtract = (a: Rational, b: Rational) => add(a, { n: -b.n, d: b.d });
export const times = (a: Rational, b: Rational) => rational(a.n * b.n, a.d * b.d);
export const over = (a: Rational, b: Rational) =>
  times(a, b.n < 0n ? { n: -b.d, d: -b.n } : { n: b.d, d: b.n });
export const less = (a: Rational, b: Rational) => a.n * b.d < b.n * a.d;
export const same = (a: Rational, b: Rational) => a.n * b.d === b.n * a.d;

// Both round down; the divisor is above 0.
export function floorDivided(n: bigint, d: bigint): bigint {
  const found = n / d;
  return found * d > n ? found - 1n : found;
}

export const modulo = (n: bigint, d: bigint) => n - floorDivided(n, d) * d;
export const floor = (a: Rational) => floorDivided(a.n, a.d);

// To the nearest integer, and from the middle of two to the even one.
export function rounded(a: Rational): bigint {
  const below = floorDivided(2n * a.n + a.d, 2n * a.d);
  const isMiddle = modulo(2n * a.n + a.d, 2n * a.d) === 0n;
  return isMiddle && below % 2n ? below - 1n : below;
}

// For showing: the number in `digits` digits, rounded up, since it is a bound.
export function number({ n, d }: Rational, digits = 4): number {
  let places = 0;
  while (n && n * 10n ** BigInt(places) < d * 10n ** BigInt(digits - 1)) places += 1;
  return Number(`${(n * 10n ** BigInt(places) + d - 1n) / d}e-${places}`);
}
