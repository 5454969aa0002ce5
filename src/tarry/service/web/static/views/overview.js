// The first thing an operator sees: what waits and why, and all applications.

import { toApplication, toEndpoint, to } from "../address.js";
import { way } from "../api.js";
import { el } from "../dom.js";
import { laneOf } from "../lanes.js";
import { ahead, badge, code, empty, heading, lane as sentences, pager, quoted, table, time } from "../parts.js";
import { now, seconds } from "../when.js";
import { REASONS, laneState, number } from "../words.js";

const MOST = 30;
const YOUNG = 10; // seconds; what waits no longer in a lane that is well is no news
const ORDER = ["bad", "care", "calm", "good"];

export async function overview(c) {
  if (c.query.page) return { title: "Applications", nodes: [heading("Applications"), ...(await listed(c))] };
  const [health, found, failed, apps] = await Promise.all([
    healthy(c),
    waiting(c),
    c.api.get("/undelivered", { state: "failed", first_of_each: true, limit: MOST }),
    listed(c),
  ]);
  return {
    title: "Overview",
    nodes: [
      heading("Overview"),
      tiles(health, found, failed),
      el("section", {}, el("h2", {}, "What waits, and why"), trouble(found)),
      el("section", {}, el("h2", {}, "Applications"), apps),
    ],
  };
}

/** A page of the applications: whoever turns it looks for one of them, not for what waits. */
async function listed(c) {
  const iterator = c.query.page;
  const apps = await c.api.get("/app", { limit: 20, order: "descending", iterator });
  return [finder(c), applications(apps), pager(apps, iterator, (page) => to("/", { page }))];
}

/** Whether messages are taken. */
async function healthy(c) {
  try {
    await c.api.text("GET", "/health");
    return tile("Ready", "messages are taken and kept", "good");
  } catch (error) {
    if (error.status !== 503) throw error;
    return tile("Not ready", "the database cannot be written to; the server's log says why", "bad");
  }
}

/** The lanes that something waits in, the worst first. */
async function waiting(c) {
  const page = await c.api.get("/undelivered", { state: "live", first_of_each: true, limit: MOST });
  const rows = await Promise.all(page.data.map(async (head) => {
    const path = way`/app/${head.appId}/endpoint/${head.endpointId}`;
    const [lane, app, endpoint] = await Promise.all([
      laneOf(c, head.appId, head.endpointId), c.known.at(way`/app/${head.appId}`), c.known.at(path),
    ]);
    return { head, lane, app, endpoint, state: laneState(lane) };
  }));
  const news = rows.filter((one) => one.state[1] !== "good" || now() - seconds(one.head.acceptedAt) > YOUNG);
  news.sort((one, other) => ORDER.indexOf(one.state[1]) - ORDER.indexOf(other.state[1])
    || other.lane.backlog - one.lane.backlog);
  return { rows: news, more: !page.done };
}

function tiles(health, { rows, more }, failed) {
  const sum = rows.reduce((all, one) => all + one.lane.backlog, 0);
  const ill = rows.filter((one) => one.state[1] !== "good").length;
  const plus = more ? "+" : "";
  return el("div", { class: "tiles" },
    health,
    tile(number(sum) + plus, "deliveries wait", sum ? "care" : "good"),
    tile(number(ill) + plus, ill === 1 ? "endpoint in trouble" : "endpoints in trouble", ill ? "bad" : "good"),
    el("a", { class: "tile", href: to("/undelivered", { state: "failed" }) }, failures(failed)));
}

/** At how many endpoints something failed; behind a great many that wait, it takes a while to find out. */
function failures({ data, done }) {
  if (!data.length && !done) return [el("strong", {}, "?"), "failed deliveries: so much waits that it takes a while to look"];
  return [el("strong", { class: data.length ? "bad" : "good" }, number(data.length) + (done ? "" : "+")),
    data.length === 1 ? "endpoint with failed deliveries" : "endpoints with failed deliveries"];
}

function tile(value, text, tone) {
  return el("div", { class: "tile" }, el("strong", { class: tone }, value), text);
}

function trouble({ rows, more }) {
  if (!rows.length) return empty("Nothing waits.", "What was accepted has been settled, or is being sent right now.");
  const list = table("Endpoints that something waits for", [
    ["Endpoint", (one) => [el("a", { href: toEndpoint(one.head.appId, one.head.endpointId) },
      quoted(one.endpoint?.url ?? one.head.endpointId, "url")), el("small", {}, quoted(one.app?.name ?? one.head.appId))]],
    ["State", (one) => badge(one.state)],
    ["Waiting", (one) => number(one.lane.backlog), "number"],
    ["Oldest", (one) => time(one.head.acceptedAt)],
    ["Why", (one) => el("div", { class: "why" }, why(one))],
  ], rows, (one) => one.head.endpointId);
  return more ? [list, el("p", { class: "hint" }, "There are more: ", el("a", { href: to("/undelivered") }, "all that is undelivered"), ".")] : list;
}

/** What is wrong with an endpoint; if it may be well, what waits has a reason of its own. */
function why({ head, lane, state }) {
  const own = lane.standing === "enabled" && lane.phase === "closed";
  return [state[1] !== "good" && sentences(lane), own && oldest(head)];
}

function oldest({ reason, nextAt }) {
  return el("p", {}, `The oldest: ${reason}, ${REASONS[reason] ?? ""}`, nextAt ? [", next ", ahead(nextAt)] : null, ".");
}

function applications(apps) {
  if (!apps.data.length) {
    return empty("No application yet.", "An application is a customer of yours. Make one with ",
      code('tarry app create --uid acme "Acme Ltd"'), ", and give it an endpoint with ",
      code("tarry endpoint create acme https://acme.example/hooks"), ".");
  }
  return table("Applications", [
    ["Name", (one) => el("a", { href: toApplication(one.id) }, quoted(one.name))],
    ["Your id", (one) => (one.uid ? code(one.uid) : "–")],
    ["Id", (one) => code(one.id)],
    ["Made", (one) => time(one.createdAt)],
  ], apps.data, (one) => one.id);
}

/** Goes to an application by its id, as there may be thousands. */
function finder(c) {
  const go = (event) => {
    event.preventDefault();
    const typed = event.target.querySelector("input").value.trim();
    if (typed) c.go(toApplication(typed));
  };
  return el("form", { class: "finder", onsubmit: go },
    el("input", { type: "search", placeholder: "Application id, or yours", "aria-label": "Application id, or yours" }),
    el("button", {}, "Open"));
}
