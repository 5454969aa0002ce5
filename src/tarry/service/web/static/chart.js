// @ts-check
// A bar chart of the attempts at an endpoint: how many succeeded and how many failed over time.

import { element, svgElement } from "./dom.js";
import { formatClock, formatDuration, now, seconds } from "./times.js";
import { formatCount } from "./vocabulary.js";

/** @typedef {import("./attempts.js").Attempt} Attempt */
/** @typedef {{ start: number, duration: number, succeeded: number, failed: number }} Bar */

const MAX_BARS = 60;
const WIDTH = 600;
const HEIGHT = 96;
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

/**
 * Draw attempts, with a description for screen readers.
 * @param {Attempt[]} attempts
 */
export function chart(attempts) {
  const bars = groupByTime(attempts.map(({ timestamp, status }) => [seconds(timestamp), status === 0]), now());
  const highest = Math.max(...bars.map(({ succeeded, failed }) => succeeded + failed));
  const succeeded = bars.reduce((sum, bar) => sum + bar.succeeded, 0);
  const failed = attempts.length - succeeded;
  const [{ start, duration }] = bars;
  const description = `${formatCount(attempts.length, "attempt", "attempts")} in`
    + ` ${formatDuration(bars.length * duration)}: ${succeeded} succeeded, ${failed} failed`;
  const width = WIDTH / bars.length;
  const drawing = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };
  return element("figure", { class: "chart" },
    svgElement("svg", { ...drawing, role: "img", "aria-label": description },
      bars.map((bar, index) => barGroup(bar, index * width, width, HEIGHT / highest))),
    element("div", { class: "axis" },
      element("span", {}, formatClock(start)),
      element("span", {}, `up to ${highest} in ${formatDuration(duration)}`),
      element("span", {}, "now")),
    element("figcaption", {},
      element("span", { class: "key good" }, `${succeeded} succeeded`),
      element("span", { class: "key bad" }, `${failed} failed`)));
}

/**
 * @param {Bar} bar
 * @param {number} x
 * @param {number} width
 * @param {number} unit the height of one attempt
 */
function barGroup({ start, duration, succeeded, failed }, x, width, unit) {
  /** @type {(kind: string, attempts: number, below: number) => SVGRectElement | null} */
  const part = (kind, attempts, below) => {
    if (!attempts) return null;
    const y = HEIGHT - (below + attempts) * unit;
    return svgElement("rect", { class: kind, x, width: Math.max(width - 1, 1), y, height: attempts * unit });
  };
  const title = `${formatClock(start)}, ${formatDuration(duration)}: ${succeeded} succeeded, ${failed} failed`;
  return svgElement("g", {},
    svgElement("title", {}, title),
    svgElement("rect", { class: "none", x, width, y: 0, height: HEIGHT }),
    part("good", succeeded, 0),
    part("bad", failed, succeeded));
}

/**
 * Count successes and failures in equal spans of time up to `end`.
 * @param {[number, boolean][]} attempts times in seconds, and whether each succeeded
 * @param {number} end
 * @returns {Bar[]}
 */
export function groupByTime(attempts, end) {
  const begin = Math.min(...attempts.map(([time]) => time), end - 1);
  const duration = DURATIONS.find((step) => (end - begin) / step <= MAX_BARS) ?? (end - begin) / MAX_BARS;
  const first = Math.floor(begin / duration);
  const length = Math.max(Math.floor(end / duration) - first + 1, 1);
  const bars = Array.from({ length }, (_, index) => (
    { start: (first + index) * duration, duration, succeeded: 0, failed: 0 }));
  for (const [time, succeeded] of attempts) {
    const index = Math.min(Math.max(Math.floor(time / duration) - first, 0), bars.length - 1);
    bars[index][succeeded ? "succeeded" : "failed"] += 1;
  }
  return bars;
}
