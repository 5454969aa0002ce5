// Who looks: the key they gave, kept for this tab only and never in an address.

const LINK = /^#([A-Za-z0-9_.-]+):([\x21-\x7e]+)$/;

/** Whether this is the page for tenants' people. */
export const isPortal = location.pathname.startsWith("/portal");
const KEPT = isPortal ? "tarry.portal" : "tarry.dashboard";

/** Takes a token out of the address, if one came with it. */
export function takeToken() {
  const found = isPortal && LINK.exec(location.hash);
  if (!found) return false;
  sessionStorage.setItem(KEPT, found[2]);
  history.replaceState(null, "", `${location.pathname}#/`);
  return true;
}

export function kept() {
  return sessionStorage.getItem(KEPT);
}

export function keep(key) {
  sessionStorage.setItem(KEPT, key);
}

export function forget() {
  sessionStorage.removeItem(KEPT);
}

/** Goes on to the portal, with a token that was typed at the dashboard. */
export function goToPortal(token) {
  sessionStorage.setItem("tarry.portal", token);
  location.assign("/portal");
}
