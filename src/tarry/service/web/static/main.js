// @ts-check
// Starts the page: signs the user in, shows the view of the address, and refreshes it.

import { Api, NoResponse, RequestError } from "./api.js";
import { Cache } from "./cache.js";
import { ask, closeDialog } from "./dialog.js";
import { byId, element, show } from "./dom.js";
import { setUpdated, showBar, showProblem } from "./frame.js";
import { linkTo, linkToApplication } from "./links.js";
import { updateTimes } from "./parts.js";
import { findRoute } from "./routes.js";
import { deleteKey, isPortal, openPortal, readKey, saveKey, takeToken } from "./session.js";
import { signInForm } from "./views/sign_in.js";
import { Vocabulary } from "./vocabulary.js";

/** @typedef {{ appId: string | null, may: string[] }} User the API's response about the key */
/** @typedef {{ api: Api, user: User, cache: Cache, vocabulary: Vocabulary }} Session */

/**
 * What a view gets: the session, the names and the query of its address, and what it can do.
 * @typedef {object} PageContext
 * @property {Record<string, string>} names
 * @property {Record<string, string>} query
 * @property {boolean} isPortal
 * @property {(need: string) => boolean} may whether the key allows an action
 * @property {(hash: string) => void} go
 * @property {() => Promise<void>} refresh
 */
/** @typedef {Session & PageContext} Context */
/** @typedef {{ title: string, nodes: import("./dom.js").Child[] }} Page */
/** @typedef {(context: Context) => Promise<Page>} View */

const REFRESH_INTERVAL = 5000; // milliseconds
const EXPIRED_LINK = "This link has expired or was revoked.";
const main = byId("main");
/** @type {Session | null} */
let session = null; // null before the user has signed in
let latest = 0; // the number of the latest refresh; the results of earlier ones are not shown
let timer = 0;

/**
 * Try to sign in with a key. Return null, or why the key was rejected. Throw other errors.
 * @param {string} key
 */
async function signIn(key) {
  if (!/^[\x21-\x7e]+$/.test(key)) return "A key has no spaces and only ASCII characters. Copy it again.";
  const api = new Api(key);
  try {
    const user = await api.get("/auth/whoami");
    if (user.appId && !isPortal) {
      openPortal(key);
      return null;
    }
    if (!user.appId && isPortal) return "This key is for the dashboard. Sign in at /dashboard.";
    const vocabulary = new Vocabulary(await api.get("/vocabulary"));
    saveKey(key);
    session = { api, user, cache: new Cache(api), vocabulary };
    return null;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.status === 403) return `${error.message}.`;
    if (error.status !== 401) throw error;
    return isPortal ? EXPIRED_LINK : "This key is unknown, revoked or expired. Check that you copied all of it.";
  }
}

/**
 * Sign in with a key that the user typed. Return null, or why that failed.
 * @param {string} key
 */
async function signInTyped(key) {
  const problem = await signIn(key).catch((error) => `${error.message}.`);
  await refresh();
  return problem;
}

/** @param {string | null} [problem] why the user has to sign in again */
function showSignIn(problem = null) {
  deleteKey();
  session = null;
  clearTimeout(timer);
  closeDialog();
  latest += 1;
  document.title = "tarry";
  showProblem(null);
  showBar(null);
  show(main, element("div", { "data-key": "sign-in" }, signInForm(signInTyped, problem)));
  main.querySelector("input")?.focus();
}

async function signOut() {
  if (isPortal) {
    const text = "The link that opened this page stops working.";
    if (!(await ask("Sign out?", [text], "Sign out"))) return;
    await session?.api.post("/auth/logout").catch(() => null);
  }
  showSignIn();
}

function startPage() {
  return isPortal && session ? linkToApplication(session.user.appId ?? "") : linkTo("/");
}

/** Show the view of the address with new data, and schedule the next refresh. */
async function refresh() {
  clearTimeout(timer);
  if (!session) return; // the user has signed out meanwhile
  if (isPortal && ["", "#/"].includes(location.hash)) history.replaceState(null, "", startPage());
  const number = (latest += 1);
  showBar({ appId: session.user.appId, isPortal, signOut, hash: location.hash });
  const delay = await showRoute(session, number);
  if (number !== latest || !session) return;
  timer = setTimeout(() => (document.hidden ? null : refresh()), delay);
}

