// @ts-check
// The operator's start page: waiting deliveries with the reasons, and all applications.

import { path, RequestError } from "../api.js";
import { element } from "../dom.js";
import { laneLabel, laneSentences, readLane } from "../lanes.js";
import { linkTo, linkToApplication, linkToEndpoint } from "../links.js";
import { badge, code, due, empty, pageHeading, pager, quoted, table, time } from "../parts.js";
import { now, seconds } from "../times.js";
import { formatNumber } from "../vocabulary.js";

/** @typedef {import("../lanes.js").Lane} Lane */
/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */
/** @typedef {import("../vocabulary.js").Label} Label */
/** @typedef {{ oldest: any, lane: Lane, application: any, endpoint: any, label: Label }} Row */
/** @typedef {{ rows: Row[], hasMore: boolean }} Waiting endpoints with waiting deliveries */

const MAX_ENDPOINTS = 30;
const YOUNG = 10; // seconds; a healthy endpoint is not listed for deliveries that are younger
const ORDER = ["bad", "care", "calm", "good"];

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function overviewPage(context) {
  if (context.query.page) {
    return { title: "Applications", nodes: [pageHeading("Applications"), ...(await applicationList(context))] };
  }
  const [health, waiting, failed, applications] = await Promise.all([
    healthTile(context),
    readWaiting(context),
    context.api.get("/undelivered", { state: "failed", first_of_each: true, limit: MAX_ENDPOINTS }),
    applicationList(context),
  ]);
  return {
    title: "Overview",
    nodes: [
      pageHeading("Overview"),
      element("div", { class: "tiles" }, health, waitingTiles(waiting), failedTile(failed)),
      element("section", {}, element("h2", {}, "Waiting deliveries"), waitingTable(context, waiting)),
      element("section", {}, element("h2", {}, "Applications"), applications),
    ],
  };
}

/** @param {Context} context */
async function applicationList(context) {
  const iterator = context.query.page;
  const page = await context.api.get("/app", { limit: 20, order: "descending", iterator });
  return [
    searchForm(context),
    page.data.length ? applicationTable(page.data) : noApplications(),
    pager(page, iterator, (next) => linkTo("/", { page: next })),
  ];
}

/**
 * Show whether the server accepts messages.
 * @param {Context} context
 */
async function healthTile(context) {
  try {
    await context.api.text("GET", "/health");
    return tile("Ready", "messages are accepted", "good");
  } catch (error) {
    if (!(error instanceof RequestError) || error.status !== 503) throw error;
    return tile("Not ready", "the database rejects writes; see the server's log", "bad");
  }
}

/**
 * Read the endpoints with waiting deliveries, the worst first.
 * @param {Context} context
 * @returns {Promise<Waiting>}
 */
async function readWaiting(context) {
  const page = await context.api.get("/undelivered", { state: "live", first_of_each: true, limit: MAX_ENDPOINTS });
  /** @type {Row[]} */
  const all = await Promise.all(page.data.map((/** @type {any} */ oldest) => readRow(context, oldest)));
  const rows = all.filter(({ label, oldest }) => label.tone !== "good" || now() - seconds(oldest.acceptedAt) > YOUNG);
  const rank = (/** @type {Row} */ { label }) => ORDER.indexOf(label.tone);
  rows.sort((row, other) => rank(row) - rank(other) || other.lane.backlog - row.lane.backlog);
  return { rows, hasMore: !page.done };
}

/**
 * @param {Context} context
 * @param {any} oldest the first waiting delivery of an endpoint
 * @returns {Promise<Row>}
 */
async function readRow(context, oldest) {
  const { appId, endpointId } = oldest;
  const [lane, application, endpoint] = await Promise.all([
    readLane(context, appId, endpointId),
    context.cache.get(path`/app/${appId}`),
    context.cache.get(path`/app/${appId}/endpoint/${endpointId}`),
  ]);
  return { oldest, lane, application, endpoint, label: laneLabel(context, lane) };
}

/** @param {Waiting} waiting */
function waitingTiles({ rows, hasMore }) {
  const backlog = rows.reduce((sum, { lane }) => sum + lane.backlog, 0);
  const problems = rows.filter(({ label }) => label.tone !== "good").length;
  const plus = hasMore ? "+" : "";
  return [
    tile(formatNumber(backlog) + plus, backlog === 1 ? "delivery waiting" : "deliveries waiting",
      backlog ? "care" : "good"),
    tile(formatNumber(problems) + plus, problems === 1 ? "endpoint with problems" : "endpoints with problems",
      problems ? "bad" : "good"),
  ];
}

