// A device: one person's places and questions, to one server.
//
// Which calls are made, and their bytes, depends on the settings, the server's card, the ledger and
// which place was chosen: never on where a named place is, on preferences or on the answer.

import { Connection, type Observer } from "./connection.js";
import { AskewError } from "./errors.js";
import {
  accountOf,
  CAPS,
  covers,
  Ledger,
  priceOf,
  stored,
  type Account,
  type Caps,
  type Kept,
  type Price,
  type Signal,
} from "./ledger.js";
import {
  contains,
  outside,
  epsilonOf,
  LEVELS,
  perturbed,
  systemBits,
  type Bits,
  type Law,
  type Level,
  type Position,
  type Region,
} from "./noise.js";
import { judged, missing, NO_PREFERENCES, type Preferences } from "./rank.js";
import {
  asked,
  cardOf,
  numberOf,
  questionBytes,
  replyOf,
  resultsOf,
  type Card,
  type Collection,
  type Listing,
  type Value,
} from "./wire.js";

export interface Settings {
  readonly region: Region; // of positions that are yet to be drawn
  readonly level: Level;
  readonly k: number; // 0 for as many results as a reply of about 4 kB holds
}

export interface Options extends Partial<Settings> {
  readonly server: string; // its origin, such as "https://askew.example.org"
  readonly region: Region;
  readonly interval?: number; // milliseconds from the end of a connection to the next one
  readonly timeout?: number; // milliseconds of a call
  readonly caps?: Caps;
  readonly database?: string;
  readonly observe?: Observer;
  readonly bits?: Bits; // for tests alone
  readonly now?: () => Date; // by which months and opening hours are read; it is never sent
}

// What one question would be and cost now. It is used once.
export interface Quote {
  readonly where: string | Position;
  readonly collection: string;
  readonly k: number;
  readonly price: Price;
}

export interface Result {
  readonly rank: number;
  readonly title: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly distance: number; // kilometers along the ground, from the true place
  readonly values: readonly (readonly [name: string, value: Value])[];
  readonly passes: boolean;
  readonly picked: boolean;
}

export interface Answer {
  readonly collection: Collection;
  readonly results: readonly Result[]; // best first
  readonly nonePasses: boolean;
  readonly missing: readonly string[]; // what preferences name and the collection does not have
  readonly sent: Position; // the noisy position
  readonly cosine: number; // of the plane in which it was drawn, in parts of 1/65536
  readonly body: Uint8Array; // all that left, byte for byte
}

export interface Place {
  readonly name: string;
  readonly position: Position;
  readonly sent: Position | null; // null where the ledger has lost its signal
}

interface Terms extends Settings {
  readonly law: Law;
  readonly handle: string;
  readonly position: Position;
  readonly card: Card;
}

const LOST = "this place is lost: name it anew";
const NOT_WAITING = "no question from there is unanswered: ask anew";
const DAY = 86_400_000; // milliseconds
const LONGEST_USE = 16; // days from the Monday of the week in which a card was fetched

const degrees = ([north, east]: Signal["values"]): Position => ({
  latitude: north / 1e6,
  longitude: east / 1e6,
});
const isSame = (a: Position, b: Position) =>
  a.latitude === b.latitude && a.longitude === b.longitude;

export async function openDevice(options: Options): Promise<Device> {
  const bits = options.bits ?? systemBits;
  return new Device(options, await Ledger.open(options.database ?? "askew", bits), bits);
}

export class Device {
  settings: Settings;
  private _card: Card | null = null;
  private _monday = 0; // of the card, in days since 1970-01-01
  private readonly _caps: Caps;
  private readonly _now: () => Date;
  private readonly _connection: Connection;
  private readonly _quotes = new WeakMap<Quote, Terms>();
  private readonly _answers = new WeakMap<Answer, { listings: Listing[]; position: Position }>();

  constructor(
    options: Options,
    private readonly _ledger: Ledger,
    private readonly _bits: Bits,
  ) {
    const { server, region, level = "town", k = 0, interval = 500, timeout = 8000 } = options;
    this.settings = { region, level, k };
    this._caps = options.caps ?? CAPS;
    this._now = options.now ?? (() => new Date());
    this._connection = new Connection(
      server,
      interval,
      timeout,
      options.observe ?? (() => undefined),
    );
  }

