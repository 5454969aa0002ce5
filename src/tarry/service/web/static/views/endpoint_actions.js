// What can be done about an endpoint. Each asks first, and says what it did.

import { ask, say, since } from "../dialog.js";
import { el } from "../dom.js";
import { button } from "../parts.js";
import { now } from "../when.js";
import { count } from "../words.js";
import { started } from "./tasks.js";

/** Buttons for what this key may do with an endpoint as it stands. */
export function actions(c, path, endpoint, lane) {
  const enabled = endpoint.standing === "enabled";
  const paused = endpoint.standing === "paused";
  const all = [
    c.may("endpoints") && enabled && button("Pause…", () => pause(c, path)),
    c.may("endpoints") && !enabled && endpoint.standing !== "deleted"
      && button(paused ? "Resume…" : "Enable…", () => resume(c, path, lane, paused), "primary"),
    c.may("attempts") && enabled && lane.phase === "open" && button("Probe now…", () => probe(c, path), "primary"),
    c.may("attempts") && button("Recover…", () => recover(c, path, endpoint)),
    c.may("attempts") && button("Replay missing…", () => replay(c, path, endpoint)),
  ].filter(Boolean);
  return all.length ? el("div", { class: "buttons" }, all) : null;
}

/** Does something, says that it was done or why it was not, and shows how things are now. */
export async function doing(c, work, done) {
  try {
    const answer = await work();
    say(typeof done === "function" ? done(answer) : done);
  } catch (error) {
    say(`It was not done: ${error.message}.`, "bad");
  }
  c.known.forget();
  await c.refresh();
}

async function pause(c, path) {
  const text = ["Nothing is sent to it until it is resumed. Messages that come in wait, and get older meanwhile: those that"
    + " are older than their policy allows are given up."];
  if (!(await ask("Pause this endpoint?", text, "Pause"))) return;
  await doing(c, () => c.api.post(`${path}/pause`), "It is paused: nothing is sent to it.");
}

async function resume(c, path, lane, paused) {
  const waits = lane.backlog ? `${count(lane.backlog, "delivery goes", "deliveries go")} to it, at a pace that it can take.` : "Messages go to it again.";
  if (!(await ask(paused ? "Resume sending?" : "Enable this endpoint?", [waits], paused ? "Resume" : "Enable"))) return;
  await doing(c, () => c.api.post(`${path}/resume`), "Messages go to it again.");
}

async function probe(c, path) {
  const text = ["One message that waits is sent at once, to see whether the endpoint takes it. If it does, the others follow at a pace."];
  if (!(await ask("Try it now?", text, "Probe now"))) return;
  await doing(c, () => c.api.post(`${path}/probe`), "A probe is on its way.");
}

async function recover(c, path, endpoint) {
  const text = ["What failed is delivered again, and what failed and waits for its next attempt is brought forward; all of it at a pace that the endpoint can take."];
  const told = await ask("Recover what failed?", text, "Recover", [since(now())]);
  if (!told) return;
  await doing(c, () => c.api.post(`${path}/recover`, told), (task) => started(c, endpoint, task, "Recovery"));
}

async function replay(c, path, endpoint) {
  const text = ["Messages that were never sent to this endpoint are sent to it: those from before it was made, and those that came while it was disabled."];
  const told = await ask("Replay what is missing?", text, "Replay", [since(now())]);
  if (!told) return;
  await doing(c, () => c.api.post(`${path}/replay-missing`, told), (task) => started(c, endpoint, task, "Replay"));
}
