// Questions and answers as bytes: the few messages of askew/wire/v1/retrieval.proto that a device of
// places needs. Nothing here trusts a length, an order or a number that a server sends.

import { AskewError, malformed } from "./errors.js";
import type { Law, Position } from "./noise.js";

export interface Area {
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
}

const KINDS = ["category", "number", "flag", "hours"] as const;
export type Kind = (typeof KINDS)[number];
export type Value = string | number | boolean | null; // null where it is unknown

export interface Attribute {
  readonly name: string;
  readonly kind: Kind;
  readonly live: boolean;
  readonly unit: string;
  readonly words: readonly string[];
}

export interface Collection {
  readonly number: number; // what a question says; the name is for people
  readonly name: string;
  readonly version: string;
  readonly nItems: number;
  readonly source: string;
  readonly simulated: boolean;
  readonly itemBytes: number;
  readonly attributes: readonly Attribute[];
}

export interface Card {
  readonly area: Area;
  readonly collections: readonly Collection[];
  readonly maxSlateSize: number;
}

export interface Listing {
  readonly id: number;
  readonly title: string;
  readonly at: Position;
  readonly values: readonly Value[];
}

export const ALL = "*"; // asks every collection
const MAX_COLLECTIONS = 256;
const ALL_NUMBER = MAX_COLLECTIONS; // what a question says for it
const MAX_SLATE = 256;
export const NO_COLLECTION = "the server has no such collection";
export const STALE = "the server has changed: connect again";

export function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
}

// ---- what is sent ----

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
}

function fixed(field: number, value: number): number[] {
  const bytes = [value, value >>> 8, value >>> 16, value >>> 24].map((byte) => byte & 255);
  return [...varint((field << 3) | 5), ...bytes];
}

const sized = (field: number, content: readonly number[]) => [
  ...varint((field << 3) | 2),
  ...varint(content.length),
  ...content,
];

// The question, whose size is always the same. collection: its number.
export function questionBytes(
  law: Pick<Law, "stepExponent" | "inverseRate">,
  cosine: number,
  signal: readonly [number, number],
  k: number,
  collection: number,
): Uint8Array<ArrayBuffer> {
  const noise = [...fixed(1, law.stepExponent), ...fixed(2, law.inverseRate), ...fixed(3, cosine)];
  const values = signal.flatMap((value) => fixed(0, value).slice(1));
  return Uint8Array.from([
    ...fixed(1, collection),
    ...fixed(2, k),
    ...sized(4, values),
    ...sized(5, noise),
  ]);
}

// ---- what comes ----

interface Field {
  readonly number: number;
  readonly bytes: Uint8Array; // the content of a field with a length, or of a fixed one
  readonly value: number; // of a varint
  readonly type: number;
}

const WIDTHS: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

function* fieldsOf(data: Uint8Array): Generator<Field> {
  let at = 0;
  const next = () => {
    let found = 0;
    for (let place = 0; place < 10; place += 1) {
      const byte = data[at];
      if (byte === undefined) break;
      at += 1;
      found += (byte & 127) * 2 ** (7 * place);
      if (byte < 128) return found;
    }
    throw malformed();
  };
  while (at < data.length) {
    const tag = next();
    const type = tag % 8;
    let value = 0;
    let size = 0;
    if (type === 0) value = next();
    else if (type === 2) size = next();
    else if (WIDTHS[type]) size = WIDTHS[type]!;
    else throw malformed();
    if (at + size > data.length) throw malformed();
    yield { number: Math.floor(tag / 8), type, value, bytes: data.subarray(at, at + size) };
    at += size;
  }
}

const view = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function words(bytes: Uint8Array): string {
  try {
    return text.decode(bytes);
  } catch {
    throw malformed();
  }
}

// A message by the numbers of its fields: the last of each, and all of those that repeat.
class Message {
  private readonly _found = new Map<number, Field[]>();

  // most: how many fields there may be; who sends more is refused before anything is made of them.
  constructor(data: Uint8Array, most = 64) {
    for (const field of fieldsOf(data)) {
      const same = this._found.get(field.number) ?? [];
      if ((most -= 1) < 0) throw malformed();
      same.push(field);
      this._found.set(field.number, same);
    }
  }

  has(number: number): boolean {
    return this._found.has(number);
  }

  all(number: number): readonly Uint8Array[] {
    return (this._found.get(number) ?? [])
      .filter((each) => each.type === 2)
      .map((each) => each.bytes);
  }