  // What the server said of itself; null before `connect`, and again when that is too old.
  get card(): Card | null {
    const today = this._today;
    return this._monday - 1 <= today && today <= this._monday + LONGEST_USE ? this._card : null;
  }

  // Read what the server says of itself: one call, the same for everybody.
  connect(): Promise<Card> {
    return this._connection.turn(async () => {
      const card = cardOf(await this._connection.call("GetModelCard", new Uint8Array()));
      const today = this._today;
      [this._card, this._monday] = [card, today - ((today + 3) % 7)];
      return card;
    });
  }

  // What a question would cost now, from a named place or a position. Nothing is drawn or sent.
  // A position without a name is a fresh draw and a charge each time. again: the person asks to send
  // the signal of the last question from there, which failed, once more, for nothing. Never by itself:
  // a server that fails a question would learn whether the next one is from the same position.
  quote(where: string | Position, collection: string, again = false): Promise<Quote> {
    const { card } = this;
    if (!card) throw new AskewError("quote", "connect first");
    const k = resultsOf(card, collection, this.settings.k);
    return this._connection.private(async () => {
      const kept = await this._place(where, again);
      const { handle, position } = kept ?? {
        handle: this._ledger.newHandle(),
        position: where as Position,
      };
      const price = await this._price(handle);
      if (price.fresh && typeof where === "string") throw new AskewError("place", LOST);
      if (price.fresh) this._check(position);
      const quote = Object.freeze({ where, collection, k, price });
      const law = this._law;
      this._quotes.set(quote, { ...this.settings, k, law, handle, position, card });
      return quote;
    });
  }

  // The answer to a question that was shown: charged and drawn, or its signal sent again; then sent,
  // and ranked here when the connection has ended. One for each collection that is asked.
  ask(quote: Quote, preferences: Preferences = NO_PREFERENCES): Promise<Answer[]> {
    const terms = this._quotes.get(quote);
    this._quotes.delete(quote);
    if (!terms || terms.card !== this.card)
      throw new AskewError("quote", "this quote is void");
    return this._connection.turn(async () => {
      const { card, handle, position } = terms;
      const [signal, body] = await this._connection.private(async () => {
        const keep = typeof quote.where === "string" ? undefined : { name: "", handle, position };
        const drawn = await this._remember(terms, quote.price, keep);
        return [
          drawn,
          questionBytes(drawn, drawn.cosine, drawn.values, quote.k, numberOf(card, quote.collection)),
        ] as const;
      });
      try {
        const reply = await this._connection.call("Retrieve", body);
        return await this._connection.private(async () => {
          const parts = replyOf(reply, card, quote.collection, quote.k);
          await this._ledger.forget("", handle);
          return asked(card, quote.collection).map((each, n) =>
            this._ranked(each, parts[n]!, position, preferences, signal, body),
          );
        });
      } catch (error) {
        if (error instanceof AskewError && ["malformed", "stale", "range"].includes(error.code))
          this._card = null;
        throw error;
      }
    });
  }

  // An answer by other preferences: nothing is sent, and they may change as often as one likes.
  rank(answer: Answer, preferences: Preferences): Promise<Answer> {
    return this._connection.private(() => {
      const known = this._answers.get(answer);
      if (!known) throw new AskewError("quote", "no such answer");
      return this._order(answer, known.listings, known.position, preferences);
    });
  }

  // The named places, with what every server gets of them.
  places(): Promise<Place[]> {
    return this._connection.private(async () => {
      const [kept, entries] = [await this._ledger.places(), await this._ledger.entries()];
      return kept
        .filter((each) => each.name)
        .map(({ name, position, handle }) => {
          const signal = stored(entries, handle);
          return { name, position, sent: signal ? degrees(signal.values) : null };
        });
    });
  }

  // What a fresh position would cost now.
  priceOf(): Promise<Price> {
    return this._connection.private(() => this._price(""));
  }

