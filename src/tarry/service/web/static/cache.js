// @ts-check
// Caches data that rarely changes, such as names, so that a refresh of the page needs few requests.

/** @typedef {import("./api.js").Api} Api */
/** @typedef {import("./api.js").Query} Query */

const LIFETIME = 60_000; // milliseconds

export class Cache {
  /** @param {Api} api */
  constructor(api) {
    this.api = api;
    /** @type {Map<string, { value: Promise<any>, until: number }>} */
    this.entries = new Map();
  }

  /**
   * Return the JSON at a path of the API, or null if it does not exist any more.
   * @param {string} address
   * @param {Record<string, string>} [query]
   * @returns {Promise<any>}
   */
  get(address, query = {}) {
    return this.value(`${address}?${new URLSearchParams(query)}`, () =>
      this.api.get(address, query).catch((error) => {
        if (error.status === 404) return null;
        throw error;
      }));
  }

  /**
   * Return a cached value. If it is missing or old, call `load` for a new one.
   * @param {string} name
   * @param {() => Promise<any>} load
   * @returns {Promise<any>}
   */
  value(name, load) {
    const entry = this.entries.get(name);
    if (entry && entry.until > Date.now()) return entry.value;
    for (const [old, { until }] of this.entries) {
      if (until <= Date.now()) this.entries.delete(old); // payloads may be large
    }
    const value = load();
    this.entries.set(name, { value, until: Date.now() + LIFETIME });
    value.catch(() => this.entries.delete(name));
    return value;
  }

  clear() {
    this.entries.clear();
  }
}
