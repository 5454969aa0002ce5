// A table of attempts: what was answered, how long that took, and the answer itself.

import { toMessage } from "./address.js";
import { el } from "./dom.js";
import { badge, quoted, table, time } from "./parts.js";

const MANUAL = 1;

/** Attempts, with the messages they were made for if `app` is told. */
export function attempts(rows, app = null) {
  const columns = [
    ["Answered", (one) => time(one.timestamp)],
    ["Answer", (one) => badge(answer(one))],
    ["Took", (one) => `${one.responseDurationMs} ms`, "number"],
    app && ["Message", (one) => [el("a", { href: toMessage(app, one.msgId) }, quoted(one.msg?.eventType ?? one.msgId)),
      el("small", {}, quoted(one.msg?.eventId ?? one.msgId))]],
    ["What it said", said],
  ];
  return table("Attempts", columns.filter(Boolean), rows, (one) => one.id);
}

function answer(one) {
  const code = one.responseStatusCode || "no answer";
  return [one.triggerType === MANUAL ? `${code}, by hand` : `${code}`, one.status === 0 ? "good" : "bad"];
}

function said(one) {
  if (!one.response) return el("span", { class: "hint" }, "nothing");
  if (one.response.length < 60 && !/\n/.test(one.response)) return quoted(one.response, "body");
  return el("details", {}, el("summary", {}, quoted(one.response.slice(0, 60), "body"), "…"), el("pre", {}, one.response));
}
