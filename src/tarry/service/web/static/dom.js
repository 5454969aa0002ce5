// Makes elements and puts them on the page. What is shown was written by somebody else: it becomes
// text or an attribute, never HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, handlers (`onclick`) and children: elements, texts, lists of them. */
export function el(tag, given = {}, ...children) {
  return filled(document.createElement(tag), given, children);
}

/** The same within a drawing. */
export function svg(tag, given = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), given, children);
}

function filled(node, given, children) {
  node.handlers = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.handlers[name] = node[name] = value;
    else node.setAttribute(name, value === true ? "" : checked(name, String(value)));
  }
  node.append(...flat(children));
  return node;
}

/** Links lead to places of this server only. */
function checked(name, value) {
  if (name === "href" && !/^[#/]/.test(value)) throw new Error(`a link to ${value}`);
  return value;
}

function flat(children) {
  return children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false)
    .map((one) => (one instanceof Node ? one : document.createTextNode(String(one))));
}

/** Makes a node's children like these, and leaves alone what is the same: focus, scrolling and what
 * is opened stay as they are when a page is refreshed. */
export function show(parent, ...children) {
  const fresh = flat(children);
  const keyed = new Map([...parent.children].filter(keyOf).map((one) => [keyOf(one), one]));
  let at = parent.firstChild;
  for (const one of fresh) {
    const same = keyOf(one) ? keyed.get(keyOf(one)) : at && !keyOf(at) ? at : null;
    if (same && same.nodeName === one.nodeName) {
      if (same === at) at = at.nextSibling;
      else parent.insertBefore(same, at);
      update(same, one);
    } else {
      parent.insertBefore(one, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null;
}

function update(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of Object.keys(old.handlers ?? {})) old[name] = null;
  old.handlers = fresh.handlers;
  Object.assign(old, fresh.handlers);
  if (old.nodeName === "INPUT" || old.nodeName === "SELECT") return; // somebody may be typing
  show(old, ...fresh.childNodes);
}
