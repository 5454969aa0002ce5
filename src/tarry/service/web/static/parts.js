// The parts that views are made of: badges, times, tables, pages, empty places.

import { el } from "./dom.js";
import { clock, seconds, told, whole } from "./when.js";
import { laneSentences } from "./words.js";

export function badge([word, tone], title = null) {
  return el("span", { class: `badge ${tone}`, title }, word);
}

/** An instant: "4 min ago", in full when pointed at; `tick` keeps it right. */
export function time(written) {
  return written ? el("time", { datetime: written, title: whole(written) }, told(written)) : "–";
}

/** When something is to happen. */
export function ahead(written) {
  return written ? el("time", { datetime: written, class: "ahead", title: whole(written) }, told(written, true)) : "–";
}

/** An instant within a sentence: the time of day, how long ago when pointed at. */
export function moment(written) {
  return el("time", { datetime: written, class: "moment", title: `${told(written)}: ${whole(written)}` }, clock(seconds(written)));
}

export function tick() {
  for (const one of document.querySelectorAll("time:not(.moment)")) {
    const text = told(one.getAttribute("datetime"), one.className === "ahead");
    if (one.textContent !== text) one.textContent = text;
  }
}

/** Text of somebody else: it stays within its place, whatever it is. */
export function quoted(text, kind = "") {
  return el("bdi", { class: `quoted ${kind}` }, text);
}

export function code(text) {
  return el("code", {}, text);
}

/** A table; each column is a heading and what stands in it, an empty heading is said by itself. */
export function table(caption, columns, rows, key) {
  const head = el("tr", {}, columns.map(([heading, , kind]) => el("th", { scope: "col", class: kind }, heading)));
  const body = rows.map((row) => el("tr", { "data-key": key(row) }, columns.map(([heading, cell, kind]) =>
    el("td", { "data-label": heading, class: kind }, cell(row)))));
  return el("div", { class: "scroll" },
    el("table", {}, el("caption", { class: "unseen" }, caption), el("thead", {}, head), el("tbody", {}, body)));
}

/** Where there is nothing: what that means and what to do. */
export function empty(title, ...more) {
  return el("div", { class: "empty" }, el("strong", {}, title), el("p", {}, ...more));
}

const BY_TIME = ["Newest", "← Newer", "Older →"];
export const BY_ID = ["First", "← Back", "More →"];

/** Ways to what is older and newer; `to` makes an address of an iterator, null for the first page. */
export function pager(page, iterator, to, [start, earlier, later] = BY_TIME) {
  const back = iterator?.startsWith("-");
  const older = back || !page.done ? page.iterator : null;
  const newer = iterator && !(back && page.done) ? page.prevIterator : null;
  if (!older && !iterator) return null;
  return el("nav", { class: "pager", "aria-label": "Pages" },
    iterator ? el("a", { href: to(null) }, start) : null,
    newer ? el("a", { href: to(newer) }, earlier) : null,
    older ? el("a", { href: to(older) }, later) : null);
}

export function facts(...pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

export function lane(one) {
  return laneSentences(one, time, ahead).map((sentence) => el("p", {}, sentence));
}

export function tabs(label, ...links) {
  return el("nav", { class: "tabs", "aria-label": label },
    links.map(([href, text, here]) => el("a", { href, "aria-current": here ? "page" : null }, text)));
}

export function button(text, onclick, kind = "") {
  return el("button", { type: "button", class: kind, onclick }, text);
}

export function heading(title, ...beside) {
  return el("div", { class: "heading" }, el("h1", {}, title), ...beside);
}
