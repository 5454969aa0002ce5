// @ts-check
// The messages for an endpoint, with the state of each.

import { element } from "../dom.js";
import { linkTo, linkToMessage } from "../links.js";
import { badge, due, empty, filter, pager, quoted, table, time } from "../parts.js";
import { endpointHead } from "./endpoint.js";

/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */

const STATUSES = [ // by the API's numbers; two of them are called "waiting"
  { value: "1", name: "pending", more: ", no attempt yet" },
  { value: "3", name: "sending", more: ", attempted" },
  { value: "0", name: "success", more: "" },
  { value: "2", name: "fail", more: "" },
  { value: "4", name: "canceled", more: "" },
];

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function endpointMessagesPage(context) {
  const { page: iterator, status } = context.query;
  const head = await endpointHead(context, "messages");
  const view = `${head.view}/msg`;
  const query = { limit: 20, with_content: false, expanded_statuses: true, iterator, status };
  const page = await context.api.get(view, query);
  return {
    title: `Messages for ${head.endpoint.url}`,
    nodes: [
      ...head.nodes,
      statusFilter(context, view),
      page.data.length ? messageTable(context, page.data) : noMessages(page),
      pager(page, iterator, (next) => linkTo(view, { page: next, status })),
    ],
  };
}

/**
 * @param {Context} context
 * @param {string} view
 */
function statusFilter(context, view) {
  const choices = STATUSES.map(({ value, name, more }) => (
    { value, text: context.vocabulary.label("statuses", name).text + more }));
  return element("form", { class: "filters" },
    filter("State", context.query.status ?? "", [{ value: "", text: "any" }, ...choices],
      (status) => context.go(linkTo(view, { status }))));
}

/** @param {{ done: boolean }} page */
function noMessages({ done }) {
  if (!done) return empty("No matching messages on this page.", "Older pages may have some.");
  return empty("No matching messages.", "This endpoint has no messages of the last 90 days in this state.");
}

/**
 * @param {Context} context
 * @param {any[]} messages
 */
function messageTable(context, messages) {
  return table("Messages", [
    { heading: "Message", cell: (message) => [
      element("a", { href: linkToMessage(context.names.app, message.id) }, quoted(message.eventType)),
      element("small", {}, quoted(message.eventId ?? message.id))] },
    { heading: "State", cell: (message) => badge(context.vocabulary.label("statuses", message.statusText)) },
    { heading: "Accepted", cell: (message) => time(message.timestamp) },
    { heading: "Next attempt", cell: (message) => due(message.nextAttempt) },
  ], messages, (message) => message.id);
}
