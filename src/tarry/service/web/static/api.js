// @ts-check
// Sends requests to the API with the user's key.

import { setServerTime } from "./times.js";

const TIMEOUT = 20_000; // milliseconds
const MAX_TRIES = 10; // of a request that the server rejects because of its rate limit

/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */

/** The server rejected a request: `status`, `code` and the message say why. */
export class RequestError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} detail
   * @param {number} retryAfter in seconds
   */
  constructor(status, code, detail, retryAfter) {
    super(detail);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** The server did not respond. */
export class NoResponse extends Error {}

/**
 * Build a path of the API, and escape the names in it.
 * @param {TemplateStringsArray} strings
 * @param {...string} names
 */
export function path(strings, ...names) {
  return strings.reduce((start, part, index) => start + encodeURIComponent(names[index - 1]) + part);
}

export class Api {
  /** @param {string} key */
  constructor(key) {
    this.key = key;
  }

  /**
   * Return the JSON at a path.
   * @param {string} address
   * @param {Query} [query]
   * @returns {Promise<any>}
   */
  async get(address, query = {}) {
    return JSON.parse(await this.text("GET", address, query));
  }

  /**
   * @param {string} address
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  async post(address, body) {
    const text = await this.text("POST", address, {}, body);
    return text ? JSON.parse(text) : null;
  }

  /**
   * Return the body of a response unchanged. Repeat a request that exceeded the rate limit.
   * @param {string} method
   * @param {string} address
   * @param {Query} [query]
   * @param {unknown} [body]
   */
  async text(method, address, query = {}, body = undefined) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
    }
    const url = `/api/v1${address}${parameters.size ? `?${parameters}` : ""}`;
    for (let tries = 1; ; tries += 1) {
      const { response, text } = await this.request(url, method, body);
      setServerTime(response.headers.get("date"));
      if (response.ok) return text;
      const error = errorOf(response, text);
      if (error.code !== "rate_limit" || tries === MAX_TRIES) throw error;
      await sleep(error.retryAfter);
    }
  }

  /**
   * @param {string} url
   * @param {string} method
   * @param {unknown} body
   */
  async request(url, method, body) {
    /** @type {RequestInit} */
    const settings = {
      method,
      headers: this.key ? { authorization: `Bearer ${this.key}` } : {},
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    };
    try {
      const response = await fetch(url, settings);
      return { response, text: await response.text() }; // the connection may break while the body is read
    } catch (error) {
      throw new NoResponse("the server does not respond", { cause: error });
    }
  }
}

/**
 * Wait for one to two times as long as the server asked for. So the requests of a page spread out.
 * @param {number} seconds
 */
function sleep(seconds) {
  return new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000 * (1 + Math.random()));
  });
}

/**
 * @param {Response} response
 * @param {string} text
 */
function errorOf(response, text) {
  const problem = parsed(text);
  const detail = Array.isArray(problem.detail)
    ? problem.detail.map((/** @type {any} */ error) => `${error.loc.slice(1).join(".")}: ${error.msg}`).join("; ")
    : problem.detail ?? `the server responded with ${response.status}`;
  const retryAfter = Number(response.headers.get("retry-after")) || 0;
  return new RequestError(response.status, problem.code ?? "", detail, retryAfter);
}

/**
 * @param {string} text
 * @returns {any}
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {}; // a proxy responded in place of the server
  }
}