  private _last(number: number, type: number): Field | undefined {
    return (this._found.get(number) ?? []).filter((each) => each.type === type).at(-1);
  }

  bytes(number: number): Uint8Array {
    return this._last(number, 2)?.bytes ?? new Uint8Array();
  }

  text(number: number): string {
    return words(this.bytes(number));
  }

  flag(number: number): boolean {
    return (this._last(number, 0)?.value ?? 0) !== 0;
  }

  fixed(number: number): number {
    const found = this._last(number, 5);
    return found ? view(found.bytes).getUint32(0, true) : 0;
  }

  double(number: number): number {
    const found = this._last(number, 1);
    return found ? view(found.bytes).getFloat64(0, true) : 0;
  }
}

// Text of a stranger: short and visible, without controls and turned directions. What joins or
// parts letters, and the marks of a direction, may stand in it.
const SHOWN = /[^\p{C}\p{Z}]/u;
const HIDDEN = /(?![ \u00ad\u200b-\u200f\u2060\ufeff])[\p{C}\p{Z}]/u;
const MARKS = /\p{M}{9}/u;

function plain(value: string, longest: number): string {
  const isPlain =
    SHOWN.test(value) && !HIDDEN.test(value) && !MARKS.test(value.normalize("NFD"));
  if (!isPlain || [...value].length > longest) throw malformed();
  return value;
}

function within(value: number, low: number, high: number): number {
  if (!(low <= value && value <= high)) throw malformed();
  return value;
}

const NAME = 40;
const TEXT = 500;
const HOURS = 200;

function version(bytes: Uint8Array): string {
  if (bytes.length !== 16) throw malformed();
  return hexOf(bytes);
}

function few<T>(found: readonly T[], low: number, high: number): readonly T[] {
  within(found.length, low, high);
  return found;
}

function distinct<T extends { name: string }>(found: readonly T[]): readonly T[] {
  if (new Set(found.map((each) => each.name)).size < found.length) throw malformed();
  return found;
}

export function cardOf(data: Uint8Array): Card {
  const message = new Message(data, 1024);
  if (message.has(1)) throw malformed();
  const space = new Message(message.bytes(8));
  if (!space.has(1)) throw malformed();
  const edges = new Message(space.bytes(1));
  const area = {
    south: within(edges.double(1), -90, 90),
    west: within(edges.double(2), -180, 180),
    north: within(edges.double(3), -90, 90),
    east: within(edges.double(4), -180, 180),
  };
  if (area.south >= area.north || area.west === area.east) throw malformed();
  const collections = distinct(few(message.all(9), 1, MAX_COLLECTIONS).map(collectionOf));
  if (new Set(collections.map((each) => each.number)).size < collections.length) throw malformed();
  return { area, collections, maxSlateSize: within(message.fixed(4), 1, MAX_SLATE) };
}

function collectionOf(data: Uint8Array): Collection {
  const message = new Message(data, 256);
  const name = plain(message.text(1), NAME);
  if (name === ALL) throw malformed();
  return {
    number: within(message.fixed(10), 0, MAX_COLLECTIONS - 1),
    name,
    version: version(message.bytes(2)),
    source: plain(message.text(3), TEXT),
    simulated: message.flag(4),
    attributes: distinct(few(message.all(5), 0, 16).map(attributeOf)),
    nItems: within(message.fixed(6), 1, 20_000_000),
    itemBytes: within(message.fixed(7), 1, 65_536),
  };
}

function attributeOf(data: Uint8Array): Attribute {
  const message = new Message(data, 128);
  const kind = KINDS.find((each) => each === message.text(2));
  if (!kind) throw malformed();
  const unit = message.text(4);
  return {
    name: plain(message.text(1), NAME),
    kind,
    live: message.flag(3),
    unit: unit && plain(unit, NAME),
    words: few(message.all(5), 0, kind === "category" ? 64 : 0).map((each) =>
      plain(words(each), NAME),
    ),
  };
}

// The collections that a question asks.
export function asked(card: Card, collection: string): readonly Collection[] {
  const found = card.collections.filter((each) => collection === ALL || each.name === collection);
  if (!found.length) throw new AskewError("not_found", NO_COLLECTION);
  return found;
}

// What a question says of them.
export function numberOf(card: Card, collection: string): number {
  return collection === ALL ? ALL_NUMBER : asked(card, collection)[0]!.number;
}

