// What the page says of prices, results, and what left. Bounds are rounded up.

import {
  AskewError,
  number,
  type Account,
  type Answer,
  type Price,
  type Quote,
  type Rational,
  type Result,
} from "../askew/index.js";
import { element, found } from "./dom.js";
import type { Spot } from "./outlines.js";

// A cap, which is no bound of what is told: to the nearest.
const cap = (amount: Rational) => Number((Number(amount.n) / Number(amount.d)).toPrecision(4));

// How often a cost fits into what is left.
function times(left: Rational, cost: Rational): number {
  return Number((left.n * cost.d) / (left.d * cost.n));
}

export function problem(error: unknown): string {
  if (!(error instanceof AskewError)) return "This page has a fault.";
  return `${error.message[0]?.toUpperCase() ?? ""}${error.message.slice(1)}.`;
}

// The month by this device's clock, where the ledger's is ahead of it: a wrong date was stored once.
export function behind({ month }: Price): string | undefined {
  const now = new Date();
  const today = `${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, "0")}`;
  return today < month ? today : undefined;
}

function aheadWords(price: Price): HTMLElement[] {
  const { month } = price;
  const today = behind(price);
  if (today === undefined) return [];
  const words =
    `The ledger is in ${month}, and this device's clock says ${today}. Until ${month} is over, all new places ` +
    `count in that one month. If the clock is right now, accept it below: the months then go on from ${today}, ` +
    `and what was drawn by the wrong clock counts in ${today}.`;
  return [element("p", { class: "wrong" }, words)];
}

export function priceWords(price: Price): HTMLElement[] {
  const ahead = aheadWords(price);
  if (price.refused) return [element("p", { class: "wrong" }, problem(price.refused)), ...ahead];
  const of = (most: Rational) => times(most, price.epsilon);
  const used = (spent: Rational) => number(spent, 3);
  return [
    element(
      "p",
      {},
      element("b", {}, `Cost: ε ${number(price.epsilon, 3)} per km, once.`),
      ` Your cap is ${of(price.lifetimeCap)} such places for life and ${of(price.monthlyCap)} a month.`,
    ),
    element(
      "p",
      {},
      `Spent so far: ${used(price.spent)} of ${cap(price.lifetimeCap)} for life, ` +
        `${used(price.spentThisMonth)} of ${cap(price.monthlyCap)} this month. The noisy position makes your place ` +
        `at most 4 times likelier, compared with one ${number({ n: BigInt(Math.round(price.hiddenKm * 100)), d: 100n }, 3)} km away.`,
    ),
    ...ahead,
  ];
}

// Where the server has changed, and its new card did not come.
export function lostWords(): HTMLElement[] {
  const words =
    "The server has changed, or what it said of itself is too old, and its new card did not come. To connect again sends nothing of yours. " +
    "You see what a question costs before it is sent.";
  return [element("p", { class: "wrong" }, words)];
}

export function quoteWords({ price, k, collection }: Quote): HTMLElement[] {
  if (price.refused) return [element("p", { class: "wrong" }, problem(price.refused))];
  const what = collection === "*" ? "all collections" : collection;
  return [
    element("p", {}, element("b", {}, "Tells nothing new: "), "the same noisy position is sent again."),
    element("p", {}, `What will leave: the noisy position and its law, the number by which this server calls ${what}, and k = ${k}. Nothing else.`),
  ];
}

function shown(value: Result["values"][number][1], unit: string): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return `${Number(value.toFixed(2))}${unit && ` ${unit}`}`;
  return value ?? "unknown";
}

export function answerRows(answer: Answer, named: boolean): HTMLElement[] {
  const { collection, results } = answer;
  const units = new Map(collection.attributes.map((each) => [each.name, each.unit]));
  const notes: HTMLElement[] = named ? [element("h3", {}, collection.name)] : [];
  if (answer.missing.length > 0) {
    notes.push(element("p", { class: "wrong" }, `These results do not tell: ${answer.missing.join(", ")}.`));
  }
  if (answer.nonePasses) {
    notes.push(element("p", { class: "wrong" }, "No result passes your filters. Nothing more is asked."));
  }
  const rows = results.map((each) => {
    const facts = each.values
      .filter(([, value]) => value !== null)
      .map(([name, value]) =>
        typeof value === "boolean" ? (value ? name : `no ${name}`) : shown(value, units.get(name) ?? ""),
      );
    const badge = each.picked ? [element("span", { class: "badge" }, "your pick: never sent")] : [];
    return element(
      "li",
      { "data-rank": each.rank, tabindex: -1, class: each.picked ? "pick" : each.passes ? undefined : "fails" },
      element("span", { class: "rank" }, String(each.rank)),
      element(
        "div",
        {},
        element("b", {}, each.title),
        ...badge,
        element("small", {}, [...facts, ...(each.passes ? [] : ["does not pass"])].join(" · ")),
      ),
      element("span", { class: "km" }, `${each.distance.toFixed(1)} km`),
    );
  });
  return [...notes, element("ol", { class: "list" }, ...rows)];
}

// What left, beside what did not.
export function leftRows(answer: Answer, true_: Spot, asked: number): HTMLElement[] {
  const { sent, body } = answer;
  const hex = [...body].map((each) => each.toString(16).padStart(2, "0")).join(" ");
  const row = (name: string, words: string) => [element("dt", {}, name), element("dd", {}, words)];
  return [
    ...row("noisy position", `${sent.latitude.toFixed(5)}, ${sent.longitude.toFixed(5)}`),
    ...row("your place", `${true_.latitude.toFixed(5)}, ${true_.longitude.toFixed(5)}: on this screen only`),
    ...row("between them", `${apart(sent, true_).toFixed(1)} km, which only this screen knows`),
    ...row("asked for", asked > 1 ? "every collection" : answer.collection.name),
    ...row(`all ${body.length} bytes`, hex),
  ];
}

// Kilometers along the ground.
function apart(a: Spot, b: Spot): number {
  const radians = Math.PI / 180;
  const north = Math.sin(((b.latitude - a.latitude) * radians) / 2);
  const east = Math.sin(((b.longitude - a.longitude) * radians) / 2);
  const share = north ** 2 + Math.cos(a.latitude * radians) * Math.cos(b.latitude * radians) * east ** 2;
  return 2 * 6371.0088 * Math.asin(Math.sqrt(Math.min(1, share)));
}

export function meter(id: string, spent: Rational, most: Rational): void {
  const bar = found<HTMLMeterElement>(id);
  bar.max = cap(most);
  bar.value = number(spent);
  found(`${id}-words`).textContent = `${number(spent, 3)} of ${cap(most)}`;
}

const KINDS = {
  signal: "a noisy position was drawn",
  accept: "a clock that jumped was accepted",
} as const;

export function entryRows({ entries }: Account): HTMLElement[] {
  if (entries.length === 0) return [element("li", {}, "Nothing was ever charged.")];
  return entries.map(({ month, kind, epsilon }) => {
    const [n = "0", d = "1"] = epsilon.split("/");
    const cost = kind === "signal" ? `ε ${number({ n: BigInt(n), d: BigInt(d) }, 3)} per km` : "free";
    return element("li", {}, element("span", {}, month), element("span", {}, KINDS[kind]), element("span", {}, cost));
  });
}
