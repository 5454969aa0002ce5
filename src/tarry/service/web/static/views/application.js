// An application: its endpoints, and how the sending to each goes.

import { to, toEndpoint } from "../address.js";
import { way } from "../api.js";
import { el } from "../dom.js";
import { laneOf } from "../lanes.js";
import { badge, code, empty, facts, heading, lane as sentences, pager, quoted, table, tabs, time } from "../parts.js";
import { laneState, number } from "../words.js";

/** What is above all pages of an application. */
export async function head(c, here) {
  const app = await c.api.get(way`/app/${c.names.app}`);
  const path = way`/app/${app.id}`;
  return {
    app,
    nodes: [
      c.isPortal ? null : el("nav", { class: "crumbs", "aria-label": "Where you are" }, el("a", { href: to("/") }, "Applications"), " / "),
      heading(quoted(app.name)),
      facts(["Your id", c.isPortal ? null : app.uid && code(app.uid)], ["Id", code(app.id)], ["Rate", app.throttleRate && `${app.throttleRate} a second`]),
      tabs("Of this application", [to(path), "Endpoints", here === "endpoints"], [to(`${path}/msg`), "Messages", here === "messages"],
        [to(`${path}/undelivered`), "Undelivered", here === "undelivered"]),
    ],
  };
}

export async function application(c) {
  const path = way`/app/${c.names.app}`;
  const iterator = c.query.page;
  const [above, page] = await Promise.all([head(c, "endpoints"), c.api.get(`${path}/endpoint`, { limit: 20, iterator })]);
  const rows = await Promise.all(page.data.map(async (endpoint) => {
    const lane = await laneOf(c, c.names.app, endpoint.id);
    return { endpoint, lane };
  }));
  return {
    title: above.app.name,
    nodes: [...above.nodes, endpoints(c, above.app, rows), pager(page, iterator, (next) => to(path, { page: next }))],
  };
}

function endpoints(c, app, rows) {
  if (!rows.length) {
    return c.isPortal
      ? empty("No endpoint yet.", "An endpoint is a URL of yours that messages are sent to. Add one by ",
        code(`POST /api/v1/app/${app.id}/endpoint`), ", or ask whoever sends you webhooks to.")
      : empty("No endpoint yet.", "Say where its messages go: ", code(`tarry endpoint create ${app.uid ?? app.id} https://…`), ".");
  }
  return table("Endpoints", [
    ["Endpoint", ({ endpoint }) => [el("a", { href: toEndpoint(app.id, endpoint.id) }, quoted(endpoint.url, "url")),
      el("small", {}, quoted(endpoint.description || endpoint.uid || ""))]],
    ["State", ({ lane }) => badge(laneState(lane))],
    ["Waiting", ({ lane }) => number(lane.backlog), "number"],
    ["Last taken", ({ lane }) => time(lane.acceptedAt)],
    ["How it goes", ({ lane }) => el("div", { class: "why" }, sentences(lane))],
  ], rows, ({ endpoint }) => endpoint.id);
}
