// One page: a place of yours, a question, what comes back, what left, and what it has cost.
//
// Files and the server's card come first, the same for everybody; then what is private is read. While
// a connection is open the page is inert: nothing private is read, ranked or drawn until it has ended.

import {
  ALL,
  AskewError,
  CAPS,
  LEVELS,
  NO_PREFERENCES,
  contains,
  number,
  openDevice,
  preferencesOf,
  regionsOf,
  type Account,
  type Answer,
  type Card,
  type Device,
  type Level,
  type Place,
  type Preferences,
  type Price,
  type Quote,
  type Region,
} from "../askew/index.js";
import { HALF, MOST, outline } from "../askew/heat.js";
import { element, found } from "./dom.js";
import { MapView, type Scene } from "./map.js";
import { called, outlines, plain, towns, type Spot, type Town } from "./outlines.js";
import { fields, wordsOf } from "./preferences.js";
import { answerRows, behind, entryRows, leftRows, lostWords, meter, problem, priceWords, quoteWords } from "./words.js";

const REGION = "askew.region"; // public settings, kept beside the ledger
const LEVEL = "askew.level";
const SHOWN = 8; // towns that a name suggests

class Page {
  private places: Place[] = [];
  private place: Place | undefined;
  private quote: Quote | undefined;
  private answers: Answer[] = [];
  private candidate: Spot | undefined;
  private price: Price | undefined;
  private readonly map: MapView;

  constructor(
    private readonly device: Device,
    private card: Card,
    private readonly regions: readonly Region[],
    private readonly named: readonly Town[],
    rings: Awaited<ReturnType<typeof outlines>>,
  ) {
    this.map = new MapView(rings, named, (at) => this.tapped(at), (rank) => this.lead(rank));
  }

  async open(): Promise<void> {
    this.fillSettings();
    this.fillCollections();
    this.listen();
    this.map.region(this.device.settings.region);
    await this.readPlaces();
    if (this.places.length === 0) this.openForm(true);
    await this.showBudget();
  }

  private fillSettings(): void {
    const select = found<HTMLSelectElement>("region");
    const byName = [...this.regions].sort((a, b) => a.name.localeCompare(b.name));
    select.replaceChildren(...byName.map((each) => element("option", { value: each.code }, each.name)));
    select.value = this.device.settings.region.code;
    found<HTMLSelectElement>("level").value = this.device.settings.level;
  }

  private fillCollections(): void {
    const select = found<HTMLSelectElement>("collection");
    const options = this.card.collections.map((each) => element("option", { value: each.name }, each.name));
    if (options.length > 1) options.push(element("option", { value: ALL }, "all of them"));
    const chosen = select.value;
    select.replaceChildren(...options);
    if (options.some((each) => each.value === chosen)) select.value = chosen;
    this.describeCollection();
  }

  private asked(): Card["collections"] {
    const name = found<HTMLSelectElement>("collection").value;
    return this.card.collections.filter((each) => name === ALL || each.name === name);
  }

  private describeCollection(): void {
    const asked = this.asked();
    const items = asked.reduce((sum, each) => sum + each.nItems, 0);
    const silent = asked.some((each) => each.simulated && !each.source.includes("SIMULATED"));
    const made = silent ? " SIMULATED: they are made up." : "";
    const sources = [...new Set(asked.map((each) => each.source))].join("; ");
    found("source").textContent = `${items.toLocaleString("en")} items, ${sources}.${made}`;
    found("filters").replaceChildren(...fields(asked));
  }

  private listen(): void {
    found("add-form").addEventListener("submit", (event) => this.during(event, () => this.add()));
    found("ask-form").addEventListener("submit", (event) => this.during(event, () => this.ask()));
    found("new-place").addEventListener("click", () => this.openForm(found("add").hidden === true));
    found("where").addEventListener("input", () => this.suggest());
    found("where").addEventListener("change", () => this.readWhere());
    found("region").addEventListener("change", () => this.during(undefined, () => this.setRegion()));
    found("level").addEventListener("change", () => this.during(undefined, () => this.setLevel()));
    found("collection").addEventListener("change", () =>
      this.during(undefined, async () => {
        this.describeCollection();
        await this.showQuote();
      }),
    );
    for (const id of ["filters", "in-words"]) {
      found(id).addEventListener("input", () => this.during(undefined, async () => this.rankAgain()));
    }
    found("places").addEventListener("change", (event) =>
      this.during(undefined, () => this.choose((event.target as HTMLInputElement).value)),
    );
    found("save").addEventListener("click", () => this.during(undefined, () => this.save()));
    found("load").addEventListener("change", () => this.during(undefined, () => this.load()));
    found("keep").addEventListener("click", () => this.during(undefined, () => this.keep()));
    found("accept").addEventListener("click", () =>
      this.during(undefined, async () => {
        await this.device.acceptClock();
        await this.refresh();
      }),
    );
  }

