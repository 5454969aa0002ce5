// Which view an address means: `#/app/ID/endpoint/ID?page=...`.

import { application } from "./views/application.js";
import { applicationMessages } from "./views/messages.js";
import { applicationUndelivered, undelivered } from "./views/undelivered.js";
import { endpoint } from "./views/endpoint.js";
import { endpointMessages } from "./views/endpoint_messages.js";
import { message } from "./views/message.js";
import { overview } from "./views/overview.js";

const VIEWS = [
  ["", overview],
  ["undelivered", undelivered],
  ["app/:app", application],
  ["app/:app/msg", applicationMessages],
  ["app/:app/undelivered", applicationUndelivered],
  ["app/:app/endpoint/:endpoint", endpoint],
  ["app/:app/endpoint/:endpoint/msg", endpointMessages],
  ["app/:app/msg/:message", message],
];

/** The view of an address, the names in it and its query; null if there is none. */
export function find(hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/");
  for (const [pattern, view] of VIEWS) {
    const names = matched(pattern.split("/"), parts);
    if (names) return { view, names, query: Object.fromEntries(new URLSearchParams(search ?? "")), key: hash };
  }
  return null;
}

function matched(pattern, parts) {
  if (pattern.length !== parts.length) return null;
  const names = {};
  for (const [n, part] of pattern.entries()) {
    if (part.startsWith(":")) names[part.slice(1)] = decoded(parts[n]);
    else if (part !== parts[n]) return null;
  }
  return Object.values(names).includes("") ? null : names;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

