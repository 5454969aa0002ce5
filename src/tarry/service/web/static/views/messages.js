// @ts-check
// The messages of an application, the newest first, with the states of their deliveries.

import { path } from "../api.js";
import { element } from "../dom.js";
import { linkTo, linkToMessage } from "../links.js";
import { badge, code, codes, empty, pager, quoted, table, time } from "../parts.js";
import { applicationHead } from "./application.js";

/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */
/** @typedef {Map<string, number>} Counts numbers of deliveries by `statusText` */

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function applicationMessagesPage(context) {
  const view = path`/app/${context.names.app}`;
  const { page: iterator, type } = context.query;
  const [head, page] = await Promise.all([
    applicationHead(context, "messages"),
    context.api.get(`${view}/msg`, { limit: 20, with_content: false, iterator, event_types: type }),
  ]);
  const rows = await Promise.all(page.data.map(async (/** @type {any} */ message) => (
    { message, counts: await countStatuses(context, view, message.id) })));
  return {
    title: `Messages of ${head.application.name}`,
    nodes: [
      ...head.nodes,
      searchForm(context, view),
      rows.length ? messageTable(context, head.application.id, rows) : noMessages(context, head.application, page),
      pager(page, iterator, (next) => linkTo(`${view}/msg`, { page: next, type })),
    ],
  };
}

/**
 * Count a message's deliveries by status. Once all have ended, the result is cached.
 * @param {Context} context
 * @param {string} view
 * @param {string} id
 * @returns {Promise<Counts>}
 */
async function countStatuses(context, view, id) {
  const load = async () => {
    const query = { limit: 50, expanded_statuses: true };
    const page = await context.api.get(`${view}${path`/msg/${id}/endpoint`}`, query);
    /** @type {Counts} */
    const counts = new Map();
    for (const { statusText } of page.data) counts.set(statusText, (counts.get(statusText) ?? 0) + 1);
    return counts;
  };
  if (context.cache.entries.has(id)) return context.cache.value(id, load);
  const counts = await load();
  const isWaiting = counts.has("pending") || counts.has("sending");
  return isWaiting ? counts : context.cache.value(id, async () => counts);
}

/**
 * @param {Context} context
 * @param {string} applicationId
 * @param {{ message: any, counts: Counts }[]} rows
 */
function messageTable(context, applicationId, rows) {
  return table("Messages", [
    { heading: "Message", cell: ({ message }) => [
      element("a", { href: linkToMessage(applicationId, message.id) }, quoted(message.eventType)),
      element("small", {}, quoted(message.eventId ?? message.id))] },
    { heading: "Accepted", cell: ({ message }) => time(message.timestamp) },
    { heading: "Deliveries", cell: ({ counts }) => countBadges(context, counts) },
    { heading: "Tags", cell: ({ message }) => codes([...(message.channels ?? []), ...(message.tags ?? [])]) },
  ], rows, ({ message }) => message.id);
}

/**
 * Show how many deliveries are in each state. Different statuses may have the same label.
 * @param {Context} context
 * @param {Counts} counts
 */
function countBadges(context, counts) {
  if (!counts.size) return badge({ text: "no endpoint", tone: "calm" });
  /** @type {Map<string, { total: number, tone: import("../vocabulary.js").Tone }>} */
  const totals = new Map();
  for (const [status, count] of counts) {
    const { text, tone } = context.vocabulary.label("statuses", status);
    totals.set(text, { total: count + (totals.get(text)?.total ?? 0), tone });
  }
  return element("span", { class: "badges" },
    [...totals].map(([text, { total, tone }]) => badge({ text: `${total} ${text}`, tone })));
}

/**
 * @param {Context} context
 * @param {any} application
 * @param {{ done: boolean }} page
 */
function noMessages(context, { id, uid }, { done }) {
  if (!done) return empty("No matching messages on this page.", "Older pages may have some.");
  if (context.query.type) {
    return empty("No matching messages.",
      "No messages of this type in the last 90 days. To find a message by its ID, use “Open message”.");
  }
  if (context.isPortal) return empty("No messages yet.", "Messages that are sent to you are listed here.");
  return empty("No messages yet.", "Send one: ", code(`tarry send ${uid ?? id} order.paid '{"order": 1}'`));
}

/**
 * Show a form that opens a message by its ID or event ID, or filters the list by event type.
 * @param {Context} context
 * @param {string} view
 */
function searchForm(context, view) {
  const label = "Event type or message ID";
  const input = element("input", {
    type: "search", value: context.query.type ?? "", placeholder: label, "aria-label": label });
  const onsubmit = (/** @type {SubmitEvent & { target: HTMLFormElement }} */ event) => {
    event.preventDefault();
    const text = event.target.querySelector("input")?.value.trim() ?? "";
    const isOpen = event.submitter instanceof HTMLButtonElement && event.submitter.value === "open";
    if (text.startsWith("msg_") || (text && isOpen)) context.go(linkToMessage(context.names.app, text));
    else context.go(linkTo(`${view}/msg`, { type: text }));
  };
  return element("form", { class: "finder", onsubmit }, input,
    element("button", { value: "type" }, "Filter by type"),
    element("button", { value: "open" }, "Open message"));
}