  // Runs what an event asked for, one at a time; says what went wrong.
  private during(event: Event | undefined, work: () => Promise<void>): void {
    event?.preventDefault();
    say("");
    work().catch((error: unknown) => {
      const known = error instanceof AskewError ? error : undefined;
      say(problem(error), true);
      if (known?.code === "clock") found("accept").hidden = false;
      if (known === undefined) throw error;
    });
  }

  private async readPlaces(choose?: string): Promise<void> {
    this.places = await this.device.places();
    const wanted = choose ?? this.place?.name;
    this.place = this.places.find((each) => each.name === wanted) ?? this.places[0];
    found("places").replaceChildren(
      ...this.places.map((each) => {
        const forget = element("button", { type: "button", class: "quiet", "aria-label": `forget ${each.name}` }, "forget");
        forget.addEventListener("click", () => this.during(undefined, () => this.forget(each)));
        const words = each.sent ? "its noisy position is drawn" : "its noisy position is lost: add it anew";
        return element(
          "li",
          {},
          element(
            "label",
            {},
            element("input", { type: "radio", name: "place", value: each.name, checked: each === this.place }),
            element("b", {}, each.name),
            element("small", {}, words),
          ),
          forget,
        );
      }),
    );
    found("no-places").hidden = this.places.length > 0;
    await this.showQuote();
    this.draw(true);
  }

  private async choose(name: string): Promise<void> {
    this.place = this.places.find((each) => each.name === name);
    this.answers = [];
    this.showAnswers();
    await this.showQuote();
    this.draw(true);
  }

  private async forget(place: Place): Promise<void> {
    if (!confirm(`Forget ${place.name}? Its charge stays: who got the noisy position has it. To add the place again is a new charge.`)) return;
    await this.device.forgetPlace(place.name);
    this.answers = [];
    this.showAnswers();
    await this.refresh();
  }

  private openForm(open: boolean): void {
    found("add").hidden = !open;
    found("new-place").setAttribute("aria-expanded", String(open));
    document.body.classList.toggle("adding", open);
    if (!open) this.candidate = undefined;
    this.during(undefined, async () => {
      if (open) await this.showPrice();
      this.draw();
    });
  }

  // Towns of the region, while a name is typed.
  private suggest(): void {
    const { region } = this.device.settings;
    const typed = found<HTMLInputElement>("where").value;
    const towns = called(typed, this.named.filter((each) => contains(region, each)), SHOWN);
    found("towns").replaceChildren(...towns.map((each) => element("option", { value: each.name })));
  }

  private readWhere(): void {
    const typed = found<HTMLInputElement>("where").value;
    const spot = this.spotOf(typed);
    if (typed.trim() === "") return;
    say(spot ? "" : `None of the ${this.named.length.toLocaleString("en")} towns known here has this name in this country: tap the map, or type latitude and longitude.`, true);
    if (spot === undefined) return;
    this.candidate = spot;
    this.map.go(spot, 60);
    this.draw();
  }

  private spotOf(typed: string): Spot | undefined {
    const numbers = typed.match(/^\s*(-?\d+(?:\.\d+)?)\s*[,; ]\s*(-?\d+(?:\.\d+)?)\s*$/);
    if (numbers) return { latitude: Number(numbers[1]), longitude: Number(numbers[2]) };
    const { region } = this.device.settings;
    return this.named.find((each) => contains(region, each) && plain(each.name) === plain(typed));
  }

  private tapped(at: Spot): void {
    if (found("add").hidden) return;
    // Five decimals are a meter: as fine as anybody points.
    const [latitude, longitude] = [Number(at.latitude.toFixed(5)), Number(at.longitude.toFixed(5))];
    this.candidate = { latitude, longitude };
    found<HTMLInputElement>("where").value = `${latitude}, ${longitude}`;
    this.draw();
  }

  private async setRegion(): Promise<void> {
    const code = found<HTMLSelectElement>("region").value;
    const region = this.regions.find((each) => each.code === code);
    if (region === undefined) return;
    this.device.settings = { ...this.device.settings, region };
    localStorage.setItem(REGION, code);
    this.candidate = undefined;
    this.map.region(region);
    this.draw();
  }

  private async setLevel(): Promise<void> {
    const level = found<HTMLSelectElement>("level").value as Level;
    this.device.settings = { ...this.device.settings, level };
    localStorage.setItem(LEVEL, level);
    await this.showPrice();
  }

