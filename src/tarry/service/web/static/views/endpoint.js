// @ts-check
// An endpoint: its state, actions, settings and attempts.

import { path } from "../api.js";
import { attemptTable } from "../attempts.js";
import { chart } from "../chart.js";
import { element } from "../dom.js";
import { laneLabel, laneSentences, readLane } from "../lanes.js";
import { linkTo, linkToApplication } from "../links.js";
import { badge, breadcrumb, code, codes, due, empty, facts, pageHeading, pager, quoted, tabs, time } from "../parts.js";
import { now } from "../times.js";
import { formatNumber } from "../vocabulary.js";
import { actionButtons } from "./endpoint_actions.js";
import { taskList } from "./tasks.js";

/** @typedef {import("../dom.js").Child} Child */
/** @typedef {import("../lanes.js").Lane} Lane */
/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */

const CHART_ATTEMPTS = 250;
const DAY = 86_400; // seconds

/**
 * Return the endpoint, its path, and the top of all its pages.
 * @param {Context} context
 * @param {"attempts" | "messages"} tab
 */
export async function endpointHead(context, tab) {
  const { app, endpoint: id } = context.names;
  const view = path`/app/${app}/endpoint/${id}`;
  const [application, endpoint, lane] = await Promise.all([
    context.cache.get(path`/app/${app}`), context.api.get(view), readLane(context, app, id),
  ]);
  const label = laneLabel(context, lane);
  return {
    endpoint,
    view,
    nodes: [
      breadcrumb(
        context.isPortal ? null : element("a", { href: linkTo("/") }, "Applications"),
        element("a", { href: linkToApplication(app) }, quoted(application?.name ?? app))),
      pageHeading(quoted(endpoint.url, "url"), badge(label)),
      endpoint.description ? element("p", { class: "description" }, quoted(endpoint.description)) : null,
      element("section", { class: `lane ${label.tone}` }, laneSentences(context, lane), laneFacts(lane)),
      actionButtons(context, view, endpoint, lane),
      await taskList(context, endpoint.id),
      settings(endpoint),
      tabs("Endpoint",
        { href: linkTo(view), text: "Attempts", isCurrent: tab === "attempts" },
        { href: linkTo(`${view}/msg`), text: "Messages", isCurrent: tab === "messages" }),
    ],
  };
}

/** @param {Lane} lane */
function laneFacts(lane) {
  return facts(
    ["Waiting", formatNumber(lane.backlog)],
    ["Next probe", lane.probeAt && due(lane.probeAt)],
    ["Rate", lane.pace && `${formatNumber(lane.pace)}/s`],
    ["Capacity", lane.capacity && `${formatNumber(lane.capacity)}/s`],
    ["Last success", lane.acceptedAt && time(lane.acceptedAt)],
    ["Failing since", lane.failingSince && time(lane.failingSince)],
    ["Failures", lane.failures ? formatNumber(lane.failures) : null],
    ["Done", lane.doneAt && due(lane.doneAt)],
  );
}

/** @param {any} endpoint */
function settings(endpoint) {
  const order = endpoint.blocking ? "FIFO; a failed message stops those after it" : "FIFO";
  return element("details", { class: "settings" }, element("summary", {}, "Settings"), facts(
    ["ID", code(endpoint.id)],
    ["UID", endpoint.uid && code(endpoint.uid)],
    ["Event types", endpoint.eventTypes ? codes(endpoint.eventTypes) : "all"],
    ["Channels", endpoint.channels ? codes(endpoint.channels) : "all"],
    ["Rate limit", endpoint.throttleRate && `${endpoint.throttleRate}/s`],
    ["Concurrency limit", endpoint.concurrency],
    ["Order", endpoint.fifo && order],
    ["Created", time(endpoint.createdAt)],
    ["Updated", time(endpoint.updatedAt)],
  ));
}

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function endpointPage(context) {
  const { app, endpoint: id } = context.names;
  const attempts = path`/app/${app}/attempt/endpoint/${id}`;
  const iterator = context.query.page;
  const since = new Date((now() - DAY) * 1000).toISOString();
  const [head, charted, page, lastDay] = await Promise.all([
    endpointHead(context, "attempts"),
    context.api.get(attempts, { limit: CHART_ATTEMPTS, with_content: false }),
    context.api.get(attempts, { limit: 20, with_msg: true, iterator }),
    context.api.get(path`/app/${app}/endpoint/${id}/attempt-stats`, { since }),
  ]);
  return {
    title: head.endpoint.url,
    nodes: [
      ...head.nodes,
      charted.data.length
        ? [chart(charted.data), summary(charted.data.length, lastDay), attemptTable(page.data, app)]
        : empty("No attempts yet.", "Attempts to send messages to this endpoint are listed here."),
      pager(page, iterator, (next) => linkTo(head.view, { page: next })),
    ],
  };
}

/**
 * @param {number} charted
 * @param {{ success: number, fail: number }} lastDay
 */
function summary(charted, { success, fail }) {
  const text = `Last 24 hours: ${formatNumber(success)} attempts succeeded, ${formatNumber(fail)} failed.`;
  return element("p", { class: "hint" }, text,
    charted === CHART_ATTEMPTS ? ` The chart shows the last ${CHART_ATTEMPTS} attempts.` : null);
}
