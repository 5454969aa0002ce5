// @ts-check
// The state of sending to an endpoint: reads it from the API and describes it.

import { path } from "./api.js";
import { element } from "./dom.js";
import { distance, due, time } from "./parts.js";
import { formatCount, formatNumber } from "./vocabulary.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {import("./main.js").Context} Context */

/**
 * The API's response. The vocabulary has words for its state.
 * @typedef {object} Lane
 * @property {string} state
 * @property {"closed" | "open" | "paced"} phase
 * @property {"endpoint" | "application" | "origin"} scope
 * @property {"enabled" | "paused" | "disabled" | "parked" | "deleted"} standing
 * @property {number} backlog
 * @property {number | null} pace
 * @property {number | null} capacity
 * @property {number} failures
 * @property {string | null} acceptedAt
 * @property {string | null} failingSince
 * @property {string | null} downSince
 * @property {string | null} probeAt
 * @property {string | null} doneAt
 * @property {string | null} failedAt
 */

const SHARED = "Several endpoints of this application at this host are affected.";
const WHOLE_HOST = "The whole host is affected.";

/**
 * Read an endpoint's lane.
 * @param {Context} context
 * @param {string} application
 * @param {string} endpoint
 * @returns {Promise<Lane>}
 */
export function readLane(context, application, endpoint) {
  return context.api.get(path`/app/${application}/endpoint/${endpoint}/lane`);
}

/**
 * @param {Context} context
 * @param {Lane} lane
 */
export function laneLabel(context, lane) {
  return context.vocabulary.label("lanes", lane.state);
}

/**
 * Describe a lane in a few sentences, each an element.
 * @param {Context} context
 * @param {Lane} lane
 */
export function laneSentences(context, lane) {
  return sentences(context, lane).map((sentence) => element("p", {}, sentence));
}

/**
 * @param {Context} context
 * @param {Lane} lane
 * @returns {Child[][]}
 */
function sentences(context, lane) {
  const { meaning } = context.vocabulary.find("lanes", lane.state);
  switch (lane.state) {
    case "open":
      return [down(lane), ...waiting(lane, " The outage does not use up their attempts."), ...scope(context, lane)];
    case "paced":
      return [recovering(lane), ...scope(context, lane)];
    case "failing":
      return [["The last attempt failed ", time(lane.failedAt), `. ${meaning}`], ...waiting(lane)];
    case "closed":
      return lane.backlog ? [[meaning], ...waiting(lane)] : [["No deliveries are waiting."]];
    default:
      return [[meaning], ...waiting(lane)];
  }
}

/**
 * Tell how long an outage lasts. A lane may have closed and opened again since the first failure.
 * @param {Lane} lane
 * @returns {Child[]}
 */
function down(lane) {
  const [first] = [lane.failingSince, lane.downSince].filter((timestamp) => timestamp !== null).sort();
  return [
    first ? ["Down for ", distance(first), "."] : "Down.",
    lane.probeAt ? [" Next probe ", due(lane.probeAt), "."] : null,
  ];
}

/**
 * @param {Lane} lane
 * @returns {Child[]}
 */
function recovering(lane) {
  const deliveries = lane.backlog === 1 ? "waiting delivery" : `${formatNumber(lane.backlog)} waiting deliveries`;
  return [
    `Recovering: sending the ${deliveries}`,
    lane.pace ? ` at ${formatNumber(lane.pace)}/s` : null,
    lane.doneAt ? [", done in about ", distance(lane.doneAt)] : null,
    ".",
  ];
}

/**
 * @param {Lane} lane
 * @param {string} [more]
 * @returns {Child[][]}
 */
function waiting(lane, more = "") {
  if (!lane.backlog) return [];
  return [[`${formatCount(lane.backlog, "delivery is", "deliveries are")} waiting.${more}`]];
}

/**
 * Tell what else is affected. Tenants learn nothing about endpoints of others.
 * @param {Context} context
 * @param {Lane} lane
 * @returns {Child[][]}
 */
function scope(context, lane) {
  if (lane.scope === "application") return [[SHARED]];
  return lane.scope === "origin" && !context.isPortal ? [[WHOLE_HOST]] : [];
}