  // What adding a place would cost, before anything is drawn.
  private async showPrice(): Promise<void> {
    this.price = await this.device.priceOf();
    found("price").replaceChildren(...priceWords(this.price));
    found<HTMLButtonElement>("add-button").disabled = this.price.refused !== null;
    found("accept").hidden = this.price.refused?.code !== "clock" && behind(this.price) === undefined;
  }

  private async add(): Promise<void> {
    this.readWhere();
    if (this.candidate === undefined || this.price === undefined) {
      say("Say where the place is: a town, latitude and longitude, or a tap on the map.", true);
      return;
    }
    const name = found<HTMLInputElement>("name").value.trim();
    const { latitude, longitude } = this.candidate;
    try {
      await this.device.addPlace(name, { latitude, longitude }, this.price);
    } finally {
      await this.showPrice();
    }
    found<HTMLFormElement>("add-form").reset();
    this.fillSettings();
    this.answers = [];
    this.showAnswers();
    this.openForm(false);
    await this.readPlaces(name);
    await this.showBudget();
    say(`${name} is added, and its noisy position is drawn. Nothing was sent.`);
    found("ask-button").focus();
  }

  // What the question would be and cost, before it is asked.
  private async showQuote(): Promise<void> {
    this.quote = undefined;
    const button = found<HTMLButtonElement>("ask-button");
    button.disabled = true;
    button.textContent = this.device.card === null ? "Connect again" : "Ask";
    const { place } = this;
    found("ask-form").hidden = place === undefined;
    if (place === undefined || place.sent === null) {
      found("quote").replaceChildren();
      return;
    }
    if (this.device.card === null) {
      found("quote").replaceChildren(...lostWords());
      button.disabled = false;
      return;
    }
    this.quote = await this.device.quote(place.name, found<HTMLSelectElement>("collection").value);
    found("quote").replaceChildren(...quoteWords(this.quote));
    button.disabled = this.quote.price.refused !== null;
  }

  // The server's card anew, by the one call that is the same for everybody; no question is sent.
  private async connect(): Promise<void> {
    try {
      this.card = await this.device.connect();
      this.fillCollections();
    } finally {
      await this.refresh();
    }
  }

  private async ask(): Promise<void> {
    const { quote } = this;
    if (this.device.card === null) return this.connect();
    if (quote === undefined) return;
    const preferences = this.preferences();
    const button = found<HTMLButtonElement>("ask-button");
    button.disabled = true;
    say("Asking …");
    try {
      this.answers = await this.device.ask(quote, preferences);
      say("");
      this.showAnswers();
      this.draw(true);
      found("results-title").focus({ preventScroll: true });
      found("results").scrollIntoView({ block: "start" });
    } finally {
      await (this.device.card === null ? this.connect() : this.refresh());
    }
  }

  private preferences(): Preferences {
    const words = wordsOf(found("ask-form"));
    return words === "" ? NO_PREFERENCES : preferencesOf(words);
  }

  // Other preferences: the results that are there in another order. Nothing is sent.
  private async rankAgain(): Promise<void> {
    const preferences = this.preferences();
    if (this.answers.length === 0) return;
    this.answers = await Promise.all(
      this.answers.map((each) => this.device.rank(each, preferences)),
    );
    this.showAnswers();
    this.draw();
  }

  private showAnswers(): void {
    found("results").hidden = this.answers.length === 0;
    found("left").hidden = this.answers.length === 0;
    found("answers").replaceChildren(...this.answers.flatMap((each) => answerRows(each, this.answers.length > 1)));
    const [first] = this.answers;
    if (first && this.place) found("left-rows").replaceChildren(...leftRows(first, this.place.position, this.answers.length));
    for (const row of found("answers").querySelectorAll<HTMLElement>("li[data-rank]")) {
      const point = (rank: number) => () => this.map.point(rank);
      row.addEventListener("pointerenter", point(Number(row.dataset["rank"])));
      row.addEventListener("pointerleave", point(0));
      row.addEventListener("focus", point(Number(row.dataset["rank"])));
      row.addEventListener("blur", point(0));
    }
  }

