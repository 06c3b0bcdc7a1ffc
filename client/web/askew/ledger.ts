// What this device drew and what that cost, kept in IndexedDB.
//
// A signal and its charge are written in one transaction, and it is complete before anything is sent:
// a crash loses budget, never privacy. A place's signal is found by its random handle alone, so no
// server, month, level or region draws a second one. What a browser clears is gone, and no cap knows
// of it: the README says so.

import { AskewError } from "./errors.js";
import { epsilonOf, type Bits, type Position } from "./noise.js";
import {
  add,
  less,
  parsed,
  rational,
  same,
  subtract,
  written,
  ZERO,
  type Rational,
} from "./rational.js";
import { hexOf } from "./wire.js";

export interface Signal {
  readonly stepExponent: number;
  readonly inverseRate: number;
  readonly cosine: number;
  readonly values: readonly [number, number]; // microdegrees
}

// One line of the ledger. Accepting a clock draws and costs nothing.
export interface Entry {
  readonly kind: "signal" | "accept";
  readonly handle: string;
  readonly month: string; // "2026-11"
  readonly epsilon: string; // per straight-line kilometer, exact, such as "36944/133375"
  readonly record: string | null; // the signal, in hex
}

// Epsilon per straight-line kilometer: for life, in a month, and of one position.
export interface Caps {
  readonly lifetime: Rational;
  readonly monthly: Rational;
  readonly draw: Rational;
}

export const CAPS: Caps = {
  lifetime: rational(21n, 5n),
  monthly: rational(7n, 5n),
  draw: rational(7n, 5n),
};

export interface Price {
  readonly month: string; // by the ledger's clock, which is ahead where a wrong date was stored once
  readonly fresh: boolean; // drawn and charged, and not sent again
  readonly epsilon: Rational; // per kilometer, of the signal that is or would be sent
  readonly hiddenKm: number; // within which odds change at most 4 times
  readonly spent: Rational; // before it, for life
  readonly spentThisMonth: Rational;
  readonly lifetimeCap: Rational;
  readonly monthlyCap: Rational;
  readonly drawCap: Rational;
  readonly refused: AskewError | null; // why it would not be drawn
}

export interface Account {
  readonly entries: readonly Entry[];
  readonly month: string; // by the ledger's clock
  readonly spent: Rational;
  readonly spentThisMonth: Rational;
  readonly lifetimeCap: Rational;
  readonly monthlyCap: Rational;
}

const MAX_JUMP = 12; // months; a clock that jumps further is not believed
const MONTH = /^(?:19|2\d)\d{2}-(?:0[1-9]|1[0-2])$/;

// As bytes: 2, the step exponent, the rate and the cosine, then both values; 4 bytes each,
// little-endian.
export function recordOf(signal: Signal): string {
  const view = new DataView(new ArrayBuffer(21));
  view.setUint8(0, 2);
  const numbers = [signal.stepExponent, signal.inverseRate, signal.cosine, ...signal.values];
  numbers.forEach((each, n) => view.setInt32(1 + 4 * n, each, true));
  return hexOf(new Uint8Array(view.buffer));
}

// Undefined for what is no record of a position.
export function signalOf(record: unknown): Signal | undefined {
  if (typeof record !== "string" || !/^02[0-9a-f]{40}$/.test(record)) return undefined;
  const bytes = Uint8Array.from(record.match(/../g)!, (each) => parseInt(each, 16));
  const view = new DataView(bytes.buffer);
  const [stepExponent, inverseRate, cosine, north, east] = [0, 1, 2, 3, 4].map((n) =>
    view.getInt32(1 + 4 * n, true),
  ) as [number, number, number, number, number];
  const isLaw = stepExponent >= 0 && stepExponent <= 20 && inverseRate >= 1 && inverseRate <= 4096;
  const isPlane = cosine >= 16_961 && cosine < 65_536;
  const isOnEarth = Math.abs(north) <= 90e6 && Math.abs(east) <= 180e6;
  if (!isLaw || !isPlane || !isOnEarth) return undefined;
  return { stepExponent, inverseRate, cosine, values: [north, east] };
}

const months = (month: string) => 12 * Number(month.slice(0, 4)) + Number(month.slice(5));

// The last month that this device's own clock gave; it never runs back but where it was accepted.
function clockOf(entries: readonly Entry[], least = ""): string {
  const own = entries.reduce(
    (a, { kind, month }) => (kind === "accept" || month > a ? month : a),
    "",
  );
  return own > least ? own : least;
}

export function stored(entries: readonly Entry[], handle: string): Signal | undefined {
  const entry = entries.find((each) => each.record !== null && each.handle === handle);
  const found = signalOf(entry?.record);
  if (entry && !found) throw new AskewError("storage", "the ledger is damaged");
  return found;
}

