// The scores of hosts: from the cache, and the rest from the server in the
// way that the user has chosen.

import { prefixOf } from "./hosts.js";
import { MOST_HOSTS, scoresByPrefix, scoresOf } from "./server.js";

/** Under these names the cache holds what is known about a host. */
export async function cacheNames(server, host) {
  return { prefix: `${server} prefix ${await prefixOf(host)}`, host: `${server} host ${host}` };
}

export class Scores {
  #cache;
  /** What is being asked just now, by name: two pages with one result ask once. */
  #asking = new Map();

  constructor(cache) {
    this.#cache = cache;
  }

  /** The scores of hosts, as a Map; fails with a `ServerError`. */
  async of(settings, hosts) {
    const unique = [...new Set(hosts)];
    return settings.lookup === "plain" ? this.#plain(settings.server, unique) : this.#private(settings.server, unique);
  }

  /** Forgets what is known about a host, since a vote may have changed it. */
  async forget(server, host) {
    await this.#cache.forget(Object.values(await cacheNames(server, host)));
  }

  async #private(server, hosts) {
    const score = async (host) => {
      const prefix = await prefixOf(host);
      const name = (await cacheNames(server, host)).prefix;
      const sites = await this.#once(name, async () => {
        const kept = await this.#cache.get(name);
        if (kept !== undefined) {
          return kept;
        }
        const found = await scoresByPrefix(server, prefix);
        await this.#cache.put({ [name]: found });
        return found;
      });
      return [host, Object.hasOwn(sites, host) ? sites[host] : "NoScore"];
    };
    return new Map(await Promise.all(hosts.map(score)));
  }

  async #plain(server, hosts) {
    const scores = new Map();
    const names = new Map();
    for (const host of hosts) {
      const name = (await cacheNames(server, host)).host;
      const kept = await this.#cache.get(name);
      if (kept === undefined) {
        names.set(host, name);
      } else {
        scores.set(host, kept);
      }
    }
    const missing = [...names.keys()];
    for (let start = 0; start < missing.length; start += MOST_HOSTS) {
      const some = missing.slice(start, start + MOST_HOSTS);
      const found = await scoresOf(server, some);
      const score = (host) => (Object.hasOwn(found, host) ? found[host] : "NoScore");
      some.forEach((host) => scores.set(host, score(host)));
      await this.#cache.put(Object.fromEntries(some.map((host) => [names.get(host), score(host)])));
    }
    return scores;
  }

  #once(name, ask) {
    if (!this.#asking.has(name)) {
      this.#asking.set(name, ask().finally(() => this.#asking.delete(name)));
    }
    return this.#asking.get(name);
  }
}
