// @ts-check
// The parts that views are made of: badges, times, tables, page links, empty states.

import { element } from "./dom.js";
import { formatClock, formatDistance, formatDue, formatFull, formatRelative, seconds } from "./times.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {import("./vocabulary.js").Label} Label */

/** @type {Record<string, (timestamp: string) => string>} */
const FORMATS = { time: formatRelative, due: formatDue, distance: formatDistance };

/** @param {Label} label */
export function badge({ text, tone }) {
  return element("span", { class: `badge ${tone}` }, text);
}

/**
 * Show a time as "4 min ago". A tooltip has the full time, and `updateTimes` keeps the text current.
 * @param {string | null | undefined} timestamp
 */
export function time(timestamp) {
  return relative("time", timestamp);
}

/**
 * Show when something is due: "in 8 s", and "now" after that time.
 * @param {string | null | undefined} timestamp
 */
export function due(timestamp) {
  return relative("due", timestamp);
}

/**
 * Show how far a time is from now: "8 s".
 * @param {string | null | undefined} timestamp
 */
export function distance(timestamp) {
  return relative("distance", timestamp);
}

/**
 * @param {keyof FORMATS} format
 * @param {string | null | undefined} timestamp
 */
function relative(format, timestamp) {
  if (!timestamp) return "–";
  const attributes = { datetime: timestamp, "data-format": format, title: formatFull(timestamp) };
  return element("time", attributes, FORMATS[format](timestamp));
}

/**
 * Show the time of day. The tooltip has the full time and how long ago it is.
 * @param {string} timestamp
 */
export function clockTime(timestamp) {
  const title = `${formatRelative(timestamp)}: ${formatFull(timestamp)}`;
  return element("time", { datetime: timestamp, title }, formatClock(seconds(timestamp)));
}

/** Update the relative times on the page. */
export function updateTimes() {
  for (const shown of document.querySelectorAll("time[data-format]")) {
    const format = FORMATS[shown.getAttribute("data-format") ?? ""];
    const text = format(shown.getAttribute("datetime") ?? "");
    if (shown.textContent !== text) shown.textContent = text;
  }
}

/**
 * Show text from other people. It cannot change the direction or the layout of the text around it.
 * @param {string} text
 * @param {string} [kind]
 */
export function quoted(text, kind = "") {
  return element("bdi", { class: `quoted ${kind}` }, text);
}

/** @param {string} text */
export function code(text) {
  return element("code", {}, text);
}

/**
 * Show words one after the other, each as code.
 * @param {string[]} words
 * @returns {Child[]}
 */
export function codes(words) {
  return words.map((word) => [code(word), " "]);
}

/**
 * @template Row
 * @typedef {{ heading: string, cell: (row: Row) => Child, kind?: string }} Column
 */

/**
 * Show a table. Its caption is for screen readers. A falsy column is left out.
 * @template Row
 * @param {string} caption
 * @param {(Column<Row> | false | null)[]} columns
 * @param {Row[]} rows
 * @param {(row: Row) => string} key
 */
export function table(caption, columns, rows, key) {
  const shown = columns.filter((column) => column !== false && column !== null);
  const head = shown.map(({ heading, kind }) => element("th", { scope: "col", class: kind }, heading));
  const body = rows.map((row) => element("tr", { "data-key": key(row) }, shown.map(({ heading, cell, kind }) =>
    element("td", { "data-label": heading, class: kind }, cell(row)))));
  return element("div", { class: "scroll" }, element("table", {},
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, body)));
}

/**
 * Show that a list is empty, why, and what to do.
 * @param {string} title
 * @param {...Child} text
 */
export function empty(title, ...text) {
  return element("div", { class: "empty" }, element("strong", {}, title), element("p", {}, ...text));
}

const BY_TIME = { first: "Newest", previous: "← Newer", next: "Older →" };
export const BY_ID = { first: "First", previous: "← Back", next: "More →" };

/**
 * Show links to the previous and the next page. `link` returns the address for an iterator, or null for the first page.
 * @param {{ iterator: string | null, prevIterator: string | null, done: boolean }} page
 * @param {string | undefined} iterator
 * @param {(iterator: string | null) => string} link
 * @param {{ first: string, previous: string, next: string }} [words]
 */
export function pager(page, iterator, link, words = BY_TIME) {
  const isBackward = iterator?.startsWith("-");
  const next = isBackward || !page.done ? page.iterator : null;
  const previous = iterator && !(isBackward && page.done) ? page.prevIterator : null;
  if (!next && !iterator) return null;
  return element("nav", { class: "pager", "aria-label": "Pages" },
    iterator ? element("a", { href: link(null) }, words.first) : null,
    previous ? element("a", { href: link(previous) }, words.previous) : null,
    next ? element("a", { href: link(next) }, words.next) : null);
}

/**
 * Show names with values. Pairs without a value are left out.
 * @param {...[string, Child]} pairs
 */
export function facts(...pairs) {
  return element("dl", { class: "facts" }, pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "")
    .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/**
 * @param {string} label
 * @param {...{ href: string, text: string, isCurrent: boolean }} links
 */
export function tabs(label, ...links) {
  return element("nav", { class: "tabs", "aria-label": label }, links.map(({ href, text, isCurrent }) =>
    element("a", { href, "aria-current": isCurrent ? "page" : null }, text)));
}

/**
 * @param {string} text
 * @param {() => unknown} onclick
 * @param {string} [kind]
 */
export function button(text, onclick, kind = "") {
  return element("button", { type: "button", class: kind, onclick }, text);
}

/**
 * @param {Child} title
 * @param {...Child} beside
 */
export function pageHeading(title, ...beside) {
  return element("div", { class: "heading" }, element("h1", {}, title), ...beside);
}

/**
 * Show the path to a page: links to the pages above it.
 * @param {...(HTMLAnchorElement | null)} links
 */
export function breadcrumb(...links) {
  return element("nav", { class: "crumbs", "aria-label": "Breadcrumb" }, links.map((link) => link && [link, " / "]));
}

/**
 * Show a select element for a filter.
 * @param {string} label
 * @param {string} selected
 * @param {{ value: string, text: string }[]} choices
 * @param {(value: string) => void} choose
 */
export function filter(label, selected, choices, choose) {
  const options = choices.map(({ value, text }) =>
    element("option", { value, selected: selected === value }, text));
  const onchange = (/** @type {any} */ event) => choose(event.target.value);
  return element("label", {}, `${label} `, element("select", { onchange }, options));
}
