// @ts-check
// The form that asks for a key.

import { element } from "../dom.js";
import { code } from "../parts.js";
import { isPortal } from "../session.js";

/**
 * Create the form. In the portal, users sign in with a link instead.
 * @param {(key: string) => Promise<string | null>} submit returns null, or why the key was rejected
 * @param {string | null} problem
 */
export function signInForm(submit, problem) {
  const alert = element("p", { class: "problem", role: "alert" }, problem ?? "");
  if (isPortal) return linkNeeded(alert);
  const input = element("input", {
    id: "key", type: "password", autocomplete: "current-password", spellcheck: "false", required: true });
  const button = element("button", { class: "primary" }, "Sign in");
  const onsubmit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    alert.textContent = (await submit(input.value.trim())) ?? "";
    button.disabled = false;
    input.select();
  };
  return element("form", { class: "sign-in", onsubmit },
    element("h1", {}, "Sign in"),
    element("label", { for: "key" }, "Key"), input, alert, button,
    element("p", { class: "hint" }, code("tarry serve"), " prints a first key when it starts with a new database. ",
      code("tarry key create --scope read"), " creates a key that can only read. The key stays in this tab."));
}

/** @param {HTMLElement} alert */
function linkNeeded(alert) {
  return element("div", { class: "sign-in" },
    element("h1", {}, "You need a link to open this page"),
    alert,
    element("p", {}, "Links expire after some time. Ask the sender of your webhooks for a new one."));
}
