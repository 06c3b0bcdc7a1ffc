// The form of preferences, made of what a collection says of its items. It writes the same words as
// one would type, such as "open, price <= 10, kind = Greek | Sushi"; they never leave.

import type { Attribute, Collection } from "../askew/index.js";
import { element } from "./dom.js";

// What stands in the form, in words that the library reads.
export function wordsOf(form: HTMLElement): string {
  const parts: string[] = [];
  for (const box of form.querySelectorAll<HTMLInputElement>("input[data-words]:checked")) {
    parts.push(box.dataset["words"] ?? "");
  }
  for (const group of form.querySelectorAll<HTMLElement>("[data-kinds]")) {
    const kinds = [...group.querySelectorAll<HTMLInputElement>("input:checked")].map((each) => quoted(each.value));
    if (kinds.length > 0) parts.push(`${quoted(group.dataset["kinds"] ?? "")} = ${kinds.join(" | ")}`);
  }
  for (const box of form.querySelectorAll<HTMLInputElement>("input[data-before]")) {
    if (box.value.trim() !== "") parts.push(`${box.dataset["before"]}${box.value.trim()}${box.dataset["after"] ?? ""}`);
  }
  const free = form.querySelector<HTMLInputElement>("#in-words")?.value.trim();
  if (free) parts.push(free);
  return parts.join(", ");
}

// The rows of a form for these collections; an attribute that several have is there once.
export function fields(collections: readonly Collection[]): HTMLElement[] {
  const attributes = new Map(collections.flatMap((each) => each.attributes).map((each) => [each.name, each]));
  const all = [...attributes.values()];
  const checks = all.filter((each) => each.kind === "flag" && !isOpen(each)).map((each) => check(each.name, `${quoted(each.name)} = yes`));
  if (all.some((each) => each.kind === "hours" || isOpen(each))) checks.unshift(check("open now", "open"));
  const rows: HTMLElement[] = checks.length > 0 ? [element("div", { class: "checks" }, ...checks)] : [];
  for (const each of all) {
    if (each.kind === "number") rows.push(limits(each));
    if (each.kind === "category" && each.words.length > 0) rows.push(kinds(each));
  }
  return rows;
}

function isOpen(attribute: Attribute): boolean {
  return attribute.kind === "flag" && ["open", "open now"].includes(attribute.name.toLowerCase().replace("_", " "));
}

function check(label: string, words: string): HTMLElement {
  return element("label", { class: "chip" }, element("input", { type: "checkbox", "data-words": words }), label);
}

function limits(attribute: Attribute): HTMLElement {
  const { name, unit } = attribute;
  const number = (label: string, before: string, after = "") =>
    element("input", {
      type: "number",
      step: "any",
      inputmode: "decimal",
      "aria-label": label,
      "data-before": before,
      "data-after": after,
    });
  const counted = unit || name;
  return element(
    "div",
    { class: "limits" },
    element("span", { class: "name" }, name),
    element("span", {}, "at most ", number(`${name}: at most, in ${counted}`, `${quoted(name)} <= `), unit && ` ${unit}`),
    element("span", {}, `1 ${counted} is worth `, number(`kilometers that 1 ${counted} is worth`, `1 ${quoted(counted)} = `, " km"), " km"),
  );
}

function kinds(attribute: Attribute): HTMLElement {
  const boxes = attribute.words.map((word) =>
    element("label", { class: "chip" }, element("input", { type: "checkbox", value: word }), word),
  );
  return element(
    "details",
    { "data-kinds": attribute.name },
    element("summary", {}, `Only some ${attribute.name === "kind" ? "kinds" : `of ${attribute.name}`}`),
    element("div", { class: "checks" }, ...boxes),
  );
}

function quoted(name: string): string {
  return /[,#"]/.test(name) ? `"${name.replaceAll('"', "")}"` : name;
}
