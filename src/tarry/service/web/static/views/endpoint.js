// An endpoint: how the sending to it goes and why, what can be done about it, and its attempts.

import { to, toApplication } from "../address.js";
import { way } from "../api.js";
import { attempts } from "../attempts.js";
import { chart } from "../chart.js";
import { el } from "../dom.js";
import { laneOf } from "../lanes.js";
import { ahead, badge, code, empty, facts, heading, lane as sentences, pager, quoted, tabs, time } from "../parts.js";
import { now } from "../when.js";
import { laneState, number } from "../words.js";
import { actions } from "./endpoint_actions.js";
import { tasks } from "./tasks.js";

const DRAWN = 250;

/** What is above all pages of an endpoint. */
export async function head(c, here) {
  const path = way`/app/${c.names.app}/endpoint/${c.names.endpoint}`;
  const [app, endpoint, lane] = await Promise.all([
    c.known.at(way`/app/${c.names.app}`), c.api.get(path), laneOf(c, c.names.app, c.names.endpoint),
  ]);
  return {
    endpoint, lane, path,
    nodes: [
      el("nav", { class: "crumbs", "aria-label": "Where you are" },
        c.isPortal ? null : [el("a", { href: to("/") }, "Applications"), " / "],
        el("a", { href: toApplication(c.names.app) }, quoted(app?.name ?? c.names.app)), " / "),
      heading(quoted(endpoint.url, "url"), badge(laneState(lane))),
      endpoint.description ? el("p", { class: "description" }, quoted(endpoint.description)) : null,
      el("section", { class: `lane ${laneState(lane)[1]}` }, sentences(lane), numbers(lane)),
      actions(c, path, endpoint, lane),
      await tasks(c, endpoint),
      settings(endpoint),
      tabs("Of this endpoint", [to(path), "Attempts", here === "attempts"], [to(`${path}/msg`), "Messages", here === "messages"]),
    ],
  };
}

function numbers(lane) {
  return facts(
    ["Waiting", number(lane.backlog)],
    ["Next probe", lane.probeAt && ahead(lane.probeAt)],
    ["Pace", lane.pace && `${number(lane.pace)} a second`],
    ["Seen to take", lane.capacity && `${number(lane.capacity)} a second`],
    ["Last taken", lane.acceptedAt && time(lane.acceptedAt)],
    ["Failing since", lane.failingSince && time(lane.failingSince)],
    ["Failures since", lane.failures ? number(lane.failures) : null],
    ["Done", lane.doneAt && ahead(lane.doneAt)],
  );
}

function settings(endpoint) {
  const names = (list) => list && list.map((one) => [code(one), " "]);
  return el("details", { class: "settings" }, el("summary", {}, "Settings"), facts(
    ["Id", code(endpoint.id)],
    ["Your id", endpoint.uid && code(endpoint.uid)],
    ["Types of events", names(endpoint.eventTypes) ?? "all"],
    ["Channels", names(endpoint.channels) ?? "all"],
    ["At most", endpoint.throttleRate && `${endpoint.throttleRate} a second`],
    ["At a time", endpoint.concurrency && String(endpoint.concurrency)],
    ["Order", endpoint.fifo && (endpoint.blocking ? "kept; one that fails holds up the others" : "kept")],
    ["Made", time(endpoint.createdAt)],
    ["Changed", time(endpoint.updatedAt)],
  ));
}

export async function endpoint(c) {
  const asked = way`/app/${c.names.app}/attempt/endpoint/${c.names.endpoint}`;
  const iterator = c.query.page;
  const [above, drawn, page, day] = await Promise.all([
    head(c, "attempts"),
    c.api.get(asked, { limit: DRAWN, with_content: false }),
    c.api.get(asked, { limit: 20, with_msg: true, iterator }),
    c.api.get(way`/app/${c.names.app}/endpoint/${c.names.endpoint}/attempt-stats`, { since: yesterday() }),
  ]);
  return {
    title: above.endpoint.url,
    nodes: [...above.nodes, list(c, drawn, page, day), pager(page, iterator, (next) => to(above.path, { page: next }))],
  };
}

function yesterday() {
  return new Date((now() - 86_400) * 1000).toISOString();
}

function list(c, drawn, page, day) {
  if (!drawn.data.length) return empty("No attempt yet.", "What is sent to it will be shown here, with what it answered.");
  return [
    chart(drawn.data),
    el("p", { class: "hint" }, `In the last day ${number(day.success)} arrived, and ${number(day.fail)} failed.`,
      drawn.data.length === DRAWN ? ` Drawn are the last ${DRAWN}.` : ""),
    attempts(page.data, c.names.app),
  ];
}
