// Asks the API, with the key of whoever looks.

import { heard } from "./when.js";

const PATIENCE = 20_000;
const TRIES = 10; // at what the server puts off, because its keys may ask only so often

/** The server refused; `status`, `code` and the message say why. */
export class Refused extends Error {
  constructor(status, code, detail, retryAfter) {
    super(detail);
    Object.assign(this, { status, code, retryAfter });
  }
}

/** Nobody answered. */
export class Silent extends Error {}

/** A path of the API with names in it, each of them fit for a URL. */
export function way(strings, ...names) {
  return strings.reduce((path, part, n) => path + encodeURIComponent(names[n - 1]) + part);
}

export class Api {
  constructor(key) {
    this.key = key;
  }

  async get(path, query = {}) {
    return JSON.parse(await this.text("GET", path, query));
  }

  async post(path, body) {
    const text = await this.text("POST", path, {}, body);
    return text ? JSON.parse(text) : null;
  }

  /** What is answered, as it is. */
  async text(method, path, query = {}, body = undefined) {
    const asked = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const url = `/api/v1${path}${asked.length ? `?${new URLSearchParams(asked)}` : ""}`;
    for (let tries = 1; ; tries += 1) {
      const [answer, text] = await this.answer(url, method, body);
      heard(answer.headers.get("date"));
      if (answer.ok) return text;
      const error = refused(answer, text);
      if (error.code !== "rate_limit" || tries === TRIES) throw error;
      await later(error.retryAfter);
    }
  }

  async answer(url, method, body) {
    const headers = this.key ? { authorization: `Bearer ${this.key}` } : {};
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const signal = AbortSignal.timeout(PATIENCE);
    const settings = { method, headers, body: sent, signal, cache: "no-store", credentials: "omit", redirect: "error" };
    try {
      const answer = await fetch(url, settings);
      return [answer, await answer.text()]; // a server that ends meanwhile does not answer either
    } catch (error) {
      throw new Silent("the server does not answer", { cause: error });
    }
  }
}

/** Waits so many seconds, and a bit more: a page that asks for much at once does not do so again. */
function later(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000 * (1 + Math.random())));
}

function refused(answer, text) {
  let said = {};
  try {
    said = JSON.parse(text);
  } catch {
    said = {}; // something between us and the server has answered
  }
  const detail = Array.isArray(said.detail)
    ? said.detail.map((one) => `${one.loc.slice(1).join(".")}: ${one.msg}`).join("; ")
    : said.detail ?? `the server answered with ${answer.status}`;
  return new Refused(answer.status, said.code ?? "", detail, Number(answer.headers.get("retry-after")) || 0);
}
