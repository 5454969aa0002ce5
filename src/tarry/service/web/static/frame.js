// What is around every view: the bar on top, when the page was last fresh, and what is wrong.

import { to, toApplication } from "./address.js";
import { el, show } from "./dom.js";
import { long } from "./when.js";

let fresh = 0;
let silent = false;

/** The bar: where one can go, and who looks; null before they were let in. */
export function bar(now) {
  const place = document.getElementById("bar");
  const brand = el("a", { class: "brand", href: now ? to("/") : "/" }, el("img", { src: "/web/icon.svg", alt: "", width: 22, height: 22 }), "tarry");
  if (!now) return show(place, brand);
  const at = (now.hash || "#/").split("?")[0];
  const here = (path) => (at === path ? "page" : null);
  const links = now.isPortal
    ? [[toApplication(now.session.who.appId), "Your webhooks"]]
    : [[to("/"), "Overview"], [to("/undelivered"), "Undelivered"], ["/docs", "API"]];
  return show(place, brand,
    el("nav", { "aria-label": "Main" }, links.map(([href, text]) => el("a", { href, "aria-current": here(href) }, text))),
    el("span", { id: "fresh" }, since()),
    el("button", { type: "button", class: "plain", onclick: now.signOut }, "Sign out"));
}

/** Everything that is shown is as it was at this time. */
export function told(at) {
  fresh = at;
  redraw();
}

/** What is wrong, above what is shown; null once it is not any more. */
export function trouble(text) {
  silent = text !== null;
  const place = document.getElementById("trouble");
  show(place, text && el("p", {}, el("strong", {}, text), ". What is shown is as it was ", el("span", { id: "stale" }, since()),
    "; the page tries again every few seconds."));
  redraw();
}

function since() {
  if (!fresh) return "";
  const off = Math.floor((Date.now() - fresh) / 1000);
  return off < 2 ? "just now" : `${long(off)} ago`;
}

function redraw() {
  const place = document.getElementById("fresh");
  if (place) {
    place.className = silent ? "stale" : "";
    place.textContent = fresh ? `updated ${since()}` : "";
  }
  const stale = document.getElementById("stale");
  if (stale) stale.textContent = since();
}

setInterval(redraw, 1000);
