// @ts-check
// Background tasks that the user started on this page, with their progress.

import { element } from "../dom.js";
import { badge, codes, time } from "../parts.js";

/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../vocabulary.js").Label} Label */
/** @typedef {{ id: string, status: string, data?: object }} Task the API's response */
/** @typedef {Task & { name: string, startedAt: string }} StartedTask */

const SHOWN = 3; // tasks of an endpoint
/** @type {Record<string, Label>} */
const LABELS = {
  running: { text: "running", tone: "care" },
  finished: { text: "finished", tone: "good" },
  failed: { text: "failed", tone: "bad" },
};
/** @type {Map<string, StartedTask[]>} */
const tasksByEndpoint = new Map();

/**
 * Remember a task that was started for an endpoint, and return a message about it.
 * @param {string} endpointId
 * @param {Task} task
 * @param {string} name
 */
export function addTask(endpointId, task, name) {
  const earlier = tasksByEndpoint.get(endpointId) ?? [];
  const started = { ...task, name, startedAt: new Date().toISOString() };
  tasksByEndpoint.set(endpointId, [started, ...earlier].slice(0, SHOWN));
  return `${name} started.`;
}

/**
 * Show the tasks of an endpoint. In the portal without progress: a tenant's key cannot read tasks.
 * @param {Context} context
 * @param {string} endpointId
 */
export async function taskList(context, endpointId) {
  const known = tasksByEndpoint.get(endpointId) ?? [];
  if (!known.length) return null;
  const tasks = context.isPortal ? known : await Promise.all(known.map((task) => updated(context, task)));
  tasksByEndpoint.set(endpointId, tasks);
  return element("ul", { class: "tasks" }, tasks.map((task) => element("li", { "data-key": task.id },
    badge(context.isPortal ? { text: "started", tone: "calm" } : LABELS[task.status]),
    ` ${task.name}, `, time(task.startedAt), ". ", result(context, task))));
}

/**
 * @param {Context} context
 * @param {StartedTask} task
 * @returns {Promise<StartedTask>}
 */
async function updated(context, task) {
  if (task.status !== "running") return task;
  return { ...task, ...(await context.api.get(`/background-task/${task.id}`)) };
}

/**
 * @param {Context} context
 * @param {StartedTask} task
 */
function result(context, { data }) {
  if (context.isPortal) return "The list below shows its attempts.";
  return codes(Object.entries(data ?? {}).map(([name, value]) => `${name}: ${value}`));
}
