// Draws the attempts at an endpoint over time: how many arrived and how many failed.

import { el, svg } from "./dom.js";
import { clock, long, now, seconds } from "./when.js";
import { count } from "./words.js";

const BARS = 60;
const WIDE = 600;
const HIGH = 96;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

/** A picture of attempts, the newest first, with a sentence that says the same. */
export function chart(attempts) {
  const bars = binned(attempts.map((one) => [seconds(one.timestamp), one.status === 0]), now());
  const most = Math.max(...bars.map((one) => one.good + one.bad));
  const good = bars.reduce((sum, one) => sum + one.good, 0);
  const bad = attempts.length - good;
  const words = `${count(attempts.length, "attempt", "attempts")} in ${long(bars.length * bars[0].length)}:`
    + ` ${good} arrived, ${bad} failed`;
  const wide = WIDE / bars.length;
  return el("figure", { class: "chart" },
    svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": words, preserveAspectRatio: "none" },
      bars.map((one, n) => bar(one, n * wide, wide, HIGH / most))),
    el("div", { class: "axis" }, el("span", {}, clock(bars[0].at)),
      el("span", {}, `up to ${most} in ${long(bars[0].length)}`), el("span", {}, "now")),
    el("figcaption", {}, el("span", { class: "key good" }, `${good} arrived`),
      el("span", { class: "key bad" }, `${bad} failed`)));
}

function bar(one, x, wide, unit) {
  const width = Math.max(wide - 1, 1);
  const rect = (kind, many, below) => many && svg("rect", {
    class: kind, x, width, y: HIGH - (below + many) * unit, height: many * unit });
  return svg("g", {},
    svg("title", {}, `${clock(one.at)}, ${long(one.length)}: ${one.good} arrived, ${one.bad} failed`),
    svg("rect", { class: "none", x, width: wide, y: 0, height: HIGH }),
    rect("good", one.good, 0), rect("bad", one.bad, one.good));
}

/** How many of which kind in each of some equal spans up to now. */
export function binned(points, end) {
  const start = Math.min(...points.map(([at]) => at), end - 1);
  const length = STEPS.find((step) => (end - start) / step <= BARS) ?? (end - start) / BARS;
  const first = Math.floor(start / length);
  const bars = Array.from({ length: Math.max(Math.floor(end / length) - first + 1, 1) }, (_, n) => (
    { at: (first + n) * length, length, good: 0, bad: 0 }));
  for (const [at, arrived] of points) {
    const place = Math.min(Math.max(Math.floor(at / length) - first, 0), bars.length - 1);
    bars[place][arrived ? "good" : "bad"] += 1;
  }
  return bars;
}
