// @ts-check
// Actions on an endpoint. Each asks for confirmation, and shows its result.

import { ask, notify, sinceField } from "../dialog.js";
import { element } from "../dom.js";
import { button, quoted } from "../parts.js";
import { now } from "../times.js";
import { formatCount } from "../vocabulary.js";
import { addTask } from "./tasks.js";

/** @typedef {import("../lanes.js").Lane} Lane */
/** @typedef {import("../main.js").Context} Context */
/** @typedef {{ id: string, url: string, standing: Lane["standing"] }} Endpoint */

const SOON = 1000; // milliseconds

/**
 * Show buttons for the actions that the key allows in the endpoint's state.
 * @param {Context} context
 * @param {string} view the path of the endpoint
 * @param {Endpoint} endpoint
 * @param {Lane} lane
 */
export function actionButtons(context, view, endpoint, lane) {
  const isEnabled = endpoint.standing === "enabled";
  const isStopped = !isEnabled && endpoint.standing !== "deleted";
  const canProbe = isEnabled && (lane.phase === "open" || lane.failedAt);
  const resumeText = endpoint.standing === "paused" ? "Resume…" : "Enable…";
  const mayChange = context.may("endpoints");
  const maySend = context.may("attempts");
  const buttons = [
    mayChange && isEnabled && button("Pause…", () => pause(context, view, endpoint)),
    mayChange && isStopped && button(resumeText, () => resume(context, view, endpoint, lane), "primary"),
    maySend && canProbe && button("Probe now…", () => probe(context, view, endpoint), "primary"),
    maySend && button("Recover…", () => recover(context, view, endpoint)),
    maySend && button("Replay missing…", () => replay(context, view, endpoint)),
  ].filter((shown) => shown instanceof Node);
  return buttons.length ? element("div", { class: "buttons" }, buttons) : null;
}

/**
 * Do something, show its result or why it failed, and refresh the page now and once more soon.
 * @param {Context} context
 * @param {() => Promise<any>} work
 * @param {string | ((result: any) => string)} message
 */
export async function perform(context, work, message) {
  try {
    const result = await work();
    notify(typeof message === "function" ? message(result) : message);
  } catch (error) {
    notify(`This failed: ${error instanceof Error ? error.message : error}.`, "bad");
  }
  context.cache.clear();
  await context.refresh();
  setTimeout(context.refresh, SOON);
}

/**
 * Ask for confirmation of an action on an endpoint, and show the endpoint's URL to avoid mistakes.
 * @param {Endpoint} endpoint
 * @param {string} title
 * @param {string} text
 * @param {string} action
 * @param {import("../dialog.js").Field[]} [fields]
 */
function confirmAction(endpoint, title, text, action, fields = []) {
  return ask(title, [text, quoted(endpoint.url, "url")], action, fields);
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {Endpoint} endpoint
 */
async function pause(context, view, endpoint) {
  const text = "Nothing is sent to this endpoint until you resume it. New messages wait, and their age grows."
    + " Messages that become older than their policy allows fail.";
  if (!(await confirmAction(endpoint, "Pause this endpoint?", text, "Pause"))) return;
  await perform(context, () => context.api.post(`${view}/pause`), "Paused. Nothing is sent to this endpoint.");
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {Endpoint} endpoint
 * @param {Lane} lane
 */
async function resume(context, view, endpoint, lane) {
  const verb = endpoint.standing === "paused" ? "Resume" : "Enable";
  const waiting = formatCount(lane.backlog, "delivery is", "deliveries are");
  const text = lane.backlog
    ? `${waiting} waiting. They are sent at a rate that the endpoint can handle.`
    : "New messages are sent to this endpoint again.";
  if (!(await confirmAction(endpoint, `${verb} this endpoint?`, text, verb))) return;
  await perform(context, () => context.api.post(`${view}/resume`), `${verb}d. Messages are sent to this endpoint.`);
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {Endpoint} endpoint
 */
async function probe(context, view, endpoint) {
  const text = "One waiting message is sent now. If the endpoint accepts it, the others follow at a rate that the"
    + " endpoint can handle.";
  if (!(await confirmAction(endpoint, "Probe this endpoint now?", text, "Probe now"))) return;
  await perform(context, () => context.api.post(`${view}/probe`), "Probe requested.");
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {Endpoint} endpoint
 */
async function recover(context, view, endpoint) {
  const text = "Failed messages are delivered again, and deliveries that wait for a retry are sent now. All are sent at"
    + " a rate that the endpoint can handle.";
  const span = await confirmAction(endpoint, "Recover failed messages?", text, "Recover", [sinceField(now())]);
  if (!span) return;
  await perform(context, () => context.api.post(`${view}/recover`, span),
    (task) => addTask(endpoint.id, task, "Recovery"));
}

/**
 * @param {Context} context
 * @param {string} view
 * @param {Endpoint} endpoint
 */
async function replay(context, view, endpoint) {
  const text = "Messages that were never sent to this endpoint are sent now: those from before it was created, and"
    + " those that arrived while it was disabled.";
  const span = await confirmAction(endpoint, "Replay missing messages?", text, "Replay", [sinceField(now())]);
  if (!span) return;
  await perform(context, () => context.api.post(`${view}/replay-missing`, span),
    (task) => addTask(endpoint.id, task, "Replay"));
}
