// Scores that were looked up, for an hour. They are kept in memory only, in
// `storage.session`, so that no trace of searches reaches the disk.

/** How long an answer is good, in milliseconds. */
export const LIFETIME = 60 * 60 * 1000;
/** The most answers kept; the oldest go first. */
export const CAPACITY = 5000;

const KEY = "scores";

export class Cache {
  #area;
  #now;
  #entries = null;

  /** `area` is a storage area; `now` tells the time in milliseconds. */
  constructor(area, now = Date.now) {
    this.#area = area;
    this.#now = now;
  }

  /** The answer under a name that is not older than an hour, or undefined. */
  async get(name) {
    const entries = await this.#load();
    const entry = entries.get(name);
    const age = entry === undefined ? undefined : this.#now() - entry.at;
    return age >= 0 && age < LIFETIME ? entry.value : undefined;
  }

  /** Keeps answers, given as an object by name. */
  async put(values) {
    const entries = await this.#load();
    const at = this.#now();
    for (const [name, value] of Object.entries(values)) {
      // Taken out first, so that the order is that of age.
      entries.delete(name);
      entries.set(name, { at, value });
    }
    for (const [name, entry] of entries) {
      if (entries.size <= CAPACITY && at - entry.at < LIFETIME) {
        break;
      }
      entries.delete(name);
    }
    await this.#save();
  }

  /** Forgets the answers under these names. */
  async forget(names) {
    const entries = await this.#load();
    names.forEach((name) => entries.delete(name));
    await this.#save();
  }

  #load() {
    this.#entries ??= this.#area.get(KEY).then((stored) => new Map(stored[KEY] ?? []));
    return this.#entries;
  }

  async #save() {
    await this.#area.set({ [KEY]: [...(await this.#load())] });
  }
}
