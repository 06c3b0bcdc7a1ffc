// What tabs of one origin have in common: locks, of which one tab has each, and a store of text. To be
// imported before the library.

const held = new Map();
const shared = new Map();

const request = (name, work) => {
  const found = (held.get(name) ?? Promise.resolve()).then(work);
  held.set(
    name,
    found.catch(() => undefined),
  );
  return found;
};

Object.defineProperty(globalThis, "navigator", {
  value: { locks: { request } },
  configurable: true,
});
Object.defineProperty(globalThis, "localStorage", {
  value: {
    getItem: (name) => shared.get(name) ?? null,
    setItem: (name, value) => shared.set(name, value),
    clear: () => shared.clear(),
  },
  configurable: true,
});
