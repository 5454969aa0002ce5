// @ts-check
// Waiting and failed deliveries, of all applications or of one.

import { path } from "../api.js";
import { element } from "../dom.js";
import { linkTo, linkToApplication, linkToEndpoint, linkToMessage } from "../links.js";
import { badge, due, empty, filter, pageHeading, quoted, table, time } from "../parts.js";
import { applicationHead } from "./application.js";

/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function undeliveredPage(context) {
  const list = await deliveryList(context, "/undelivered");
  return { title: "Undelivered", nodes: [pageHeading("Undelivered"), ...list] };
}

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function applicationUndeliveredPage(context) {
  const view = path`/app/${context.names.app}/undelivered`;
  const [head, list] = await Promise.all([applicationHead(context, "undelivered"), deliveryList(context, view)]);
  return { title: `Undelivered messages of ${head.application.name}`, nodes: [...head.nodes, ...list] };
}

/**
 * @param {Context} context
 * @param {string} view the path in the API and in the address
 */
async function deliveryList(context, view) {
  const { state, reason, page: iterator } = context.query;
  const page = await context.api.get(view, { limit: 50, state, reason, iterator });
  const rows = await Promise.all(page.data.map((/** @type {any} */ delivery) => readRow(context, delivery)));
  return [
    filters(context, view),
    rows.length ? deliveryTable(context, rows) : noDeliveries(context, page),
    pageLinks(context, view, page),
  ];
}

/**
 * Add the names of a delivery's application, endpoint and message.
 * @param {Context} context
 * @param {any} delivery
 */
async function readRow(context, delivery) {
  const address = path`/app/${delivery.appId}`;
  const [application, endpoint, message] = await Promise.all([
    context.names.app ? null : context.cache.get(address),
    context.cache.get(`${address}${path`/endpoint/${delivery.endpointId}`}`),
    context.cache.get(`${address}${path`/msg/${delivery.msgId}`}`, { with_content: "false" }),
  ]);
  return { ...delivery, application, endpoint, message };
}

/**
 * @param {Context} context
 * @param {any[]} rows
 */
function deliveryTable(context, rows) {
  const isOfAll = !context.names.app;
  return table("Undelivered messages", [
    { heading: "Message", cell: ({ appId, msgId, message }) => [
      element("a", { href: linkToMessage(appId, msgId) }, quoted(message?.eventType ?? msgId)),
      element("small", {}, quoted(message?.eventId ?? msgId))] },
    { heading: "Endpoint", cell: ({ appId, endpointId, endpoint }) =>
      element("a", { href: linkToEndpoint(appId, endpointId) }, quoted(endpoint?.url ?? endpointId, "url")) },
    isOfAll && { heading: "Application", cell: ({ appId, application }) =>
      element("a", { href: linkToApplication(appId) }, quoted(application?.name ?? appId)) },
    { heading: "State", cell: ({ state }) => badge(context.vocabulary.label("states", state)) },
    { heading: "Reason", cell: ({ reason }) => reasonCell(context, reason), kind: "reason" },
    { heading: "Attempts", cell: ({ tries }) => tries, kind: "number" },
    { heading: "Accepted", cell: ({ acceptedAt }) => time(acceptedAt) },
    { heading: "Next attempt", cell: ({ state, nextAt }) => (state === "failed" ? "–" : due(nextAt)) },
  ], rows, ({ endpointId, msgId }) => endpointId + msgId);
}

/**
 * @param {Context} context
 * @param {string} reason
 */
function reasonCell(context, reason) {
  const { label, meaning } = context.vocabulary.find("reasons", reason);
  return [element("span", {}, label), element("small", {}, meaning)];
}

/**
 * @param {Context} context
 * @param {{ done: boolean }} page
 */
function noDeliveries(context, { done }) {
  if (!done) return empty("No matching deliveries on this page.", "The next page may have some.");
  const isFiltered = context.query.state || context.query.reason;
  return isFiltered
    ? empty("No matching deliveries.", "Change the filter to see other deliveries.")
    : empty("No undelivered messages.", "No deliveries are waiting, and none have failed.");
}

/**
 * @param {Context} context
 * @param {string} view
 */
function filters(context, view) {
  const states = [
    { value: "", text: "waiting or failed" }, { value: "live", text: "waiting" }, { value: "failed", text: "failed" },
  ];
  const reasons = context.vocabulary.undeliveredReasons().map(({ name, label }) => ({ value: name, text: label }));
  const { state = "", reason = "" } = context.query;
  const choose = (/** @type {Record<string, string>} */ choice) =>
    context.go(linkTo(view, { state, reason, ...choice }));
  return element("form", { class: "filters" },
    filter("State", state, states, (value) => choose({ state: value })),
    filter("Reason", reason, [{ value: "", text: "any" }, ...reasons], (value) => choose({ reason: value })));
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {{ done: boolean, iterator: string | null }} page
 */
function pageLinks(context, view, page) {
  const link = (/** @type {string | null} */ iterator) => linkTo(view, { ...context.query, page: iterator });
  const first = context.query.page ? element("a", { href: link(null) }, "First page") : null;
  const next = page.done ? null : element("a", { href: link(page.iterator) }, "Next page →");
  return first || next ? element("nav", { class: "pager", "aria-label": "Pages" }, first, next) : null;
}