// Where the person accepted an earlier clock, all that was drawn by the later one counts in the
// accepted month, too, as nobody knows which of the two clocks was wrong.
function totals(entries: readonly Entry[], month: string, caps: Caps) {
  let [latest, spent, spentThisMonth] = ["9", ZERO, ZERO];
  for (const { kind, month: dated, epsilon } of [...entries].reverse()) {
    const counted = dated < latest ? dated : latest;
    const cost = parsed(epsilon) ?? ZERO;
    if (kind === "accept") latest = counted;
    spent = add(spent, cost);
    if ([dated, counted].includes(month)) spentThisMonth = add(spentThisMonth, cost);
  }
  return { month, spent, spentThisMonth, lifetimeCap: caps.lifetime, monthlyCap: caps.monthly };
}

export function accountOf(entries: readonly Entry[], month: string, caps: Caps): Account {
  return { entries, ...totals(entries, clockOf(entries, month), caps) };
}

// What a signal of this handle would cost now. epsilon: of a fresh one.
export function priceOf(
  entries: readonly Entry[],
  handle: string,
  month: string,
  fresh: Rational,
  caps: Caps,
): Price {
  const sent = stored(entries, handle);
  const epsilon = sent ? epsilonOf(sent) : fresh;
  const price = {
    ...totals(entries, sent ? month : clockOf(entries, month), caps),
    fresh: !sent,
    epsilon,
    hiddenKm: (Math.log(4) * Number(epsilon.d)) / Number(epsilon.n),
    drawCap: caps.draw,
  };
  return { ...price, refused: sent ? null : refusalOf(price, clockOf(entries)) };
}


function refusalOf(price: Omit<Price, "refused">, clock: string): AskewError | null {
  const { month, epsilon, spent, spentThisMonth, lifetimeCap, monthlyCap, drawCap } = price;
  if (clock && months(month) - months(clock) > MAX_JUMP)
    return new AskewError(
      "clock",
      `the clock says ${month}, the ledger ${clock}`,
    );
  const over = [
    [drawCap, ZERO, "the cap of one position"],
    [lifetimeCap, spent, "the lifetime cap"],
    [monthlyCap, spentThisMonth, "the monthly cap"],
  ] as const;
  const whose = over.find(([cap, before]) => less(subtract(cap, before), epsilon))?.[2];
  return whose ? new AskewError("budget", `this would pass ${whose}: nothing was drawn`) : null;
}

export function covers(shown: Price, now: Price): boolean {
  const numbers = ["epsilon", "spent", "spentThisMonth", "lifetimeCap", "monthlyCap"] as const;
  return (
    shown.month === now.month &&
    shown.fresh === now.fresh &&
    numbers.every((each) => same(shown[each], now[each]))
  );
}

// ---- what is kept ----

export interface Kept {
  readonly name: string; // "" is the position of a question that was not answered yet
  readonly position: Position;
  readonly handle: string;
}

const STORES = ["entries", "places"];
const MAX_FILE = 1 << 24;
const FORMAT = 1;

export class Ledger {
  private constructor(
    private readonly _database: IDBDatabase,
    private readonly _bits: Bits,
  ) {}

