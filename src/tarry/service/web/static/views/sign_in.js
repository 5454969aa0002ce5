// Asks for a key, and says what is wrong with one that does not open.

import { el } from "../dom.js";
import { code } from "../parts.js";
import { isPortal } from "../session.js";

/** The form; `trying` gets what was typed, and gives null or what is wrong with it. */
export function signIn(trying, said = null) {
  if (isPortal) return closed(said);
  const problem = el("p", { class: "problem", role: "alert" }, said ?? "");
  const typed = el("input", { id: "key", type: "password", autocomplete: "current-password", spellcheck: "false", required: true });
  const go = el("button", { class: "primary" }, "Sign in");
  const onsubmit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    problem.textContent = (await trying(typed.value.trim())) ?? "";
    go.disabled = false;
    typed.select();
  };
  return el("form", { class: "sign-in", onsubmit },
    el("h1", {}, "Sign in"),
    el("label", { for: "key" }, "Key"), typed, problem, go,
    el("p", { class: "hint" }, code("tarry serve"), " shows a first key when it starts on a new database. ",
      code("tarry key create --scope read"), " makes one that may only look. A key stays in this tab, and nowhere else."));
}

function closed(said) {
  return el("div", { class: "sign-in" }, el("h1", {}, "This page opens by a link"),
    el("p", { class: "problem", role: "alert" }, said ?? ""),
    el("p", {}, "Ask whoever sends you webhooks for a new one: links end after a while."));
}