/**
 * Show at how many endpoints deliveries failed. The server gives up the search in a very long backlog.
 * @param {{ data: any[], done: boolean }} failed
 */
function failedTile({ data, done }) {
  const isUnknown = !data.length && !done;
  const value = isUnknown ? "?" : formatNumber(data.length) + (done ? "" : "+");
  const text = data.length === 1 ? "endpoint with failed deliveries" : "endpoints with failed deliveries";
  return element("a", { class: "tile", href: linkTo("/undelivered", { state: "failed" }) },
    element("strong", { class: data.length ? "bad" : "good" }, value),
    isUnknown ? "failed deliveries: the backlog is too long to count them" : text);
}

/**
 * @param {string} value
 * @param {string} text
 * @param {Label["tone"]} tone
 */
function tile(value, text, tone) {
  return element("div", { class: "tile" }, element("strong", { class: tone }, value), text);
}

/**
 * @param {Context} context
 * @param {Waiting} waiting
 */
function waitingTable(context, { rows, hasMore }) {
  if (!rows.length) {
    return empty("No deliveries are waiting.",
      "Every accepted message was delivered, has failed or is being sent now.");
  }
  const list = table("Endpoints with waiting deliveries", [
    { heading: "Endpoint", cell: ({ oldest, application, endpoint }) => [
      element("a", { href: linkToEndpoint(oldest.appId, oldest.endpointId) },
        quoted(endpoint?.url ?? oldest.endpointId, "url")),
      element("small", {}, quoted(application?.name ?? oldest.appId))] },
    { heading: "State", cell: ({ label }) => badge(label) },
    { heading: "Waiting", cell: ({ lane }) => formatNumber(lane.backlog), kind: "number" },
    { heading: "Oldest", cell: ({ oldest }) => time(oldest.acceptedAt) },
    { heading: "Details", cell: (row) => element("div", { class: "why" }, details(context, row)) },
  ], rows, ({ oldest }) => oldest.endpointId);
  if (!hasMore) return list;
  const link = element("a", { href: linkTo("/undelivered") }, "See all undelivered messages");
  return [list, element("p", { class: "hint" }, "There are more endpoints. ", link, ".")];
}

/**
 * Describe why deliveries wait. While the endpoint's lane is closed, each delivery has its own reason.
 * @param {Context} context
 * @param {Row} row
 */
function details(context, { oldest, lane, label }) {
  const hasOwnReason = lane.standing === "enabled" && lane.phase === "closed";
  return [label.tone !== "good" && laneSentences(context, lane), hasOwnReason && oldestReason(context, oldest)];
}

/**
 * @param {Context} context
 * @param {{ reason: string, nextAt: string | null }} oldest
 */
function oldestReason(context, { reason, nextAt }) {
  const { label, meaning } = context.vocabulary.find("reasons", reason);
  const next = nextAt ? [" Next attempt ", due(nextAt), "."] : null;
  return element("p", {}, `Oldest delivery: ${label}. ${meaning}`, next);
}

/** @param {any[]} applications */
function applicationTable(applications) {
  return table("Applications", [
    { heading: "Name", cell: ({ id, name }) => element("a", { href: linkToApplication(id) }, quoted(name)) },
    { heading: "UID", cell: ({ uid }) => (uid ? code(uid) : "–") },
    { heading: "ID", cell: ({ id }) => code(id) },
    { heading: "Created", cell: ({ createdAt }) => time(createdAt) },
  ], applications, ({ id }) => id);
}

function noApplications() {
  return empty("No applications yet.", "An application is one of your customers. Create one with ",
    code('tarry app create --uid acme "Acme Ltd"'), ", and add an endpoint with ",
    code("tarry endpoint create acme https://acme.example/hooks"), ".");
}

/**
 * Show a form that opens an application by its ID or UID.
 * @param {Context} context
 */
function searchForm(context) {
  const label = "Application ID or UID";
  const onsubmit = (/** @type {SubmitEvent & { target: HTMLFormElement }} */ event) => {
    event.preventDefault();
    const text = event.target.querySelector("input")?.value.trim();
    if (text) context.go(linkToApplication(text));
  };
  return element("form", { class: "finder", onsubmit },
    element("input", { type: "search", placeholder: label, "aria-label": label }),
    element("button", {}, "Open"));
}
