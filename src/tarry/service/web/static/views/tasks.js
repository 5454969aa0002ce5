// Work in the background that was asked for on this page, and how far it is.

import { el } from "../dom.js";
import { badge, code, time } from "../parts.js";

const STATUSES = { running: ["running", "care"], finished: ["finished", "good"], failed: ["failed", "bad"] };
const kept = new Map(); // endpoints' ids, and what was started for them in this tab

/** Remembers a task that was started; gives words for it. */
export function started(c, endpoint, task, name) {
  kept.set(endpoint.id, [{ ...task, name, at: new Date().toISOString() }, ...(kept.get(endpoint.id) ?? [])].slice(0, 3));
  return `${name} has been started.`;
}

/** What was started for an endpoint; a token to one application may not ask how far it is. */
export async function tasks(c, endpoint) {
  const mine = kept.get(endpoint.id) ?? [];
  if (!mine.length) return null;
  const now = c.isPortal ? mine : await Promise.all(mine.map(async (one) => (one.status === "running"
    ? { ...one, ...(await c.api.get(`/background-task/${one.id}`)) } : one)));
  kept.set(endpoint.id, now);
  return el("ul", { class: "tasks" }, now.map((one) => el("li", { "data-key": one.id },
    c.isPortal ? badge(["started", "calm"]) : badge(STATUSES[one.status]), ` ${one.name}, `, time(one.at), outcome(c, one))));
}

function outcome(c, one) {
  if (c.isPortal) return ". What it sends is among the attempts.";
  const said = Object.entries(one.data ?? {});
  return said.length ? [". ", said.map(([name, value]) => [code(`${name}: ${value}`), " "])] : ".";
}
