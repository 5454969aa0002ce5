// Remembers for a while what seldom changes, the names of things, so that a refresh asks for little.

const KEPT = 60_000;

export class Known {
  constructor(api) {
    this.api = api;
    this.kept = new Map();
  }

  /** What is at a path, or null if it is not there any more. */
  at(path, query = {}) {
    return this.value(`${path}?${new URLSearchParams(query)}`, () =>
      this.api.get(path, query).catch((error) => {
        if (error.status === 404) return null;
        throw error;
      }));
  }

  /** A value that is found out at the first time, and again when it is old. */
  value(name, find) {
    const there = this.kept.get(name);
    if (there && there.until > Date.now()) return there.value;
    for (const [old, { until }] of this.kept) if (until <= Date.now()) this.kept.delete(old); // payloads may be large
    const value = find();
    this.kept.set(name, { value, until: Date.now() + KEPT });
    value.catch(() => this.kept.delete(name));
    return value;
  }

  forget() {
    this.kept.clear();
  }
}