/**
 * Show the view of the address, or why it cannot be shown. Return the delay until the next refresh.
 * @param {Session} current
 * @param {number} number
 */
async function showRoute(current, number) {
  const route = findRoute(location.hash || "#/");
  const key = route?.key ?? "unknown";
  try {
    const page = route ? await route.view(contextOf(current, route)) : unknownPage();
    if (number === latest) draw(key, page);
  } catch (error) {
    if (number === latest) showError(key, error);
    if (error instanceof RequestError) return Math.max(REFRESH_INTERVAL, error.retryAfter * 1000);
  }
  return REFRESH_INTERVAL;
}

/**
 * @param {Session} current
 * @param {import("./routes.js").Route} route
 * @returns {Context}
 */
function contextOf(current, { names, query }) {
  const may = (/** @type {string} */ need) => current.user.may.includes(need);
  const go = (/** @type {string} */ hash) => { location.hash = hash; };
  return { ...current, names, query, may, isPortal, go, refresh };
}

/** Return the key of the view that is on the page. */
function shownKey() {
  return main.firstElementChild?.getAttribute("data-key");
}

/**
 * @param {string} key
 * @param {Page} page
 */
function draw(key, { title, nodes }) {
  const isNew = shownKey() !== key;
  document.title = `${title} – tarry`;
  show(main, element("div", { "data-key": key }, nodes));
  if (isNew) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
  showProblem(null);
  setUpdated();
}

/**
 * Show an error. If the page has data already, keep the data and show the error above it.
 * @param {string} key
 * @param {unknown} error
 */
function showError(key, error) {
  const status = error instanceof RequestError ? error.status : 0;
  if (session && status === 401) {
    showSignIn(isPortal ? EXPIRED_LINK : "This key has expired or was revoked.");
    return;
  }
  const isExpected = error instanceof RequestError || error instanceof NoResponse;
  if (!isExpected) console.error(error);
  const message = error instanceof Error ? error.message : String(error);
  const text = isExpected ? message : `this page has an error: ${message}`;
  if (shownKey() === key && status !== 404) {
    showProblem(text);
    return;
  }
  showProblem(null);
  show(main, element("div", { "data-key": "error" },
    element("h1", {}, status === 404 ? "Not found" : "This page cannot be shown"),
    element("p", { class: "problem" }, `${text}.`),
    element("p", {}, adviceFor(status)),
    element("p", {}, element("a", { href: startPage() }, "Back to the start page"))));
}

/** @param {number} status */
function adviceFor(status) {
  switch (status) {
    case 403:
      return isPortal ? "This link does not give access to this page." : "Sign in with a key that has access.";
    case 404:
      return "It was deleted, or the ID is wrong.";
    case 422:
    case 501:
      return "The address is not valid. It may be incomplete.";
    case 429:
      return "The server limits the requests of this key. The page waits and retries.";
    default:
      return "The page retries automatically.";
  }
}

/** @returns {Page} */
function unknownPage() {
  const link = element("a", { href: startPage() }, "Back to the start page");
  const text = element("p", {}, "This page does not exist. ", link);
  return { title: "Not found", nodes: [element("h1", {}, "Not found"), text] };
}

/** Sign in with the saved key. If the server cannot check it now, keep the key and try again. */
async function start() {
  session = null;
  clearTimeout(timer);
  takeToken();
  const key = readKey();
  try {
    const problem = key ? await signIn(key) : null;
    if (session) await refresh();
    else showSignIn(problem);
  } catch (error) {
    showBar(null);
    showError("start", error);
    timer = setTimeout(start, REFRESH_INTERVAL);
  }
}

addEventListener("hashchange", () => {
  closeDialog();
  if (takeToken()) start();
  else refresh();
});
addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault(); // an address selects a view here
  main.focus();
});
setInterval(updateTimes, 1000);
start();
