// @ts-check
// Shows JSON byte for byte as it was sent, or indented with only the white space changed.

/**
 * Return the text of one field of a JSON object, unchanged.
 * @param {string} text
 * @param {string} name
 */
export function fieldText(text, name) {
  let depth = 0;
  let start = -1;
  let key = null;
  for (const token of tokens(text)) {
    const isKey = depth === 1 && start < 0 && token.kind === "string" && key === null;
    if (isKey) key = JSON.parse(text.slice(token.start, token.end));
    else if (depth === 1 && token.kind === ":" && key === name) start = token.end;
    if (token.kind === "open") depth += 1;
    if (token.kind === "close") depth -= 1;
    const isComma = depth === 1 && token.kind === ",";
    if ((isComma || depth === 0) && start >= 0) return text.slice(start, token.start).trim();
    if (isComma) key = null;
  }
  return "";
}

/**
 * Return JSON indented. Numbers and strings stay as they were written.
 * @param {string} text
 */
export function indent(text) {
  /** @type {string[]} */
  const parts = [];
  let depth = 0;
  let isEmpty = false;
  const newLine = () => parts.push("\n", "  ".repeat(Math.min(depth, 40)));
  for (const { start, end, kind } of tokens(text)) {
    if (kind === "close") {
      depth -= 1;
      if (!isEmpty) newLine();
    } else if (isEmpty) {
      newLine();
    }
    isEmpty = kind === "open";
    parts.push(text.slice(start, end));
    if (kind === "open") depth += 1;
    if (kind === ",") newLine();
    if (kind === ":") parts.push(" ");
  }
  return parts.join("");
}

/**
 * Return whether a text is JSON.
 * @param {string} text
 */
export function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** @type {Record<string, string>} */
const KINDS = { "{": "open", "[": "open", "}": "close", "]": "close", ":": ":", ",": "," };

/** @param {string} text */
function* tokens(text) {
  const pattern = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs;
  for (const match of text.matchAll(pattern)) {
    const [token] = match;
    const kind = KINDS[token] ?? (token.startsWith('"') ? "string" : "bare");
    yield { start: match.index, end: match.index + token.length, kind };
  }
}
