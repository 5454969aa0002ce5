// @ts-check
// Words for states, reasons and actors. The API serves them, so that all of tarry uses the same ones.

/** @typedef {{ name: string, label: string, meaning: string, endedBy: string | null, state?: string }} Words */
/** @typedef {Record<"states" | "statuses" | "reasons" | "lanes" | "actors", Words[]>} Tables */
/** @typedef {"good" | "care" | "bad" | "calm"} Tone how serious a state is; the style sheet has a color for each */
/** @typedef {{ text: string, tone: Tone }} Label */

/** @type {Record<string, Tone>} */
const TONES = {
  success: "good",
  delivered: "good",
  pending: "care",
  sending: "care",
  ready: "care",
  waiting: "care",
  fail: "bad",
  failed: "bad",
  closed: "good",
  failing: "care",
  open: "bad",
  paced: "care",
  paused: "care",
  parked: "bad",
};

export class Vocabulary {
  /** @param {Tables} tables the response of the API */
  constructor(tables) {
    this.tables = tables;
  }

  /**
   * Return the words for a name. A newer server may have names that this page does not know.
   * @param {keyof Tables} table
   * @param {string} name
   * @returns {Words}
   */
  find(table, name) {
    return this.tables[table].find((words) => words.name === name)
      ?? { name, label: name, meaning: "", endedBy: null };
  }

  /**
   * Return a name's label with its tone, for a badge.
   * @param {keyof Tables} table
   * @param {string} name
   * @returns {Label}
   */
  label(table, name) {
    return { text: this.find(table, name).label, tone: TONES[name] ?? "calm" };
  }

  /** Return the reasons for which deliveries wait or have failed. */
  undeliveredReasons() {
    return this.tables.reasons.filter(({ state }) => state === "waiting" || state === "failed");
  }
}

/**
 * Format a number: "1,234", "0.25".
 * @param {number} value
 */
export function formatNumber(value) {
  return value.toLocaleString("en-US", { maximumSignificantDigits: value < 100 ? 3 : 12 });
}

/**
 * Format a count with its noun: "1 delivery", "24 deliveries".
 * @param {number} value
 * @param {string} singular
 * @param {string} plural
 */
export function formatCount(value, singular, plural) {
  return `${formatNumber(value)} ${value === 1 ? singular : plural}`;
}
