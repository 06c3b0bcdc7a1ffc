// The few ways in which this page makes and finds its elements. Text is set as text: nothing that
// comes from a server is ever read as markup.

type Child = Node | string;

// An element with these attributes; one that is false or undefined is left out.
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | number | boolean | undefined>> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

// The same of a drawing.
export function shape<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

// The element of this id, which index.html has.
export function found<T extends Element = HTMLElement>(id: string): T {
  const there = document.getElementById(id);
  if (there === null) throw new Error(`index.html has no element ${id}`);
  return there as Element as T;
}