const REPLY_BYTES = 16_000; // what a reply takes at most, on average
const FEW_BYTES = 4_000; // about what one takes where nobody says how many results
const SIZES = [5, 10, 20, 40, 80, 160];
const FEWEST = 1; // of a server that answers fewer than the least of these

export function largestSlate(card: Card, collection: string): number {
  const found = asked(card, collection);
  const size = found.reduce((sum, each) => sum + each.itemBytes, 0);
  return Math.min(card.maxSlateSize, Math.max(1, Math.floor(REPLY_BYTES / size)));
}

// How many results to ask for: the person's own number, or one of few, since a server that says how
// large its items are could mark a device by it.
export function resultsOf(card: Card, collection: string, k: number): number {
  const most = largestSlate(card, collection);
  if (k > most) throw new AskewError("range", `the server answers with at most ${most} results`);
  if (k) return k;
  const size = Math.max(...asked(card, collection).map((each) => each.itemBytes));
  const far = (count: number) => Math.abs(Math.log((count * size) / FEW_BYTES));
  const fit = SIZES.reduce((best, each) => (far(each) < far(best) ? each : best));
  return Math.max(FEWEST, ...SIZES.filter((each) => each <= Math.min(fit, most)));
}

const EDGE = 1e-6; // degrees, for edges that a server computes in floats

function lies(area: Area, at: Position): boolean {
  const width = area.east - area.west === 360 ? 360 : (area.east - area.west + 360) % 360;
  const east = (((at.longitude - area.west + EDGE) % 360) + 360) % 360;
  const isOnEarth = Math.abs(at.latitude) <= 90 && Math.abs(at.longitude) <= 180;
  const isNorth = area.south - EDGE <= at.latitude && at.latitude <= area.north + EDGE;
  return isOnEarth && isNorth && east <= width + 2 * EDGE;
}

// The items of a reply, of each collection that was asked: k, or all that it has.
export function replyOf(data: Uint8Array, card: Card, collection: string, k: number): Listing[][] {
  const found = asked(card, collection);
  let parts: readonly Uint8Array[] = [data];
  if (collection === ALL) {
    const message = new Message(data, found.length + 8);
    parts = message.all(7);
    if (parts.length !== found.length || [1, 2, 3, 4, 5, 6, 8].some((each) => message.has(each)))
      throw malformed();
  }
  return found.map((each, n) => {
    const count = Math.min(k, each.nItems);
    return slateOf(new Message(parts[n]!, count + 8), card, each, count);
  });
}

function slateOf(message: Message, card: Card, of: Collection, k: number): Listing[] {
  const answered = version(message.bytes(1));
  const items = message.all(5);
  if (!message.has(8) || message.fixed(8) !== of.number) throw malformed(); // of another collection
  if (items.length !== k || [2, 3, 4, 6, 7].some((each) => message.has(each))) throw malformed();
  if (answered !== of.version) throw new AskewError("stale", STALE);
  const found = items.map((each) => listingOf(new Message(each), card, of));
  if (found.some((each, n) => n > 0 && each.id <= found[n - 1]!.id)) throw malformed();
  return found;
}

function listingOf(message: Message, card: Card, of: Collection): Listing {
  const degrees = message.bytes(3);
  const values = message.all(4);
  if (degrees.length !== 16 || values.length !== of.attributes.length) throw malformed();
  const id = within(message.fixed(1), 0, of.nItems - 1);
  const at = {
    latitude: view(degrees).getFloat64(0, true),
    longitude: view(degrees).getFloat64(8, true),
  };
  if (!lies(card.area, at)) throw malformed();
  return {
    id,
    title: plain(message.text(2), TEXT),
    at,
    values: values.map((each, n) => valueOf(each, of.attributes[n]!.kind)),
  };
}

function valueOf(data: Uint8Array, kind: Kind): Value {
  const message = new Message(data);
  if (![1, 2, 3].some((each) => message.has(each))) return null;
  const field = kind === "number" ? 2 : kind === "flag" ? 3 : 1;
  if (!message.has(field)) throw malformed();
  if (kind === "flag") return message.flag(field);
  if (kind === "number") return within(message.double(field), -Number.MAX_VALUE, Number.MAX_VALUE);
  return plain(message.text(field), kind === "hours" ? HOURS : TEXT);
}
