// A cache of scores that were looked up. It uses `storage.session`, which is
// in memory only, so that no trace of searches reaches the disk.

/** How long an entry is valid. */
export const MAX_AGE_MILLISECONDS = 60 * 60 * 1000;
/** The maximum number of entries; the oldest are evicted first. */
export const CAPACITY = 5000;

const STORAGE_KEY = "scores";

export class Cache {
  #area;
  #now;
  #entries = null;

  /** `area` is a storage area; `now` returns the time in milliseconds. */
  constructor(area, now = Date.now) {
    this.#area = area;
    this.#now = now;
  }

  /** The cached value of a key, or undefined if there is none or it has expired. */
  async get(key) {
    const entries = await this.#load();
    const entry = entries.get(key);
    const age = entry === undefined ? undefined : this.#now() - entry.at;
    return age >= 0 && age < MAX_AGE_MILLISECONDS ? entry.value : undefined;
  }

  /** Caches values, given as an object by key. */
  async put(values) {
    const entries = await this.#load();
    const at = this.#now();
    for (const [key, value] of Object.entries(values)) {
      // Deleting the old entry first keeps the map in order of age.
      entries.delete(key);
      entries.set(key, { at, value });
    }
    for (const [key, entry] of entries) {
      if (entries.size <= CAPACITY && at - entry.at < MAX_AGE_MILLISECONDS) {
        break;
      }
      entries.delete(key);
    }
    await this.#save();
  }

  /** Removes the entries with these keys. */
  async invalidate(keys) {
    const entries = await this.#load();
    keys.forEach((key) => entries.delete(key));
    await this.#save();
  }

  #load() {
    this.#entries ??= this.#area.get(STORAGE_KEY).then((stored) => new Map(stored[STORAGE_KEY] ?? []));
    return this.#entries;
  }

  async #save() {
    await this.#area.set({ [STORAGE_KEY]: [...(await this.#load())] });
  }
}
