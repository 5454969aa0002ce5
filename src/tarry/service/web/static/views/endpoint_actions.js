// What can be done about an endpoint. Each asks first, and says what it did.

import { ask, say, since } from "../dialog.js";
import { el } from "../dom.js";
import { button, quoted } from "../parts.js";
import { now } from "../when.js";
import { count } from "../words.js";
import { started } from "./tasks.js";

/** Buttons for what this key may do with an endpoint as it stands. */
export function actions(c, path, endpoint, lane) {
  const enabled = endpoint.standing === "enabled";
  const paused = endpoint.standing === "paused";
  const all = [
    c.may("endpoints") && enabled && button("Pause…", () => pause(c, path, endpoint)),
    c.may("endpoints") && !enabled && endpoint.standing !== "deleted"
      && button(paused ? "Resume…" : "Enable…", () => resume(c, path, endpoint, lane), "primary"),
    c.may("attempts") && enabled && (lane.phase === "open" || lane.failedAt) && button("Probe now…", () => probe(c, path, endpoint), "primary"),
    c.may("attempts") && button("Recover…", () => recover(c, path, endpoint)),
    c.may("attempts") && button("Replay missing…", () => replay(c, path, endpoint)),
  ].filter(Boolean);
  return all.length ? el("div", { class: "buttons" }, all) : null;
}

const SOON = 1000;

/** Does something, says that it was done or why it was not, and shows how things are now and soon. */
export async function doing(c, work, done) {
  try {
    const answer = await work();
    say(typeof done === "function" ? done(answer) : done);
  } catch (error) {
    say(`It was not done: ${error.message}.`, "bad");
  }
  c.known.forget();
  await c.refresh();
  setTimeout(c.refresh, SOON);
}

/** Which endpoint it is about: it may be late at night. */
function name(endpoint) {
  return quoted(endpoint.url, "url");
}

async function pause(c, path, endpoint) {
  const text = ["Nothing is sent to it until it is resumed. Messages that come in wait, and get older meanwhile: those that"
    + " are older than their policy allows are given up.", name(endpoint)];
  if (!(await ask("Pause this endpoint?", text, "Pause"))) return;
  await doing(c, () => c.api.post(`${path}/pause`), "It is paused: nothing is sent to it.");
}

async function resume(c, path, endpoint, lane) {
  const waits = lane.backlog ? `${count(lane.backlog, "delivery goes", "deliveries go")} to it, at a pace that it can take.` : "Messages go to it again.";
  const [title, yes] = endpoint.standing === "paused" ? ["Resume sending?", "Resume"] : ["Enable this endpoint?", "Enable"];
  if (!(await ask(title, [waits, name(endpoint)], yes))) return;
  await doing(c, () => c.api.post(`${path}/resume`), "Messages go to it again.");
}

async function probe(c, path, endpoint) {
  const text = ["One message that waits is sent at once, to see whether the endpoint takes it. If it does, the others follow at a pace.",
    name(endpoint)];
  if (!(await ask("Try it now?", text, "Probe now"))) return;
  await doing(c, () => c.api.post(`${path}/probe`), "A probe is on its way.");
}

async function recover(c, path, endpoint) {
  const text = ["What failed is delivered again, and what failed and waits for its next attempt is brought forward; all of it at a pace that the endpoint can take.",
    name(endpoint)];
  const told = await ask("Recover what failed?", text, "Recover", [since(now())]);
  if (!told) return;
  await doing(c, () => c.api.post(`${path}/recover`, told), (task) => started(c, endpoint, task, "Recovery"));
}

async function replay(c, path, endpoint) {
  const text = ["Messages that were never sent to this endpoint are sent to it: those from before it was made, and those that came while it was disabled.",
    name(endpoint)];
  const told = await ask("Replay what is missing?", text, "Replay", [since(now())]);
  if (!told) return;
  await doing(c, () => c.api.post(`${path}/replay-missing`, told), (task) => started(c, endpoint, task, "Replay"));
}
