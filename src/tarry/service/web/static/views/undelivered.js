// What is not delivered, of everybody or of one application: it waits, or it failed.

import { to, toApplication, toEndpoint, toMessage } from "../address.js";
import { way } from "../api.js";
import { el } from "../dom.js";
import { ahead, badge, empty, heading, quoted, table, time } from "../parts.js";
import { REASONS, STATES } from "../words.js";
import { head } from "./application.js";

const CHOICES = [["", "waits or failed"], ["live", "waits"], ["failed", "failed"]];

export async function undelivered(c) {
  const { nodes } = await body(c, "/undelivered", "/undelivered");
  return { title: "Undelivered", nodes: [heading("Undelivered"), ...nodes] };
}

export async function applicationUndelivered(c) {
  const path = way`/app/${c.names.app}/undelivered`;
  const [above, { nodes }] = await Promise.all([head(c, "undelivered"), body(c, path, path, true)]);
  return { title: `Undelivered of ${above.app.name}`, nodes: [...above.nodes, ...nodes] };
}

async function body(c, asked, path, inside = false) {
  const { state, reason, page: iterator } = c.query;
  const page = await c.api.get(asked, { limit: 50, state, reason, iterator });
  const rows = await Promise.all(page.data.map(async (one) => {
    const app = way`/app/${one.appId}`;
    return {
      ...one,
      app: inside ? null : await c.known.at(app),
      endpoint: await c.known.at(`${app}${way`/endpoint/${one.endpointId}`}`),
      message: await c.known.at(`${app}${way`/msg/${one.msgId}`}`, { with_content: false }),
    };
  }));
  return { nodes: [filters(c, path), list(rows, page, inside), more(c, path, page)] };
}

function list(rows, page, inside) {
  if (!rows.length) {
    return page.done
      ? empty("Nothing here.", "All that was accepted has been delivered, cancelled or discarded, as far as it is looked for here.")
      : empty("None on this page.", "What you look for is rare; the next page may have some.");
  }
  const columns = [
    ["Message", (one) => [el("a", { href: toMessage(one.appId, one.msgId) }, quoted(one.message?.eventType ?? one.msgId)),
      el("small", {}, quoted(one.message?.eventId ?? one.msgId))]],
    ["Endpoint", (one) => el("a", { href: toEndpoint(one.appId, one.endpointId) }, quoted(one.endpoint?.url ?? one.endpointId, "url"))],
    inside ? null : ["Application", (one) => el("a", { href: toApplication(one.appId) }, quoted(one.app?.name ?? one.appId))],
    ["State", (one) => badge(STATES[one.state])],
    ["Why", (one) => [el("span", {}, one.reason), el("small", {}, REASONS[one.reason] ?? "")]],
    ["Tries", (one) => String(one.tries), "number"],
    ["Accepted", (one) => time(one.acceptedAt)],
    ["Next", (one) => (one.state === "failed" ? "–" : ahead(one.nextAt))],
  ];
  return table("What is not delivered", columns.filter(Boolean), rows, (one) => one.endpointId + one.msgId);
}

function filters(c, path) {
  const select = (name, label, choices) => el("label", {}, `${label} `, el("select", {
    onchange: (event) => c.go(to(path, { ...c.query, page: null, [name]: event.target.value })),
  }, choices.map(([value, text]) => el("option", { value, selected: (c.query[name] ?? "") === value }, text))));
  return el("form", { class: "filters" }, select("state", "State", CHOICES),
    select("reason", "Reason", [["", "any"], ...Object.keys(REASONS).map((one) => [one, one])]));
}

function more(c, path, page) {
  const first = c.query.page && el("a", { href: to(path, { ...c.query, page: null }) }, "From the start");
  const next = !page.done && el("a", { href: to(path, { ...c.query, page: page.iterator }) }, "More →");
  return first || next ? el("nav", { class: "pager", "aria-label": "Pages" }, first, next) : null;
}
