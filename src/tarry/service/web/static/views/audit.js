// @ts-check
// The audit trail: who changed what, when and from where, the newest first.

import { element } from "../dom.js";
import { linkTo, linkToApplication, linkToEndpoint, linkToMessage } from "../links.js";
import { code, codes, empty, filter, pageHeading, pager, quoted, table, time } from "../parts.js";

/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */
/** @typedef {string | number | boolean | null} Value */
/** @typedef {{ field: string, before?: Value, after?: Value }} Change */

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function auditPage(context) {
  const { page: iterator, actor, target, app } = context.query;
  const page = await context.api.get("/audit", { limit: 50, iterator, actor, target, app_id: app });
  return {
    title: "Audit trail",
    nodes: [
      pageHeading("Audit trail"),
      searchForm(context),
      element("form", { class: "filters" }, actorFilter(context)),
      page.data.length ? entryTable(context, page.data) : noEntries(context, page),
      pager(page, iterator, (next) => linkTo("/audit", { ...context.query, page: next })),
    ],
  };
}

/**
 * @param {Context} context
 * @param {any[]} entries
 */
function entryTable(context, entries) {
  return table("Audit trail", [
    { heading: "Time", cell: ({ timestamp }) => time(timestamp) },
    { heading: "Actor", cell: ({ actor: { kind, keyId } }) => [
      element("span", {}, context.vocabulary.find("actors", kind).label),
      element("small", {}, keyId && element("a", { href: linkTo("/audit", { actor: keyId }) }, keyId))] },
    { heading: "Operation", cell: ({ operation }) => code(operation) },
    { heading: "Target", cell: (entry) => [
      element("span", {}, entry.target.kind.replace("-", " ")), element("small", {}, targetLink(entry))] },
    { heading: "Changes", cell: ({ changes }) => codes(changes.map(formatChange)) },
    { heading: "Address", cell: ({ address }) => address ?? "–" },
  ], entries, ({ id }) => id);
}

/** @param {any} entry */
function targetLink({ appId, target }) {
  /** @type {Record<string, (application: string, id: string) => string>} */
  const links = { application: linkToApplication, endpoint: linkToEndpoint, message: linkToMessage };
  const link = appId && links[target.kind];
  return link ? element("a", { href: link(appId, target.id) }, quoted(target.id)) : quoted(target.id);
}

/**
 * Format a change: "standing: enabled → paused", or only the field's name if its values are not shown.
 * @param {Change} change
 */
function formatChange({ field, before, after }) {
  if (after === undefined) return field;
  return before === undefined ? `${field}: ${after}` : `${field}: ${before ?? "none"} → ${after ?? "none"}`;
}

/**
 * @param {Context} context
 * @param {{ done: boolean }} page
 */
function noEntries(context, { done }) {
  if (!done) return empty("No matching changes on this page.", "Older pages may have some.");
  const { actor, target, app } = context.query;
  return actor || target || app
    ? empty("No matching changes.", "Change the filter to see other changes.")
    : empty("No changes yet.", "Changes of applications, endpoints, keys and event types are listed here, with who "
      + "made them and from where. Make one: ", code("tarry app create --uid shop Shop"));
}

/** @param {Context} context */
function actorFilter(context) {
  const kinds = context.vocabulary.tables.actors.map(({ name, label }) => ({ value: name, text: label }));
  const { actor = "", target, app } = context.query;
  const keys = actor.startsWith("key_") ? [{ value: actor, text: actor }] : [];
  return filter("Actor", actor, [{ value: "", text: "any" }, ...kinds, ...keys], (value) =>
    context.go(linkTo("/audit", { actor: value, target, app })));
}

/**
 * Show a form that finds the changes by a key, of an application, or of something else.
 * @param {Context} context
 */
function searchForm(context) {
  const { target, app, actor } = context.query;
  const label = "ID of a key, an application or a target";
  const input = element("input", {
    type: "search", value: target ?? app ?? "", placeholder: label, "aria-label": label });
  const onsubmit = (/** @type {SubmitEvent & { target: HTMLFormElement }} */ event) => {
    event.preventDefault();
    const text = event.target.querySelector("input")?.value.trim() ?? "";
    if (text.startsWith("key_")) context.go(linkTo("/audit", { actor: text }));
    else if (text.startsWith("app_")) context.go(linkTo("/audit", { actor, app: text }));
    else context.go(linkTo("/audit", { actor, target: text }));
  };
  return element("form", { class: "finder", onsubmit }, input, element("button", { value: "find" }, "Find"));
}
