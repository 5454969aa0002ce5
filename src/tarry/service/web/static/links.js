// @ts-check
// Builds the addresses of views, for links.

import { path } from "./api.js";

/**
 * Return the address of a view. Empty values of the query are left out.
 * @param {string} view
 * @param {Record<string, string | null | undefined>} [query]
 */
export function linkTo(view, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value);
  return `#${view}${parameters.size ? `?${parameters}` : ""}`;
}

/** @param {string} application */
export function linkToApplication(application) {
  return linkTo(path`/app/${application}`);
}

/**
 * @param {string} application
 * @param {string} endpoint
 */
export function linkToEndpoint(application, endpoint) {
  return linkTo(path`/app/${application}/endpoint/${endpoint}`);
}

/**
 * @param {string} application
 * @param {string} message
 */
export function linkToMessage(application, message) {
  return linkTo(path`/app/${application}/msg/${message}`);
}
