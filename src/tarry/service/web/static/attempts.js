// @ts-check
// A table of attempts with their responses.

import { element } from "./dom.js";
import { linkToMessage } from "./links.js";
import { badge, quoted, table, time } from "./parts.js";

/** @typedef {import("./vocabulary.js").Label} Label */

const MANUAL = 1; // triggerType of an attempt that a user requested
const SHORT = 60; // characters

/**
 * An attempt, as the API returns it.
 * @typedef {object} Attempt
 * @property {string} id
 * @property {string} timestamp
 * @property {string} msgId
 * @property {string} endpointId
 * @property {number} status 0 for a success
 * @property {number} triggerType
 * @property {number} responseStatusCode 0 if there was no response
 * @property {number} responseDurationMs
 * @property {string} response
 * @property {{ eventType: string, eventId: string | null }} [msg]
 */

/**
 * Show attempts. With `application`, each has a link to its message.
 * @param {Attempt[]} attempts
 * @param {string | null} [application]
 */
export function attemptTable(attempts, application = null) {
  return table("Attempts", [
    { heading: "Time", cell: (attempt) => time(attempt.timestamp) },
    { heading: "Response", cell: (attempt) => badge(responseLabel(attempt)) },
    { heading: "Duration", cell: (attempt) => `${attempt.responseDurationMs} ms`, kind: "number" },
    application !== null && { heading: "Message", cell: (attempt) => messageLink(attempt, application) },
    { heading: "Response body", cell: responseBody },
  ], attempts, (attempt) => attempt.id);
}

/**
 * @param {Attempt} attempt
 * @param {string} application
 */
function messageLink({ msg, msgId }, application) {
  return [
    element("a", { href: linkToMessage(application, msgId) }, quoted(msg?.eventType ?? msgId)),
    element("small", {}, quoted(msg?.eventId ?? msgId)),
  ];
}

/**
 * @param {Attempt} attempt
 * @returns {Label}
 */
function responseLabel(attempt) {
  const status = String(attempt.responseStatusCode || "no response");
  const text = attempt.triggerType === MANUAL ? `${status}, manual` : status;
  return { text, tone: attempt.status === 0 ? "good" : "bad" };
}

/** @param {Attempt} attempt */
function responseBody({ response }) {
  if (!response) return element("span", { class: "hint" }, "empty");
  if (response.length < SHORT && !response.includes("\n")) return quoted(response, "body");
  const summary = element("summary", {}, quoted(response.slice(0, SHORT), "body"), "…");
  return element("details", {}, summary, element("pre", {}, response));
}
