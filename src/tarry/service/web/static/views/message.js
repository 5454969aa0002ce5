// @ts-check
// A message: its deliveries with their attempts, and its payload.

import { path } from "../api.js";
import { attemptTable } from "../attempts.js";
import { ask } from "../dialog.js";
import { element } from "../dom.js";
import { linkTo, linkToApplication, linkToEndpoint } from "../links.js";
import {
  badge, breadcrumb, button, BY_ID, clockTime, code, codes, due, empty, facts, pageHeading, pager, quoted, time,
} from "../parts.js";
import { fieldText, indent, isJson } from "../payload.js";
import { perform } from "./endpoint_actions.js";

/** @typedef {import("../attempts.js").Attempt} Attempt */
/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */
/** @typedef {{ endpoint: any, sentences: string[], attempts: Attempt[] }} Delivery */

const EXPIRED = '{"expired":true}';
const ERASED = '{"erased":true}';
const MAX_ATTEMPTS = 100;
const ORDER = ["fail", "sending", "pending", "canceled", "success"]; // problems come first
const TIMESTAMP = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:\+00:00|Z))/;
/** @type {Set<string>} */
const indented = new Set(); // the ids of messages whose payload is shown indented

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function messagePage(context) {
  const { app, message: id } = context.names;
  const view = path`/app/${app}/msg/${id}`;
  const [application, text, endpoints, attempts] = await Promise.all([
    context.cache.get(path`/app/${app}`),
    context.cache.value(`text of ${view}`, () => context.api.text("GET", view)),
    context.api.get(`${view}/endpoint`, { limit: 20, expanded_statuses: true, iterator: context.query.page }),
    context.api.get(path`/app/${app}/attempt/msg/${id}`, { limit: MAX_ATTEMPTS }),
  ]);
  const found = JSON.parse(text);
  const deliveries = await readDeliveries(context, view, endpoints.data, attempts.data);
  return {
    title: found.eventType,
    nodes: [
      breadcrumb(
        context.isPortal ? null : element("a", { href: linkTo("/") }, "Applications"),
        element("a", { href: linkToApplication(app) }, quoted(application?.name ?? app)),
        element("a", { href: linkTo(path`/app/${app}/msg`) }, "Messages")),
      pageHeading(quoted(found.eventType)),
      messageFacts(found),
      element("section", {},
        element("h2", {}, "Deliveries"),
        deliveries.length ? deliveries.map((delivery) => deliveryArticle(context, view, delivery)) : noDeliveries(),
        pager(endpoints, context.query.page, (page) => linkTo(view, { page }), BY_ID),
        attempts.done ? null : element("p", { class: "hint" }, `Only the last ${MAX_ATTEMPTS} attempts are shown.`)),
      element("section", {}, element("h2", {}, "Payload"), payload(context, found.id, fieldText(text, "payload"))),
    ],
  };
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {any[]} endpoints
 * @param {Attempt[]} attempts
 * @returns {Promise<Delivery[]>}
 */
async function readDeliveries(context, view, endpoints, attempts) {
  const deliveries = await Promise.all(endpoints.map(async (endpoint) => ({
    endpoint,
    sentences: await readSentences(context, view, endpoint),
    attempts: attempts.filter((attempt) => attempt.endpointId === endpoint.id),
  })));
  const rank = (/** @type {Delivery} */ { endpoint }) => ORDER.indexOf(endpoint.statusText);
  return deliveries.sort((delivery, other) => rank(delivery) - rank(other));
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {any} endpoint
 * @returns {Promise<string[]>}
 */
async function readSentences(context, view, { id, standing }) {
  if (standing === "deleted") return ["The endpoint was deleted."];
  return (await context.api.get(`${view}${path`/endpoint/${id}/explain`}`)).sentences;
}

/** @param {any} found */
function messageFacts({ id, eventId, timestamp, deliverAt, channels, tags }) {
  return facts(
    ["Accepted", time(timestamp)],
    ["ID", code(id)],
    ["Event ID", eventId && code(eventId)],
    ["Deliver at", deliverAt && time(deliverAt)],
    ["Channels", channels && codes(channels)],
    ["Tags", tags && codes(tags)],
  );
}

function noDeliveries() {
  return empty("No deliveries.", "No enabled endpoint accepted its event type and channels when it was sent."
    + " “Replay missing” on an endpoint's page sends it there.");
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {Delivery} delivery
 */
function deliveryArticle(context, view, { endpoint, sentences: [state, ...history], attempts }) {
  const canResend = context.may("attempts") && endpoint.standing !== "deleted";
  return element("article", { class: "delivery", "data-key": endpoint.id },
    element("header", {},
      badge(context.vocabulary.label("statuses", endpoint.statusText)),
      element("a", { href: linkToEndpoint(context.names.app, endpoint.id) }, quoted(endpoint.url, "url")),
      endpoint.nextAttempt ? element("span", { class: "hint" }, "next attempt ", due(endpoint.nextAttempt)) : null,
      canResend ? button("Resend…", () => resend(context, view, endpoint)) : null),
    element("p", { class: "now" }, withLocalTimes(state)),
    history.length ? element("details", { open: true },
      element("summary", {}, "Attempts and decisions"),
      element("ol", { class: "history" }, history.map((text) => element("li", {}, withLocalTimes(text))))) : null,
    attempts.length ? attemptTable(attempts) : null);
}

/**
 * Replace the timestamps in a sentence by local times.
 * @param {string} sentence
 */
function withLocalTimes(sentence) {
  return sentence.split(TIMESTAMP).map((part, index) => (index % 2 ? clockTime(part) : part));
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {{ id: string, url: string }} endpoint
 */
async function resend(context, view, endpoint) {
  const text = "One more attempt is made, ahead of waiting deliveries. It does not count against the retry policy. If"
    + " the endpoint is down, the attempt is made with the next probe. If the endpoint is paused, the attempt waits.";
  if (!(await ask("Resend this message?", [text, quoted(endpoint.url, "url")], "Resend"))) return;
  const address = `${view}${path`/endpoint/${endpoint.id}/resend`}`;
  await perform(context, () => context.api.post(address), "Resend requested.");
}

/**
 * @param {Context} context
 * @param {string} id
 * @param {string} text
 */
function payload(context, id, text) {
  if (text === EXPIRED) {
    return empty("The payload was deleted.",
      "Payloads are kept for a limited time. This one has expired or was expunged.");
  }
  if (text === ERASED) {
    return empty("The payload was erased.", "The key that it was sealed with was deleted. Nobody can read it again.");
  }
  const onclick = () => {
    if (!indented.delete(id)) indented.add(id);
    context.refresh();
  };
  const isIndented = indented.has(id);
  const toggle = { type: "button", "aria-pressed": String(isIndented), onclick };
  return [
    text.length > 2 && isJson(text) && element("div", { class: "buttons" }, element("button", toggle, "Indent")),
    element("pre", { class: "payload" }, isIndented ? indent(text) : text),
  ];
}
