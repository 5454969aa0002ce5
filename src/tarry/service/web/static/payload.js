// Shows JSON as it came, byte for byte; and, if somebody wants, with other white space between.

/** The text of a field of an object, as it stands in the object's own text. */
export function member(text, name) {
  let depth = 0;
  let from = -1;
  let key = null;
  for (const { at, end, kind } of tokens(text)) {
    if (depth === 1 && from < 0 && kind === "string" && key === null) key = JSON.parse(text.slice(at, end));
    else if (depth === 1 && kind === ":" && key === name) from = end;
    if (kind === "open") depth += 1;
    if (kind === "close") depth -= 1;
    const over = (depth === 1 && kind === ",") || depth === 0;
    if (over && from >= 0) return text.slice(from, at).trim();
    if (depth === 1 && kind === ",") key = null;
  }
  return "";
}

/** The same JSON over several lines: each number and each string stays as it was written. */
export function indented(text) {
  const parts = [];
  let depth = 0;
  let empty = false;
  const line = () => parts.push("\n", "  ".repeat(Math.min(depth, 40)));
  for (const { at, end, kind } of tokens(text)) {
    if (kind === "close") {
      depth -= 1;
      if (!empty) line();
    } else if (empty) {
      line();
    }
    empty = kind === "open";
    parts.push(text.slice(at, end));
    if (kind === "open") depth += 1;
    if (kind === ",") line();
    if (kind === ":") parts.push(" ");
  }
  return parts.join("");
}

/** Whether a text is JSON. */
export function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function* tokens(text) {
  const pattern = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs;
  const kinds = { "{": "open", "[": "open", "}": "close", "]": "close", ":": ":", ",": "," };
  for (const found of text.matchAll(pattern)) {
    const kind = kinds[found[0]] ?? (found[0][0] === '"' ? "string" : "bare");
    yield { at: found.index, end: found.index + found[0].length, kind };
  }
}
