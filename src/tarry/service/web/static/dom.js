// @ts-check
// Creates elements and puts them on the page. The page shows data from other people: it becomes text or an
// attribute, never HTML.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | false | null | undefined} SingleChild */
/** @typedef {SingleChild | any[]} Child a list has children, and may be nested */
/** @typedef {(event: any) => unknown} Handler */
/** @typedef {Record<string, string | number | boolean | null | undefined | Handler>} Attributes */

/** @type {WeakMap<Element, Record<string, Handler>>} */
const handlers = new WeakMap();

/**
 * Create an element with attributes, event handlers (`onclick`) and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/**
 * Create an element of a drawing.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svgElement(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * Return an element of index.html.
 * @param {string} id
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

/**
 * @template {Element} Kind
 * @param {Kind} node
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function filled(node, attributes, children) {
  /** @type {Record<string, Handler>} */
  const own = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") own[name] = value;
    else node.setAttribute(name, value === true ? "" : checked(name, String(value)));
  }
  Object.assign(node, own);
  handlers.set(node, own);
  node.append(...flat(children));
  return node;
}

/**
 * Return the value of an attribute. Reject links to other servers.
 * @param {string} name
 * @param {string} value
 */
function checked(name, value) {
  if (name === "href" && !/^[#/]/.test(value)) throw new Error(`a link to another server: ${value}`);
  return value;
}

/**
 * @param {Child[]} children
 * @returns {Node[]}
 */
function flat(children) {
  /** @type {Node[]} */
  const nodes = [];
  for (const child of children) {
    if (Array.isArray(child)) nodes.push(...flat(child));
    else if (child instanceof Node) nodes.push(child);
    else if (child !== null && child !== undefined && child !== false) nodes.push(new Text(String(child)));
  }
  return nodes;
}

/**
 * Replace a node's children, but keep those that are the same. So focus, scroll position and opened details
 * survive a refresh of the page. Children with a `data-key` are matched by it, others by their position.
 * @param {Element} parent
 * @param {...Child} children
 */
export function show(parent, ...children) {
  const keyed = new Map([...parent.children].filter(keyOf).map((node) => [keyOf(node), node]));
  let current = parent.firstChild;
  for (const fresh of flat(children)) {
    const key = keyOf(fresh);
    const unkeyed = current && !keyOf(current) ? current : null;
    const same = key ? keyed.get(key) : unkeyed;
    if (same && same.nodeName === fresh.nodeName) {
      if (same === current) current = current.nextSibling;
      else parent.insertBefore(same, current);
      update(same, fresh);
    } else {
      parent.insertBefore(fresh, current);
    }
  }
  while (current) {
    const next = current.nextSibling;
    current.remove();
    current = next;
  }
}

/** @param {Node} node */
function keyOf(node) {
  return node instanceof Element ? node.getAttribute("data-key") : null;
}

/**
 * @param {Node} old
 * @param {Node} fresh
 */
function update(old, fresh) {
  if (!(old instanceof Element && fresh instanceof Element)) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const removed = Object.keys(handlers.get(old) ?? {}).map((name) => [name, null]);
  const added = handlers.get(fresh) ?? {};
  Object.assign(old, Object.fromEntries(removed), added);
  handlers.set(old, added);
  if (old.nodeName === "INPUT" || old.nodeName === "SELECT") return; // keep what the user types
  show(old, ...fresh.childNodes);
}