  static open(name: string, bits: Bits): Promise<Ledger> {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(name, 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("entries", { autoIncrement: true });
        request.result.createObjectStore("places", { keyPath: "name" });
      };
      request.onsuccess = () => resolve(new Ledger(request.result, bits));
      request.onerror = request.onblocked = () => reject(unkept());
    });
  }

  // All of `work` in one transaction, which is complete when this returns, or taken back.
  private async _transaction<T>(
    mode: IDBTransactionMode,
    work: (open: Open) => Promise<T>,
  ): Promise<T> {
    const transaction = this._database.transaction(STORES, mode, { durability: "strict" });
    const ended = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = reject;
    });
    try {
      const found = await work(opened(transaction));
      await ended;
      return found;
    } catch (error) {
      ended.catch(() => undefined);
      try {
        transaction.abort();
      } catch {
        // It has ended already.
      }
      throw error instanceof AskewError ? error : unkept();
    }
  }

  newHandle(): string {
    return hexOf(this._bits(16));
  }

  entries(): Promise<Entry[]> {
    return this._transaction("readonly", (open) => open.entries());
  }

  places(): Promise<Kept[]> {
    return this._transaction("readonly", (open) => open.places());
  }

  // The stored signal of a handle, or a fresh one, charged and stored first. check: raises for a
  // price that is not the one that was shown; nothing comes between it and the charge. keep: written
  // with the charge, or not at all.
  remember(
    handle: string,
    month: string,
    epsilon: Rational,
    caps: Caps,
    draw: () => Signal,
    check: (price: Price) => void = () => undefined,
    keep?: Kept,
  ): Promise<Signal> {
    return this._transaction("readwrite", async (open) => {
      const entries = await open.entries();
      const price = priceOf(entries, handle, month, epsilon, caps);
      check(price);
      if (keep) {
        if (keep.name && (await open.places()).some((each) => each.name === keep.name))
          throw new AskewError("place", "this name is taken");
        await open.keep(keep);
      }
      const sent = stored(entries, handle);
      if (sent) return sent;
      if (price.refused) throw price.refused;
      const signal = draw();
      await open.add({
        ...this._entry("signal", handle, price.month),
        epsilon: written(epsilon),
        record: recordOf(signal),
      });
      return signal;
    });
  }

  // Accept the clock as it is.
  async acceptClock(month: string): Promise<void> {
    await this._transaction("readwrite", (open) => open.add(this._entry("accept", "", month)));
  }

  forget(name: string, handle?: string): Promise<void> {
    return this._transaction("readwrite", async (open) => {
      const found = (await open.places()).find((each) => each.name === name);
      if (found && (handle ?? found.handle) === found.handle) await open.remove(name);
    });
  }

  // Everything, as text. Private: it has the true places.
  exportText(): Promise<string> {
    return this._transaction("readonly", async (open) => {
      const [entries, places] = [await open.entries(), await open.places()];
      return `${JSON.stringify({ "askew browser": FORMAT, entries, places })}\n`;
    });
  }

  // Adds the signals and places of a file that are not here; nothing is taken away, so an older file
  // gives no budget back. How many came.
  async importText(text: string, caps: Caps): Promise<{ entries: number; places: number }> {
    const file = fileOf(text, caps);
    return this._transaction("readwrite", async (open) => {
      const [known, here] = [await open.entries(), await open.places()];
      const records = new Map(known.map((each) => [each.handle, each.record]));
      const names = new Set(here.map((each) => each.name));
      const entries = file.entries.filter(({ kind, handle, record }) => {
        if ((records.get(handle) ?? record) !== record)
          throw new AskewError("place", "the place has another signal");
        return !records.has(handle) && kind !== "accept";
      });
      const places = file.places.filter((each) => !names.has(each.name));
      for (const each of entries) await open.add(each);
      for (const each of places) await open.keep(each);
      return { entries: entries.length, places: places.length };
    });
  }

  private _entry(kind: Entry["kind"], handle: string, month: string): Entry {
    if (!MONTH.test(month)) throw new AskewError("clock", "the clock gives no month");
    return { kind, handle, month, epsilon: "0", record: null };
  }
}

// The stores, while a transaction is open.
function opened(transaction: IDBTransaction) {
  const done = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = reject;
    });
  const [entries, places] = STORES.map((each) => transaction.objectStore(each)) as [
    IDBObjectStore,
    IDBObjectStore,
  ];
  return {
    entries: (): Promise<Entry[]> => done(entries.getAll()),
    places: (): Promise<Kept[]> => done(places.getAll()),
    add: (entry: Entry) => done(entries.add(entry)),
    keep: (place: Kept) => done(places.put(place)),
    remove: (name: string) => done(places.delete(name)),
  };
}

type Open = ReturnType<typeof opened>;

function unkept(): AskewError {
  return new AskewError("storage", "the ledger is not kept");
}

const HANDLE = /^[0-9a-f]{32}$/;
const isText = (value: unknown) => typeof value === "string";

function fileOf(text: string, caps: Caps): { entries: Entry[]; places: Kept[] } {
  const refused = new AskewError("storage", "this is no ledger");
  let value: { "askew browser"?: unknown; entries?: unknown; places?: unknown };
  try {
    value = JSON.parse(text.length <= MAX_FILE ? text : "");
  } catch {
    throw refused;
  }
  const { entries, places } = value ?? {};
  if (value?.["askew browser"] !== FORMAT || !Array.isArray(entries) || !Array.isArray(places))
    throw refused;
  if (!entries.every((each) => isEntry(each, caps)) || !places.every(isKept)) throw refused;
  const handles = entries.filter((each) => each.record !== null).map((each) => each.handle);
  if (new Set(handles).size < handles.length) throw refused;
  return { entries, places };
}

// Whether this library writes such an entry: a signal costs what its law says, and no more than one
// position may.
function isEntry(each: Entry, caps: Caps): boolean {
  if (![each?.epsilon, each?.month, each?.handle].every(isText)) return false;
  const spent = parsed(each.epsilon);
  if (!spent || !MONTH.test(each.month)) return false;
  if (each.kind === "accept") return spent.n === 0n && each.record === null && each.handle === "";
  const signal = signalOf(each.record);
  if (!signal || !HANDLE.test(each.handle) || less(caps.draw, epsilonOf(signal))) return false;
  return each.kind === "signal" && same(spent, epsilonOf(signal));
}

function isKept(each: Kept): boolean {
  const { latitude, longitude } = each?.position ?? {};
  return (
    [each?.name, each?.handle].every(isText) &&
    each.name.length <= 100 &&
    HANDLE.test(each.handle) &&
    [latitude, longitude].every(Number.isFinite) &&
    Math.abs(latitude) <= 90 &&
    Math.abs(longitude) <= 180
  );
}
