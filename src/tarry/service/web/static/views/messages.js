// An application's messages, the newest first, and how far each has come.

import { to, toMessage } from "../address.js";
import { way } from "../api.js";
import { el } from "../dom.js";
import { badge, code, empty, pager, quoted, table, time } from "../parts.js";
import { STATUSES } from "../words.js";
import { head } from "./application.js";

export async function applicationMessages(c) {
  const path = way`/app/${c.names.app}`;
  const { page: iterator, type } = c.query;
  const [above, page] = await Promise.all([
    head(c, "messages"),
    c.api.get(`${path}/msg`, { limit: 20, with_content: false, iterator, event_types: type }),
  ]);
  const rows = await Promise.all(page.data.map(async (message) => ({ message, stands: await standing(c, path, message) })));
  return {
    title: `Messages of ${above.app.name}`,
    nodes: [...above.nodes, filters(c, path), list(c, above.app, rows, page),
      pager(page, iterator, (next) => to(`${path}/msg`, { page: next, type }))],
  };
}

/** How many endpoints a message stands how with; once that is over, it is looked at seldom. */
async function standing(c, path, message) {
  const ask = async () => {
    const page = await c.api.get(`${path}${way`/msg/${message.id}/endpoint`}`, { limit: 50, expanded_statuses: true });
    const many = new Map();
    for (const one of page.data) many.set(one.statusText, (many.get(one.statusText) ?? 0) + 1);
    return many;
  };
  const settled = c.known.kept.get(message.id);
  if (settled) return c.known.value(message.id, ask);
  const many = await ask();
  const over = ![...many.keys()].some((one) => one === "pending" || one === "sending");
  return over ? c.known.value(message.id, async () => many) : many;
}

function list(c, app, rows, page) {
  if (!rows.length) {
    if (!page.done) return empty("None on this page.", "What you look for is rare; older pages may have some.");
    if (c.query.type) return empty("No such message.", "None of this type in the last 90 days. If it is a message's id, “Open message” finds it.");
    return c.isPortal
      ? empty("No message yet.", "What is sent to you will be listed here.")
      : empty("No message yet.", "Send one: ", code(`tarry send ${app.uid ?? app.id} order.paid '{"order": 1}'`), ".");
  }
  return table("Messages", [
    ["Message", ({ message }) => [el("a", { href: toMessage(app.id, message.id) }, quoted(message.eventType)),
      el("small", {}, quoted(message.eventId ?? message.id))]],
    ["Accepted", ({ message }) => time(message.timestamp)],
    ["Stands", ({ stands }) => (stands.size
      ? el("span", { class: "badges" }, [...stands].map(([status, many]) => badge([`${many} ${STATUSES[status][0]}`, STATUSES[status][1]])))
      : badge(["for no endpoint", "calm"]))],
    ["Tags", ({ message }) => [...(message.channels ?? []), ...(message.tags ?? [])].map((one) => [code(one), " "])],
  ], rows, ({ message }) => message.id);
}

/** Goes to a message by its id or the sender's, or narrows the list to a type. */
function filters(c, path) {
  const go = (event) => {
    event.preventDefault();
    const typed = event.target.querySelector("input").value.trim();
    if (typed.startsWith("msg_") || (typed && event.submitter?.value === "open")) c.go(toMessage(c.names.app, typed));
    else c.go(to(`${path}/msg`, { type: typed }));
  };
  return el("form", { class: "finder", onsubmit: go },
    el("input", { type: "search", value: c.query.type ?? "", placeholder: "Type of event, or a message's id", "aria-label": "Type of event, or a message's id" }),
    el("button", { value: "type" }, "Only this type"), el("button", { value: "open" }, "Open message"));
}
