// Asks before something is done, and says what was.

import { el, show } from "./dom.js";

const SHOWN = 10_000;

let dismissed = () => {};

/** Takes away what is asked, if something is: whoever was asked has gone elsewhere. */
export function dismiss() {
  dismissed();
}

/** Asks whether to go on; gives true, or what the fields of the dialog say, or null. */
export function ask(title, text, yes, fields = []) {
  return new Promise((resolve) => {
    const read = () => Object.fromEntries(fields.map((one) => [one.name, one.read()]));
    const done = (answer) => {
      dismissed = () => {};
      box.close();
      box.remove();
      resolve(answer);
    };
    const go = (event) => {
      event.preventDefault();
      done(fields.length ? read() : true);
    };
    const box = el("dialog", { "aria-labelledby": "asked", oncancel: () => done(null) },
      el("form", { onsubmit: go },
        el("h2", { id: "asked" }, title),
        text.map((one) => el("p", {}, one)),
        fields.map((one) => one.node),
        el("div", { class: "buttons" },
          el("button", { type: "button", onclick: () => done(null) }, "Cancel"),
          el("button", { class: "primary" }, yes))));
    dismissed = () => done(null);
    document.body.append(box);
    box.showModal();
    (fields[0]?.focus ?? box.querySelector(".primary")).focus();
  });
}

let silence = null;

/** Says what was done, or why it was not. */
export function say(text, tone = "good") {
  const place = document.getElementById("said");
  const hush = () => show(place);
  show(place, el("div", { class: `toast ${tone}` }, el("span", {}, text),
    el("button", { type: "button", "aria-label": "Close", onclick: hush }, "×")));
  clearTimeout(silence);
  silence = setTimeout(hush, SHOWN);
}

const SPANS = [["1", "the last hour"], ["6", "the last 6 hours"], ["24", "the last day"], ["72", "the last 3 days"],
  ["336", "the last 14 days"], ["", "since …"]];
const HOUR = 3_600_000;

/** A field for a time in the past: how long ago, or since when. */
export function since(now) {
  const exact = el("input", { type: "datetime-local", "aria-label": "Since when", step: 1, hidden: true, max: local(now) });
  const onchange = () => {
    exact.required = span.value === "";
    exact.hidden = !exact.required;
  };
  const span = el("select", { onchange },
    SPANS.map(([hours, text]) => el("option", { value: hours, selected: hours === "24" }, text)));
  const read = () => new Date(span.value ? now * 1000 - Number(span.value) * HOUR : exact.value).toISOString();
  return { name: "since", read, focus: span, node: el("label", { class: "field" }, "Messages of", span, exact) };
}

function local(now) {
  const date = new Date(now * 1000);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
