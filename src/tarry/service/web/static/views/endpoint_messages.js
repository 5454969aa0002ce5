// The messages for an endpoint, and how the sending of each stands.

import { to, toMessage } from "../address.js";
import { el } from "../dom.js";
import { ahead, badge, empty, pager, quoted, table, time } from "../parts.js";
import { STATUSES } from "../words.js";
import { head } from "./endpoint.js";

const CHOICES = [["", "any"], ["1", "not tried yet"], ["3", "waits"], ["0", "delivered"], ["2", "failed"], ["4", "cancelled"]];

export async function endpointMessages(c) {
  const { page: iterator, status } = c.query;
  const above = await head(c, "messages");
  const page = await c.api.get(`${above.path}/msg`, { limit: 20, with_content: false, expanded_statuses: true, iterator, status });
  return {
    title: `Messages for ${above.endpoint.url}`,
    nodes: [...above.nodes, filters(c, `${above.path}/msg`), list(c, page),
      pager(page, iterator, (next) => to(`${above.path}/msg`, { page: next, status }))],
  };
}

function filters(c, path) {
  return el("form", { class: "filters" }, el("label", {}, "State ", el("select", {
    onchange: (event) => c.go(to(path, { status: event.target.value })),
  }, CHOICES.map(([value, text]) => el("option", { value, selected: (c.query.status ?? "") === value }, text)))));
}

function list(c, page) {
  if (!page.data.length) {
    return page.done
      ? empty("No such message.", "None in the last 90 days that this endpoint wants and that stands like this.")
      : empty("None on this page.", "What you look for is rare; older pages may have some.");
  }
  return table("Messages", [
    ["Message", (one) => [el("a", { href: toMessage(c.names.app, one.id) }, quoted(one.eventType)), el("small", {}, quoted(one.eventId ?? one.id))]],
    ["State", (one) => badge(STATUSES[one.statusText])],
    ["Accepted", (one) => time(one.timestamp)],
    ["Next attempt", (one) => ahead(one.nextAttempt)],
  ], page.data, (one) => one.id);
}
