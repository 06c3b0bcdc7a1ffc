// The private choice among the items of an answer: by distance, preferences and filters.
//
// Nothing of it is ever sent, and no second question follows. Every preference is judged for every
// item, whatever they are: there is no early exit.

import { AskewError } from "./errors.js";
import type { Position } from "./noise.js";
import type { Attribute, Listing, Value } from "./wire.js";

// A like is worth kilometers: a liked kind weighs as much as being so much nearer. With the
// disutility h(d) = d^exponent the cost of a result is
//   h(distance + sum of trade * number) - sum of h(worth) of what it has.
export interface Preferences {
  readonly likes: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly only: ReadonlyMap<string, ReadonlySet<string>>;
  readonly atMost: ReadonlyMap<string, number>;
  readonly trades: ReadonlyMap<string, number>; // by the unit, in small letters
  readonly openNow: boolean;
  readonly exponent: number;
}

export interface Judged {
  readonly listing: Listing;
  readonly distance: number; // kilometers along the ground
  readonly passes: boolean;
  readonly cost: number;
}

const MOST = 1e12; // of a worth or a limit

// Text in any case; upper first, so that "ß" and "SS" are the same.
export const folded = (text: string) => text.toUpperCase().toLowerCase();

const NUMBER = "[+-]?\\d+(?:\\.\\d+)?";
const COMMENT = /("[^"\n]*")|#[^\n]*/g; // none within quotes
const PARTS = /(?:[^,\n"]|"[^"\n]*")+/g;
const ONLY = /^([^=<:]+)=([^=<:]+)$/;
const AT_MOST = /^([^=<:]+)<=?\s*(-?\d+(?:\.\d+)?)$/;
const TRADE = new RegExp(`^1\\s+([^=<:]+)=\\s*(${NUMBER})(?:\\s*km)?$`);
const LIKED = /^([^=<:]+):(.+?)\s([+-]\d+(?:\.\d+)?)(?:\s*km)?$/;
const EXPONENT = new RegExp(`^exponent\\s+(${NUMBER})$`);

const named = (text: string) => text.trim().replace(/^"+|"+$/g, "");

// Preferences as a person types them, as in the app: "open, kind = bakery | café, price <= 10,
// kind: curry house +2, 1 EUR = 2 km, exponent 2".
export function preferencesOf(text: string): Preferences {
  const likes = new Map<string, Map<string, number>>();
  const only = new Map<string, Set<string>>();
  const [atMost, trades] = [new Map<string, number>(), new Map<string, number>()];
  let [openNow, exponent] = [false, 1];
  const parts = text.replace(COMMENT, (_, quoted?: string) => quoted ?? "").match(PARTS) ?? [];
  for (const part of parts.map((each) => each.trim()).filter(Boolean)) {
    let found: RegExpExecArray | null;
    if (["open", "open now"].includes(folded(part))) openNow = true;
    else if ((found = TRADE.exec(part))) trades.set(folded(named(found[1]!)), Number(found[2]));
    else if ((found = ONLY.exec(part)))
      only.set(named(found[1]!), new Set(found[2]!.split("|").map((each) => folded(named(each)))));
    else if ((found = AT_MOST.exec(part))) atMost.set(named(found[1]!), Number(found[2]));
    else if ((found = LIKED.exec(part))) {
      const kinds = likes.get(named(found[1]!)) ?? new Map<string, number>();
      likes.set(named(found[1]!), kinds.set(folded(named(found[2]!)), Number(found[3])));
    } else if ((found = EXPONENT.exec(part))) exponent = Number(found[1]);
    else throw new AskewError("preference", "no preference");
  }
  const numbers = [...trades.values(), ...atMost.values()];
  for (const kinds of likes.values()) numbers.push(...kinds.values());
  if (numbers.some((each) => Math.abs(each) > MOST) || !(exponent > 0 && exponent <= 4))
    throw new AskewError("preference", "a preference is out of range");
  return { likes, only, atMost, trades, openNow, exponent };
}

export const NO_PREFERENCES = preferencesOf("");

const EARTH_RADIUS = 6371.0088; // kilometers

export function greatCircle(here: Position, there: Position): number {
  const radians = Math.PI / 180;
  const [latitude, other] = [here.latitude * radians, there.latitude * radians];
  const north = Math.sin((other - latitude) / 2);
  const east = Math.sin((there.longitude * radians - here.longitude * radians) / 2);
  const share = north ** 2 + Math.cos(latitude) * Math.cos(other) * east ** 2;
  return 2 * EARTH_RADIUS * Math.asin(Math.sqrt(Math.min(1, share)));
}

function wordOf(value: Value): string | undefined {
  if (value === null) return undefined;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return folded(String(value));
}

const unitOf = (attribute: Attribute) => folded(attribute.unit || attribute.name);

// What is preferred of one attribute: what a value is worth and takes away, and whether it passes.
function columnOf(attribute: Attribute, values: readonly Value[], wants: Preferences) {
  const { name } = attribute;
  const known = values.filter((each): each is number => typeof each === "number");
  const highest = known.length ? Math.max(...known) : 0; // what is unknown counts as this
  const trade = wants.trades.get(unitOf(attribute)) ?? 0;
  const [likes, only, most] = [wants.likes.get(name), wants.only.get(name), wants.atMost.get(name)];
  return (value: Value) => {
    const [word, number] = [wordOf(value), typeof value === "number" ? value : undefined];
    const isKind = only === undefined || (word !== undefined && only.has(word));
    const isLow = most === undefined || (number ?? Infinity) <= most;
    return {
      worth: (word !== undefined && likes?.get(word)) || 0,
      traded: trade * Math.min(Math.max(number ?? highest, -MOST), MOST),
      passes: Number(isKind) & Number(isLow),
    };
  };
}

// The items from best to worst: those that pass first, then by cost, ties to the lower id.
export function judged(
  listings: readonly Listing[],
  attributes: readonly Attribute[],
  true_: Position,
  wants: Preferences,
  now: Date,
): Judged[] {
  const columns = attributes.map((each, n) =>
    columnOf(
      each,
      listings.map((l) => l.values[n]!),
      wants,
    ),
  );
  const names = new Set(attributes.map((each) => each.name));
  const isKnown = [...wants.only.keys(), ...wants.atMost.keys()].every((each) => names.has(each));
  const h = (worth: number) => Math.sign(worth) * Math.abs(worth) ** wants.exponent;
  const found = listings.map((listing) => {
    const said = columns.map((column, n) => column(listing.values[n]!));
    const distance = greatCircle(true_, listing.at);
    const away = distance + said.reduce((sum, each) => sum + each.traded, 0);
    const cost = h(away) - said.reduce((sum, each) => sum + h(each.worth), 0);
    const isNow = Number(opens(attributes, listing.values, now)) | Number(!wants.openNow);
    const passes = said.reduce((all, each) => all & each.passes, Number(isKnown)) & isNow;
    return { listing, distance, cost, passes: passes === 1 };
  });
  return found.sort(
    (a, b) => Number(b.passes) - Number(a.passes) || a.cost - b.cost || a.listing.id - b.listing.id,
  );
}

// What preferences name and a collection does not have: such a filter lets nothing pass.
export function missing(attributes: readonly Attribute[], wants: Preferences): string[] {
  const kinds = new Map(attributes.map((each) => [each.name, each.kind]));
  const asked = new Set([...wants.likes.keys(), ...wants.only.keys(), ...wants.atMost.keys()]);
  const names = [...asked].filter((each) => !kinds.has(each));
  for (const each of wants.atMost.keys())
    if (kinds.has(each) && kinds.get(each) !== "number") names.push(`${each} as a number`);
  const units = new Set(attributes.filter((each) => each.kind === "number").map(unitOf));
  for (const each of wants.trades.keys()) if (!units.has(each)) names.push(`a number in ${each}`);
  for (const { name, words } of attributes) {
    const known = new Set(words.map(folded));
    const wished = new Set([
      ...(wants.likes.get(name)?.keys() ?? []),
      ...(wants.only.get(name) ?? []),
    ]);
    if (words.length)
      names.push(
        ...[...wished].filter((each) => !known.has(each)).map((each) => `${name} ${each}`),
      );
  }
  if (wants.openNow && !attributes.some((each) => each.kind === "hours" || isOpenFlag(each)))
    names.push("opening hours");
  return names;
}

function isOpenFlag({ name, kind }: Attribute): boolean {
  return kind === "flag" && ["open", "open now"].includes(folded(name).replaceAll("_", " "));
}

// By a flag where it is known, which may be live; else by the hours and the device's clock.
function opens(attributes: readonly Attribute[], values: readonly Value[], now: Date): boolean {
  const flags = attributes.map((each, n) => (isOpenFlag(each) ? values[n]! : null));
  const [day, minute] = [(now.getDay() + 6) % 7, now.getHours() * 60 + now.getMinutes()];
  const hours = attributes.map(
    (each, n) =>
      each.kind === "hours" && typeof values[n] === "string" && isOpen(values[n], day, minute),
  );
  return flags.some((each) => each !== null) ? flags.includes(true) : hours.includes(true);
}

const DAYS = ["mo", "tu", "we", "th", "fr", "sa", "su"];
const MIDNIGHT = 24 * 60;
const ANOTHER = /(?<=[0-9df]) *, *(?=[a-z])/; // rule, behind a time or "off"
type Span = readonly [start: number, end: number, opens: boolean];

// Whether it is open on a day (Monday is 0) at a minute of it; undefined for hours that cannot be
// read. The grammar is that of docs/protocol.md.
export function isOpen(hours: string, day: number, minute: number): boolean | undefined {
  try {
    const week = weekOf(hours);
    const at = (n: number, when: number) =>
      week[n]!.filter(([start, end]) => start <= when && when < end);
    return [...at((day + 6) % 7, minute + MIDNIGHT), ...at(day, minute)].at(-1)?.[2] ?? false;
  } catch {
    return undefined;
  }
}

function weekOf(hours: string): Span[][] {
  const week: Span[][] = DAYS.map(() => []);
  const text = hours.toLowerCase().replace(/^ *24\/7 *$/, "00:00-24:00");
  for (const rules of text.split(";").filter((each) => each.trim()))
    for (const [number, each] of rules.trim().split(ANOTHER).entries()) {
      const rule = each.replace(/(off|closed)$/, "").trimEnd();
      const opens = rule === each;
      const times = rule.replace(/^[a-z ,-]+/, "");
      const spans = opens || times ? times.split(",").map((each) => spanOf(each, opens)) : [];
      for (const day of daysOf(rule.slice(0, rule.length - times.length)))
        week[day] = [...(spans.length && (number || !opens) ? week[day]! : []), ...spans];
    }
  return week;
}

function daysOf(text: string): number[] {
  if (!text.trim()) return DAYS.map((_, n) => n);
  return text.split(",").flatMap((part) => {
    const ends = part.split("-").map((each) => DAYS.indexOf(each.trim()));
    const [first = 0, last = first, more] = ends;
    if (ends.includes(-1) || more !== undefined) throw new SyntaxError();
    return DAYS.map((_, n) => (first + n) % 7).slice(0, ((last - first + 7) % 7) + 1);
  });
}

function spanOf(text: string, opens: boolean): Span {
  const found = /^(\d\d?):([0-5]\d) *- *(\d\d?):([0-5]\d)$/.exec(text.trim());
  const [, hour, minute, lastHour, lastMinute] = found!.map(Number); // a TypeError if none is
  const [start, end] = [60 * hour! + minute!, 60 * lastHour! + lastMinute!];
  if (start > MIDNIGHT || end > 2 * MIDNIGHT) throw new SyntaxError();
  return [start, end > start ? end : end + MIDNIGHT, opens];
}
