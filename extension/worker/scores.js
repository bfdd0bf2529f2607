// Looks up the scores of hosts: in the cache first, then on the server, with
// the lookup that the user has chosen.

import { prefixOf } from "./hosts.js";
import { MAX_HOSTS, scoresByPrefix, scoresOf } from "./server.js";

/** The cache keys that a host's score may be under: one for each kind of lookup. */
async function cacheKeys(server, host) {
  return { private: `${server} prefix ${await prefixOf(host)}`, plain: `${server} host ${host}` };
}

export class Scores {
  #cache;
  /** The private lookups in progress, by cache key, so that two pages with the same result share one request. */
  #pending = new Map();

  constructor(cache) {
    this.#cache = cache;
  }

  /** The scores of hosts, as a Map. Throws a `ServerError`. */
  async lookUp(settings, hosts) {
    const unique = [...new Set(hosts)];
    return settings.lookup === "plain" ? this.#plain(settings.server, unique) : this.#private(settings.server, unique);
  }

  /** Removes a host from the cache, because a vote may have changed its score. */
  async invalidate(server, host) {
    await this.#cache.invalidate(Object.values(await cacheKeys(server, host)));
  }

  async #private(server, hosts) {
    const score = async (host) => {
      const prefix = await prefixOf(host);
      const key = (await cacheKeys(server, host)).private;
      const sites = await this.#once(key, async () => {
        const cached = await this.#cache.get(key);
        if (cached !== undefined) {
          return cached;
        }
        const found = await scoresByPrefix(server, prefix);
        await this.#cache.put({ [key]: found });
        return found;
      });
      return [host, Object.hasOwn(sites, host) ? sites[host] : "NoScore"];
    };
    return new Map(await Promise.all(hosts.map(score)));
  }

  async #plain(server, hosts) {
    const scores = new Map();
    const missing = new Map();
    for (const host of hosts) {
      const key = (await cacheKeys(server, host)).plain;
      const cached = await this.#cache.get(key);
      if (cached === undefined) {
        missing.set(host, key);
      } else {
        scores.set(host, cached);
      }
    }
    const missingHosts = [...missing.keys()];
    for (let start = 0; start < missingHosts.length; start += MAX_HOSTS) {
      const batch = missingHosts.slice(start, start + MAX_HOSTS);
      const found = await scoresOf(server, batch);
      const score = (host) => (Object.hasOwn(found, host) ? found[host] : "NoScore");
      batch.forEach((host) => scores.set(host, score(host)));
      await this.#cache.put(Object.fromEntries(batch.map((host) => [missing.get(host), score(host)])));
    }
    return scores;
  }

  #once(key, load) {
    if (!this.#pending.has(key)) {
      this.#pending.set(key, load().finally(() => this.#pending.delete(key)));
    }
    return this.#pending.get(key);
  }
}
