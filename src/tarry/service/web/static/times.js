// @ts-check
// Formats times relative to the server's clock, such as "4 min ago".

/** @type {[number, string][]} */
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
const TOLERANCE = 3; // seconds; the server's Date header has whole seconds
let skew = 0; // seconds by which the server's clock is ahead of this one

/**
 * Compare the clocks, with the Date header of a response.
 * @param {string | null} date
 */
export function setServerTime(date) {
  const difference = (Date.parse(date ?? "") - Date.now()) / 1000;
  if (!Number.isNaN(difference)) skew = Math.abs(difference) < TOLERANCE ? 0 : difference;
}

/** Return the present time of the server's clock, in seconds. */
export function now() {
  return Date.now() / 1000 + skew;
}

/**
 * Return an ISO 8601 time in seconds.
 * @param {string} timestamp
 */
export function seconds(timestamp) {
  return Date.parse(timestamp) / 1000;
}

/**
 * Format a duration: "1 h 20 min", "35 s", "0.4 s".
 * @param {number} duration in seconds
 */
export function formatDuration(duration) {
  if (duration < 10 && duration % 1) return `${Math.round(duration * 10) / 10} s`;
  const index = UNITS.findIndex(([size]) => duration >= size);
  if (index < 0) return "0 s";
  const [size, unit] = UNITS[index];
  const text = `${Math.floor(duration / size)} ${unit}`;
  const [smallerSize, smallerUnit] = UNITS[index + 1] ?? [1, ""];
  const rest = Math.floor((duration % size) / smallerSize);
  return smallerUnit && rest && duration < size * 10 ? `${text} ${rest} ${smallerUnit}` : text;
}

/**
 * Format a time relative to now: "4 min ago", "in 8 s".
 * @param {string} timestamp
 */
export function formatRelative(timestamp) {
  const difference = seconds(timestamp) - now();
  if (difference > 1) return `in ${formatDuration(Math.floor(difference))}`;
  return difference > -1 ? "now" : `${formatDuration(Math.floor(-difference))} ago`;
}

/**
 * Format the time of something that is due: "in 8 s", and "now" once its time has passed.
 * @param {string} timestamp
 */
export function formatDue(timestamp) {
  return seconds(timestamp) - now() > 1 ? formatRelative(timestamp) : "now";
}

/**
 * Format how far a time is from now, without a direction: "8 s".
 * @param {string} timestamp
 */
export function formatDistance(timestamp) {
  return formatDuration(Math.max(1, Math.floor(Math.abs(seconds(timestamp) - now()))));
}

/**
 * Format a time in full, in the user's time zone.
 * @param {string} timestamp
 */
export function formatFull(timestamp) {
  const date = new Date(timestamp);
  return `${date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" })} (${timestamp})`;
}

/**
 * Format the time of day, with the date unless it is today.
 * @param {number} time in seconds
 */
export function formatClock(time) {
  const date = new Date(time * 1000);
  const text = date.toLocaleTimeString(undefined, { hour12: false });
  const isToday = date.toDateString() === new Date(now() * 1000).toDateString();
  return isToday ? text : `${date.toLocaleDateString()} ${text}`;
}
