// Starts the page: lets somebody in, shows the view of the address, and keeps it fresh.

import { Api, Refused, Silent } from "./api.js";
import { toApplication, to } from "./address.js";
import { bar, told, trouble } from "./frame.js";
import { ask, dismiss } from "./dialog.js";
import { el, show } from "./dom.js";
import { Known } from "./known.js";
import { tick } from "./parts.js";
import { find } from "./routes.js";
import { forget, goToPortal, isPortal, keep, kept, takeToken } from "./session.js";
import { signIn } from "./views/sign_in.js";

const EVERY = 5000;
const main = document.getElementById("main");
let session = null; // who looks, once they were let in
let showing = 0; // counts what was asked for last: what comes late is not shown
let timer = null;

/** Tries a key; gives null if it opens, or what is wrong with it. What says nothing of the key is thrown. */
async function enter(key) {
  if (!/^[\x21-\x7e]+$/.test(key)) return "A key has no spaces and no letters beyond ASCII: copy it once more.";
  const api = new Api(key);
  try {
    const who = await api.get("/auth/whoami");
    if (who.appId && !isPortal) return goToPortal(key);
    if (!who.appId && isPortal) return "This is a key to more than one application: use it at /dashboard.";
    keep(key);
    session = { api, who, known: new Known(api) };
    return null;
  } catch (error) {
    if (error.status === 403) return `${error.message}.`;
    if (error.status !== 401) throw error;
    return isPortal
      ? "The link that you came by opens nothing any more."
      : "No such key is known here, or it was revoked, or its time is over. Check that all of it was copied.";
  }
}

async function typed(key) {
  const said = await enter(key).catch((error) => `${error.message}.`);
  await refresh();
  return said;
}

function leave(said = null) {
  forget();
  session = null;
  clearTimeout(timer);
  dismiss();
  showing += 1;
  document.title = "tarry";
  trouble(null);
  bar(null);
  show(main, el("div", { "data-key": "sign-in" }, signIn(typed, said)));
  main.querySelector("input")?.focus();
}

async function signOut() {
  const sure = !isPortal || (await ask("Sign out?", ["The link that you came by will open nothing any more."], "Sign out"));
  if (!sure) return;
  if (isPortal) await session.api.post("/auth/logout").catch(() => null);
  leave();
}

function home() {
  return isPortal && session ? toApplication(session.who.appId) : to("/");
}

/** Shows the view of the address, as things are now, and once more in a while. */
async function refresh() {
  clearTimeout(timer);
  if (!session) return null; // somebody signed out meanwhile
  const mine = (showing += 1);
  const known = find(location.hash || "#/");
  if (isPortal && (!known || known.key === "#/")) {
    history.replaceState(null, "", home());
    return refresh();
  }
  bar({ session, isPortal, signOut, hash: location.hash });
  let wait = EVERY;
  try {
    const drawn = known ? await known.view(context(known)) : lost();
    if (mine === showing) draw(known?.key ?? "lost", drawn);
  } catch (error) {
    if (mine !== showing) return null;
    wait = Math.max(wait, (error.retryAfter ?? 0) * 1000);
    if (error instanceof Refused && error.status === 401) return leave(`The ${isPortal ? "link that you came by" : "key"} opens nothing any more: it was revoked, or its time is over.`);
    failed(known?.key ?? "lost", error);
  }
  if (mine === showing) timer = setTimeout(() => (document.hidden ? null : refresh()), wait);
  return null;
}

function context({ names, query }) {
  const may = (need) => session.who.may.includes(need);
  const go = (hash) => { location.hash = hash; };
  return { ...session, names, query, may, isPortal, go, refresh };
}

function draw(key, { title, nodes }) {
  const turned = main.firstElementChild?.getAttribute("data-key") !== key;
  document.title = `${title} – tarry`;
  show(main, el("div", { "data-key": key }, nodes));
  if (turned) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
  trouble(null);
  told(Date.now());
}

/** What cannot be shown is said where it would be; what is shown already stays, with a word above. */
function failed(key, error) {
  const there = main.firstElementChild?.getAttribute("data-key") === key;
  const known = error instanceof Refused || error instanceof Silent;
  if (!known) console.error(error);
  const text = known ? error.message : `this page has a fault: ${error.message}`;
  if (there && error.status !== 404) return trouble(text);
  trouble(null);
  return show(main, el("div", { "data-key": "failed" }, el("h1", {}, error.status === 404 ? "Not found" : "It cannot be shown"),
    el("p", { class: "problem" }, `${text}.`), advice(error), el("p", {}, el("a", { href: home() }, "Back to the start"))));
}

function advice(error) {
  if (error.status === 403) return el("p", {}, isPortal ? "The link that you came by does not open this." : "Sign in with a key that does.");
  if (error.status === 404) return el("p", {}, "It was deleted, or its id is another one.");
  if (error.status === 422 || error.status === 501) return el("p", {}, "The address is not right: it may have been cut short.");
  if (error.status === 429) return el("p", {}, "The server lets this key ask only so often; the page waits, and tries again.");
  return el("p", {}, "The page tries again by itself.");
}

function lost() {
  return { title: "Not found", nodes: [el("h1", {}, "Not found"), el("p", {}, "There is no such page. ",
    el("a", { href: home() }, "Back to the start"))] };
}

/** Comes in with the key that is kept. While the server cannot tell whether it opens, it is kept and tried again. */
async function start() {
  session = null;
  clearTimeout(timer);
  takeToken();
  const key = kept();
  try {
    const said = key ? await enter(key) : null;
    if (session) await refresh();
    else leave(said);
  } catch (error) {
    bar(null);
    failed("start", error);
    timer = setTimeout(start, EVERY);
  }
}

addEventListener("hashchange", () => {
  dismiss();
  if (takeToken()) start();
  else if (session) refresh();
});
addEventListener("visibilitychange", () => (session && !document.hidden ? refresh() : null));
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault(); // an address means a view here
  main.focus();
};
setInterval(tick, 1000);
start();
