// Addresses of views, for links.

import { way } from "./api.js";

/** An address of a view, with what of a query is set. */
export function to(path, query = {}) {
  const set = Object.entries(query).filter(([, value]) => value);
  return `#${path}${set.length ? `?${new URLSearchParams(set)}` : ""}`;
}

export const toApplication = (app) => to(way`/app/${app}`);
export const toEndpoint = (app, endpoint) => to(way`/app/${app}/endpoint/${endpoint}`);
export const toMessage = (app, message) => to(way`/app/${app}/msg/${message}`);