  // From the map to the list.
  private lead(rank: number): void {
    const row = found("answers").querySelector<HTMLElement>(`li[data-rank="${rank}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "center" });
  }

  private draw(around = false): void {
    const { place, candidate } = this;
    const sent = place?.sent ?? undefined;
    const [first] = this.answers;
    const scene: Record<string, unknown> = { you: place?.position, candidate };
    if (sent && this.quote) {
      // For the eye alone: the plane in which it was drawn has nearly this cosine.
      const cosine = first?.cosine ?? 65_536 * Math.cos((sent.latitude * Math.PI) / 180);
      const epsilon = number(this.quote.price.epsilon);
      scene["signal"] = sent;
      scene["half"] = outline(sent, epsilon, cosine, HALF);
      scene["most"] = outline(sent, epsilon, cosine, MOST);
    }
    scene["results"] = this.answers.flatMap((each) => each.results);
    this.map.show(scene as Scene, around);
    found("legend").classList.toggle("with-results", first !== undefined);
    found("legend").hidden = place === undefined && candidate === undefined;
  }

  private async refresh(): Promise<void> {
    await this.readPlaces();
    await this.showPrice();
    await this.showBudget();
  }

  private async showBudget(): Promise<void> {
    const account: Account = await this.device.account();
    meter("lifetime", account.spent, account.lifetimeCap);
    meter("monthly", account.spentThisMonth, account.monthlyCap);
    found("month").textContent = account.month;
    found("entries").replaceChildren(...entryRows(account));
    const persisted = (await navigator.storage?.persisted?.()) ?? false;
    found("kept").textContent = persisted
      ? "This browser says that it keeps the ledger until you clear it."
      : "This browser may clear the ledger when it runs short of room, or after days without a visit.";
    found("keep").hidden = persisted;
  }

  private async keep(): Promise<void> {
    const kept = (await navigator.storage?.persist?.()) ?? false;
    await this.showBudget();
    if (!kept) say("This browser did not agree to keep it. Save it to a file instead.", true);
  }

  private async save(): Promise<void> {
    const text = await this.device.exportText();
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    element("a", { href: address, download: "askew-ledger.json" }).click();
    URL.revokeObjectURL(address);
    say("Saved. The file has your true places: keep it as you keep your keys.");
  }

  private async load(): Promise<void> {
    const input = found<HTMLInputElement>("load");
    const [file] = input.files ?? [];
    if (file === undefined) return;
    const text = await file.text();
    input.value = ""; // so that the same file may be chosen again
    const { entries, places } = await this.device.importText(text);
    await this.refresh();
    say(`Read: ${entries} new lines of the ledger, ${places} new places.`);
  }
}

function say(words: string, wrong = false): void {
  const there = found("status");
  there.textContent = words;
  there.classList.toggle("wrong", wrong);
}

// The country that a person chose before, or else the smallest one that holds the middle of the
// server's area. It is shown, and another one may be chosen before anything is drawn.
function regionFor(regions: readonly Region[], { area }: Card): Region {
  const chosen = regions.find((each) => each.code === localStorage.getItem(REGION));
  const width = (area.east - area.west + 360) % 360 || 360;
  const longitude = ((area.west + width / 2 + 540) % 360) - 180;
  const middle = { latitude: (area.south + area.north) / 2, longitude };
  const around = regions.filter((each) => contains(each, middle));
  const size = (each: Region) => (each.north - each.south) * ((each.east - each.west + 360) % 360);
  const nearest = around.sort((a, b) => size(a) - size(b))[0] ?? regions[0];
  const region = chosen ?? nearest;
  if (region === undefined) throw new Error("regions.json is empty");
  return region;
}

function levelFor(): Level {
  const chosen = localStorage.getItem(LEVEL) ?? "";
  return chosen in LEVELS ? (chosen as Level) : "town";
}

// One of several views, by click and by arrow keys.
function listenToTabs(): void {
  const tabs = [...document.querySelectorAll<HTMLElement>("[role=tab]")];
  const show = (chosen: HTMLElement) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      found(tab.getAttribute("aria-controls") ?? "").hidden = tab !== chosen;
    }
  };
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = step && tabs[(at + step + tabs.length) % tabs.length];
      if (!next) return;
      show(next);
      next.focus();
    });
  });
}

async function start(): Promise<void> {
  listenToTabs();
  const rows = await (await fetch("askew/regions.json")).json();
  const [regions, rings, named] = [regionsOf(rows), await outlines(), await towns()];
  const [first] = regions;
  if (first === undefined) throw new Error("regions.json is empty");
  const device = await openDevice({
    server: location.origin,
    region: first,
    caps: CAPS,
    observe: (what, begins) => {
      // Nobody can make this page work on anything private while a connection is open.
      if (what === "connection") found("page").inert = begins;
      window.dispatchEvent(new CustomEvent("askew", { detail: { what, begins, at: performance.timeOrigin + performance.now() } }));
    },
  });
  const card = await device.connect();
  device.settings = { ...device.settings, region: regionFor(regions, card), level: levelFor() };
  await new Page(device, card, regions, named, rings).open();
  document.body.classList.add("ready");
}

start().catch((error: unknown) => {
  say(`${problem(error)} Load the page again to try again.`, true);
  throw error;
});
