// @ts-check
// The user's key. It is kept for this tab only, and never in an address.

const LINK = /^#([A-Za-z0-9_.-]+):([\x21-\x7e]+)$/;

/** Whether this is the portal for tenants; otherwise it is the operators' dashboard. */
export const isPortal = location.pathname.startsWith("/portal");
const PORTAL_ITEM = "tarry.portal";
const ITEM = isPortal ? PORTAL_ITEM : "tarry.dashboard";

/** Move the token of a portal link from the address into the session. Return whether there was one. */
export function takeToken() {
  const match = isPortal ? LINK.exec(location.hash) : null;
  if (!match) return false;
  sessionStorage.setItem(ITEM, match[2]);
  history.replaceState(null, "", `${location.pathname}#/`);
  return true;
}

export function readKey() {
  return sessionStorage.getItem(ITEM);
}

/** @param {string} key */
export function saveKey(key) {
  sessionStorage.setItem(ITEM, key);
}

export function deleteKey() {
  sessionStorage.removeItem(ITEM);
}

/**
 * Open the portal with a portal token that was typed into the dashboard.
 * @param {string} token
 */
export function openPortal(token) {
  sessionStorage.setItem(PORTAL_ITEM, token);
  location.assign("/portal");
}