  // Name a place: its noisy position is charged, drawn and stored, once and for all. shown: the price
  // that was seen.
  addPlace(name: string, position: Position, shown: Price): Promise<Place> {
    return this._connection.private(async () => {
      if (!name.trim() || name.length > 100)
        throw new AskewError("place", "a name has 1 to 100 characters");
      this._check(position);
      const handle = this._ledger.newHandle();
      const signal = await this._remember(
        { ...this.settings, law: this._law, handle, position },
        shown,
        { name, handle, position },
      );
      return { name, position, sent: degrees(signal.values) };
    });
  }

  // Erase a place. Refunds nothing: its signal is known to who got it.
  forgetPlace(name: string): Promise<void> {
    return this._connection.private(() => this._ledger.forget(name));
  }

  account(): Promise<Account> {
    return this._connection.private(async () =>
      accountOf(await this._ledger.entries(), this._month, this._caps),
    );
  }

  // Accept a clock that jumped.
  acceptClock(): Promise<void> {
    return this._connection.private(() => this._ledger.acceptClock(this._month));
  }

  exportText(): Promise<string> {
    return this._connection.private(() => this._ledger.exportText());
  }

  importText(text: string): Promise<{ entries: number; places: number }> {
    return this._connection.private(() => this._ledger.importText(text, this._caps));
  }

  private get _law(): Law {
    return LEVELS[this.settings.level];
  }

  private get _today(): number {
    return Math.floor(this._now().getTime() / DAY);
  }

  private get _month(): string {
    const now = this._now();
    return `${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, "0")}`;
  }

  private _check(position: Position): void {
    if (!contains(this.settings.region, position)) throw outside();
  }

  // A named place; of a position without a name, the one whose question was not answered.
  private async _place(where: string | Position, again: boolean): Promise<Kept | undefined> {
    const kept = await this._ledger.places();
    if (typeof where !== "string") {
      const waiting = kept.find((each) => !each.name && isSame(each.position, where));
      if (again && !waiting) throw new AskewError("place", NOT_WAITING);
      return again ? waiting : undefined;
    }
    const found = kept.find((each) => where && each.name === where);
    if (!found) throw new AskewError("place", "no place of this name");
    return found;
  }

  private async _price(handle: string): Promise<Price> {
    return priceOf(
      await this._ledger.entries(),
      handle,
      this._month,
      epsilonOf(this._law),
      this._caps,
    );
  }

  private _remember(terms: Omit<Terms, "card">, shown: Price, keep?: Kept): Promise<Signal> {
    const { law, region, handle, position } = terms;
    const { stepExponent, inverseRate } = law;
    const draw = () => {
      const values = perturbed(law, region, position, this._bits);
      return { stepExponent, inverseRate, cosine: region.cosine, values };
    };
    const check = (now: Price) => {
      if (!covers(shown, now))
        throw new AskewError("quote", "the price changed: nothing was sent");
    };
    return this._ledger.remember(
      handle,
      this._month,
      epsilonOf(law),
      this._caps,
      draw,
      check,
      keep,
    );
  }

  private _ranked(
    collection: Collection,
    listings: Listing[],
    position: Position,
    preferences: Preferences,
    signal: Signal,
    body: Uint8Array,
  ): Answer {
    const sent = degrees(signal.values);
    const empty = {
      collection,
      results: [],
      nonePasses: true,
      missing: [],
      sent,
      cosine: signal.cosine,
      body,
    };
    return this._order(empty, listings, position, preferences);
  }

  private _order(
    answer: Answer,
    listings: Listing[],
    position: Position,
    preferences: Preferences,
  ): Answer {
    const { attributes } = answer.collection;
    const results = judged(listings, attributes, position, preferences, this._now()).map(
      (each, n) => ({
        rank: n + 1,
        title: each.listing.title,
        ...each.listing.at,
        distance: each.distance,
        values: attributes.map(({ name }, at) => [name, each.listing.values[at]!] as const),
        passes: each.passes,
        picked: n === 0 && each.passes,
      }),
    );
    const nonePasses = !results.some((each) => each.passes);
    const found = { ...answer, results, nonePasses, missing: missing(attributes, preferences) };
    this._answers.set(found, { listings, position });
    return found;
  }
}
