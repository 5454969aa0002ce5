// A message: what it says, where it goes, how far each delivery has come and why it is not further.

import { to, toApplication, toEndpoint } from "../address.js";
import { way } from "../api.js";
import { attempts } from "../attempts.js";
import { ask } from "../dialog.js";
import { el } from "../dom.js";
import { BY_ID, ahead, badge, button, code, empty, facts, heading, moment, pager, quoted, time } from "../parts.js";
import { indented, isJson, member } from "../payload.js";
import { REASONS, STATUSES } from "../words.js";
import { doing } from "./endpoint_actions.js";

const EXPIRED = '{"expired":true}';
const DELETED = { sentences: ["Its endpoint was deleted."] };
const MOST = 100; // attempts
const ORDER = ["fail", "sending", "pending", "canceled", "success"]; // what is wrong comes first
const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:\+00:00|Z))/;
const spread = new Set(); // messages whose payload is shown over several lines

export async function message(c) {
  const path = way`/app/${c.names.app}/msg/${c.names.message}`;
  const [app, text, places, made] = await Promise.all([
    c.known.at(way`/app/${c.names.app}`),
    c.known.value(`what ${path} says`, () => c.api.text("GET", path)),
    c.api.get(`${path}/endpoint`, { limit: 20, expanded_statuses: true, iterator: c.query.page }),
    c.api.get(way`/app/${c.names.app}/attempt/msg/${c.names.message}`, { limit: MOST }),
  ]);
  const told = JSON.parse(text);
  const deliveries = await Promise.all(places.data.map(async (endpoint) => ({
    endpoint,
    why: endpoint.standing === "deleted" ? DELETED : await c.api.get(`${path}${way`/endpoint/${endpoint.id}/explain`}`),
    attempts: made.data.filter((one) => one.endpointId === endpoint.id),
  })));
  deliveries.sort((one, other) => ORDER.indexOf(one.endpoint.statusText) - ORDER.indexOf(other.endpoint.statusText));
  return {
    title: told.eventType,
    nodes: [
      el("nav", { class: "crumbs", "aria-label": "Where you are" },
        c.isPortal ? null : [el("a", { href: to("/") }, "Applications"), " / "],
        el("a", { href: toApplication(c.names.app) }, quoted(app?.name ?? c.names.app)), " / ",
        el("a", { href: to(way`/app/${c.names.app}/msg`) }, "Messages"), " / "),
      heading(quoted(told.eventType)),
      about(told),
      el("section", {}, el("h2", {}, "Deliveries"), deliveries.length
        ? deliveries.map((one) => delivery(c, path, told, one))
        : empty("It goes to no endpoint.", "When it was sent, none wanted its type or its channels, or all that did were disabled."
          + " “Replay missing” at an endpoint sends it there after all."),
      pager(places, c.query.page, (page) => to(path, { page }), BY_ID),
      made.done ? null : el("p", { class: "hint" }, `Of its attempts the last ${MOST} are shown.`)),
      el("section", {}, el("h2", {}, "Payload"), payload(c, told.id, member(text, "payload"))),
    ],
  };
}

function about(told) {
  const names = (list) => list && list.map((one) => [code(one), " "]);
  return facts(["Accepted", time(told.timestamp)], ["Id", code(told.id)], ["Sender's id", told.eventId && code(told.eventId)],
    ["Not before", told.deliverAt && time(told.deliverAt)], ["Channels", names(told.channels)], ["Tags", names(told.tags)]);
}

function delivery(c, path, told, { endpoint, why, attempts: made }) {
  const [now, ...past] = why.sentences;
  return el("article", { class: "delivery", "data-key": endpoint.id },
    el("header", {}, badge(STATUSES[endpoint.statusText]),
      el("a", { href: toEndpoint(c.names.app, endpoint.id) }, quoted(endpoint.url, "url")),
      endpoint.nextAttempt ? el("span", { class: "hint" }, "next ", ahead(endpoint.nextAttempt)) : null,
      c.may("attempts") && endpoint.standing !== "deleted" ? button("Resend…", () => resend(c, path, endpoint)) : null),
    el("p", { class: "now" }, dated(now ?? "")),
    now?.includes(why.reason) && REASONS[why.reason] ? el("p", { class: "hint" }, sentence(REASONS[why.reason])) : null,
    past.length ? el("details", { open: true }, el("summary", {}, "What was tried, and what was decided"),
      el("ol", { class: "told" }, past.map((one) => el("li", {}, dated(one))))) : null,
    made.length ? attempts(made) : null);
}

function sentence(words) {
  return `${words[0].toUpperCase()}${words.slice(1)}.`;
}

/** A sentence, with the instants in it by the reader's clock. */
function dated(text) {
  return text.split(INSTANT).map((part, n) => (n % 2 ? moment(part) : part));
}

async function resend(c, path, endpoint) {
  const text = ["One more attempt is made, first in line. It does not count as one of the delivery's own. While the endpoint takes nothing, it goes with the next probe; while it is paused, it waits."];
  if (!(await ask("Send it once more?", [...text, quoted(endpoint.url, "url")], "Resend"))) return;
  await doing(c, () => c.api.post(`${path}${way`/endpoint/${endpoint.id}/resend`}`), "One more attempt will be made.");
}

function payload(c, id, text) {
  if (text === EXPIRED) return empty("It is gone.", "Payloads are kept for a while only, and this one's time is over, or it was expunged.");
  const turn = () => {
    if (!spread.delete(id)) spread.add(id);
    c.refresh();
  };
  return [
    text.length > 2 && isJson(text) && el("div", { class: "buttons" }, el("button", {
      type: "button", "aria-pressed": String(spread.has(id)), onclick: turn }, "Over several lines")),
    el("pre", { class: "payload" }, spread.has(id) ? indented(text) : text),
  ];
}
