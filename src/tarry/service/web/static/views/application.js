// @ts-check
// An application: its endpoints and the state of each.

import { path } from "../api.js";
import { element } from "../dom.js";
import { laneLabel, laneSentences, readLane } from "../lanes.js";
import { linkTo, linkToEndpoint } from "../links.js";
import { badge, breadcrumb, code, empty, facts, pageHeading, pager, quoted, table, tabs, time } from "../parts.js";
import { formatNumber } from "../vocabulary.js";

/** @typedef {import("../lanes.js").Lane} Lane */
/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */

/**
 * Return the application, and the top of all its pages.
 * @param {Context} context
 * @param {"endpoints" | "messages" | "undelivered"} tab
 */
export async function applicationHead(context, tab) {
  const application = await context.api.get(path`/app/${context.names.app}`);
  const view = path`/app/${application.id}`;
  const uid = context.isPortal ? null : application.uid; // it is the operator's
  return {
    application,
    nodes: [
      context.isPortal ? null : breadcrumb(element("a", { href: linkTo("/") }, "Applications")),
      pageHeading(quoted(application.name)),
      facts(["UID", uid && code(uid)], ["ID", code(application.id)],
        ["Rate limit", application.throttleRate && `${application.throttleRate}/s`]),
      tabs("Application",
        { href: linkTo(view), text: "Endpoints", isCurrent: tab === "endpoints" },
        { href: linkTo(`${view}/msg`), text: "Messages", isCurrent: tab === "messages" },
        { href: linkTo(`${view}/undelivered`), text: "Undelivered", isCurrent: tab === "undelivered" }),
    ],
  };
}

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function applicationPage(context) {
  const view = path`/app/${context.names.app}`;
  const iterator = context.query.page;
  const [head, page] = await Promise.all([
    applicationHead(context, "endpoints"),
    context.api.get(`${view}/endpoint`, { limit: 20, iterator }),
  ]);
  const rows = await Promise.all(page.data.map(async (/** @type {any} */ endpoint) => (
    { endpoint, lane: await readLane(context, context.names.app, endpoint.id) })));
  return {
    title: head.application.name,
    nodes: [
      ...head.nodes,
      rows.length ? endpointTable(context, head.application.id, rows) : noEndpoints(context, head.application),
      pager(page, iterator, (next) => linkTo(view, { page: next })),
    ],
  };
}

/**
 * @param {Context} context
 * @param {string} applicationId
 * @param {{ endpoint: any, lane: Lane }[]} rows
 */
function endpointTable(context, applicationId, rows) {
  return table("Endpoints", [
    { heading: "Endpoint", cell: ({ endpoint }) => [
      element("a", { href: linkToEndpoint(applicationId, endpoint.id) }, quoted(endpoint.url, "url")),
      element("small", {}, quoted(endpoint.description || endpoint.uid || ""))] },
    { heading: "State", cell: ({ lane }) => badge(laneLabel(context, lane)) },
    { heading: "Waiting", cell: ({ lane }) => formatNumber(lane.backlog), kind: "number" },
    { heading: "Last success", cell: ({ lane }) => time(lane.acceptedAt) },
    { heading: "Details", cell: ({ lane }) => element("div", { class: "why" }, laneSentences(context, lane)) },
  ], rows, ({ endpoint }) => endpoint.id);
}

/**
 * @param {Context} context
 * @param {any} found
 */
function noEndpoints(context, { id, uid }) {
  const title = "No endpoints yet.";
  if (context.isPortal) {
    return empty(title, "An endpoint is a URL that receives your messages. Add one with ",
      code(`POST /api/v1/app/${id}/endpoint`), ", or ask the sender of your webhooks.");
  }
  return empty(title, "Add the URL that receives its messages: ", code(`tarry endpoint create ${uid ?? id} https://…`));
}
