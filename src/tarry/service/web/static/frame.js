// @ts-check
// The frame around every view: the bar at the top, the age of the data, and the present problem.

import { byId, element, show } from "./dom.js";
import { linkTo, linkToApplication } from "./links.js";
import { mainViews } from "./routes.js";
import { formatDuration } from "./times.js";

let updatedAt = 0; // milliseconds
let isStale = false;

/**
 * Show the bar with links to the main pages; before the user has signed in, only with the brand.
 * @param {{ appId: string | null, isPortal: boolean, signOut: () => void, hash: string } | null} session
 */
export function showBar(session) {
  const icon = element("img", { src: "/web/icon.svg", alt: "", width: 22, height: 22 });
  const brand = element("a", { class: "brand", href: session ? linkTo("/") : "/" }, icon, "tarry");
  if (!session) {
    show(byId("bar"), brand);
    return;
  }
  const [current] = (session.hash || "#/").split("?");
  const links = mainLinks(session).map(({ href, text }) =>
    element("a", { href, "aria-current": href === current ? "page" : null }, text));
  show(byId("bar"), brand,
    element("nav", { "aria-label": "Main" }, links),
    element("span", { id: "updated" }, age()),
    element("button", { type: "button", class: "plain", onclick: session.signOut }, "Sign out"));
}

/** @param {{ appId: string | null, isPortal: boolean }} session */
function mainLinks({ appId, isPortal }) {
  if (isPortal) return [{ href: linkToApplication(appId ?? ""), text: "Your webhooks" }];
  const views = mainViews().map(({ view, text }) => ({ href: linkTo(view), text }));
  return [...views, { href: "/docs", text: "API" }];
}

/** Record that the page shows the state of now. */
export function setUpdated() {
  updatedAt = Date.now();
  redraw();
}

/**
 * Show why the page cannot be refreshed; null if it can.
 * @param {string | null} text
 */
export function showProblem(text) {
  isStale = text !== null;
  show(byId("problem"), text && element("p", {}, element("strong", {}, text), ". This page shows the state of ",
    element("span", { id: "stale" }, age()), ". It retries every few seconds."));
  redraw();
}

function age() {
  if (!updatedAt) return "";
  const seconds = Math.floor((Date.now() - updatedAt) / 1000);
  return seconds < 2 ? "just now" : `${formatDuration(seconds)} ago`;
}

function redraw() {
  const updated = document.getElementById("updated");
  if (updated) {
    updated.className = isStale ? "stale" : "";
    updated.textContent = updatedAt ? `updated ${age()}` : "";
  }
  const stale = document.getElementById("stale");
  if (stale) stale.textContent = age();
}

setInterval(redraw, 1000);
