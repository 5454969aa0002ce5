// @ts-check
// Dialogs that ask for confirmation, and messages about the result.

import { byId, element, show } from "./dom.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {{ name: string, read: () => string, node: HTMLElement, focus: HTMLElement }} Field */

const MESSAGE_TIME = 10_000; // milliseconds

let close = () => {};

/** Close the open dialog, because the user went to another page. */
export function closeDialog() {
  close();
}

/**
 * Ask for confirmation. Return the values of the fields, or null if the user cancels.
 * @param {string} title
 * @param {Child[]} paragraphs
 * @param {string} action the text of the button that confirms
 * @param {Field[]} [fields]
 * @returns {Promise<Record<string, string> | null>}
 */
export function ask(title, paragraphs, action, fields = []) {
  return new Promise((resolve) => {
    const finish = (/** @type {Record<string, string> | null} */ result) => {
      close = () => {};
      dialog.close();
      dialog.remove();
      resolve(result);
    };
    const onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      finish(Object.fromEntries(fields.map((field) => [field.name, field.read()])));
    };
    const confirm = element("button", { class: "primary" }, action);
    const dialog = element("dialog", { "aria-labelledby": "dialog-title", oncancel: () => finish(null) },
      element("form", { onsubmit },
        element("h2", { id: "dialog-title" }, title),
        paragraphs.map((paragraph) => element("p", {}, paragraph)),
        fields.map((field) => field.node),
        element("div", { class: "buttons" },
          element("button", { type: "button", onclick: () => finish(null) }, "Cancel"),
          confirm)));
    close = () => finish(null);
    document.body.append(dialog);
    dialog.showModal();
    (fields[0]?.focus ?? confirm).focus();
  });
}

let timer = 0;

/**
 * Show the result of an action for some seconds.
 * @param {string} text
 * @param {"good" | "bad"} [tone]
 */
export function notify(text, tone = "good") {
  const place = byId("notice");
  const hide = () => show(place);
  show(place, element("div", { class: `toast ${tone}` },
    element("span", {}, text),
    element("button", { type: "button", "aria-label": "Close", onclick: hide }, "×")));
  clearTimeout(timer);
  timer = setTimeout(hide, MESSAGE_TIME);
}

const SPANS = [
  { hours: "1", text: "the last hour" },
  { hours: "6", text: "the last 6 hours" },
  { hours: "24", text: "the last day" },
  { hours: "72", text: "the last 3 days" },
  { hours: "336", text: "the last 14 days" },
  { hours: "", text: "a date and time …" },
];
const HOUR = 3_600_000; // milliseconds

/**
 * Create a field for a time in the past: a span up to now, or a date and time.
 * @param {number} now in seconds
 * @returns {Field}
 */
export function sinceField(now) {
  const exact = element("input", {
    type: "datetime-local", "aria-label": "Date and time", step: 1, hidden: true, max: localTime(now) });
  const onchange = () => {
    exact.required = span.value === "";
    exact.hidden = !exact.required;
  };
  const span = element("select", { onchange }, SPANS.map(({ hours, text }) =>
    element("option", { value: hours, selected: hours === "24" }, text)));
  const read = () => new Date(span.value ? now * 1000 - Number(span.value) * HOUR : exact.value).toISOString();
  const node = element("label", { class: "field" }, "Messages from", span, exact);
  return { name: "since", read, focus: span, node };
}

/**
 * Format a time for an input of type datetime-local.
 * @param {number} time in seconds
 */
function localTime(time) {
  const date = new Date(time * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
