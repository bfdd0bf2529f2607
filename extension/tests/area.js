/** An in-memory stand-in for the storage areas of browsers. */
export function memoryArea(stored = {}) {
  const items = new Map(Object.entries(stored));
  const copy = (value) => JSON.parse(JSON.stringify(value));
  return {
    async get(names) {
      const found = [names].flat().filter((name) => items.has(name));
      return Object.fromEntries(found.map((name) => [name, copy(items.get(name))]));
    },
    async set(values) {
      Object.entries(values).forEach(([name, value]) => items.set(name, copy(value)));
    },
    async remove(names) {
      [names].flat().forEach((name) => items.delete(name));
    },
  };
}
