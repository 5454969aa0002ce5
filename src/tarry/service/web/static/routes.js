// @ts-check
// Finds the view for an address such as `#/app/ID/endpoint/ID?page=...`, and lists those that the bar links to.

import { applicationPage } from "./views/application.js";
import { auditPage } from "./views/audit.js";
import { endpointPage } from "./views/endpoint.js";
import { endpointMessagesPage } from "./views/endpoint_messages.js";
import { messagePage } from "./views/message.js";
import { applicationMessagesPage } from "./views/messages.js";
import { overviewPage } from "./views/overview.js";
import { applicationUndeliveredPage, undeliveredPage } from "./views/undelivered.js";

/** @typedef {import("./main.js").View} View */

/** @type {{ pattern: string, view: View, link?: string }[]} `link` is the text of the dashboard's link in the bar */
const VIEWS = [
  { pattern: "", view: overviewPage, link: "Overview" },
  { pattern: "undelivered", view: undeliveredPage, link: "Undelivered" },
  { pattern: "audit", view: auditPage, link: "Audit trail" },
  { pattern: "app/:app", view: applicationPage },
  { pattern: "app/:app/msg", view: applicationMessagesPage },
  { pattern: "app/:app/undelivered", view: applicationUndeliveredPage },
  { pattern: "app/:app/endpoint/:endpoint", view: endpointPage },
  { pattern: "app/:app/endpoint/:endpoint/msg", view: endpointMessagesPage },
  { pattern: "app/:app/msg/:message", view: messagePage },
];

/**
 * A view, with the names in the path and the query of its address.
 * @typedef {{ view: View, names: Record<string, string>, query: Record<string, string>, key: string }} Route
 */

/**
 * Return the route of an address, or null if there is no such view.
 * @param {string} hash
 * @returns {Route | null}
 */
export function findRoute(hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/");
  for (const { pattern, view } of VIEWS) {
    const names = match(pattern.split("/"), parts);
    if (names) return { view, names, query: Object.fromEntries(new URLSearchParams(search ?? "")), key: hash };
  }
  return null;
}

/** Return the views that the bar of the dashboard links to, with the texts of the links. */
export function mainViews() {
  return VIEWS.flatMap(({ pattern, link }) => (link ? [{ view: `/${pattern}`, text: link }] : []));
}

/**
 * @param {string[]} pattern
 * @param {string[]} parts
 */
function match(pattern, parts) {
  if (pattern.length !== parts.length) return null;
  /** @type {Record<string, string>} */
  const names = {};
  for (const [index, part] of pattern.entries()) {
    if (part.startsWith(":")) names[part.slice(1)] = decode(parts[index]);
    else if (part !== parts[index]) return null;
  }
  return Object.values(names).includes("") ? null : names;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
