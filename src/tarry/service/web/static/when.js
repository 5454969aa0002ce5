// Tells instants as people do, "4 min ago", by the server's clock.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
const FAR_OFF = 3; // seconds; the server tells its time in whole ones
let skew = 0;

/** What the server's clock said in a header, if that is not what it says here. */
export function heard(date) {
  const off = (Date.parse(date) - Date.now()) / 1000;
  if (!Number.isNaN(off)) skew = Math.abs(off) < FAR_OFF ? 0 : off;
}

/** Seconds of the server's clock. */
export function now() {
  return Date.now() / 1000 + skew;
}

/** Seconds of a written instant. */
export function seconds(written) {
  return Date.parse(written) / 1000;
}

/** A length of time: "1 h 20 min", "35 s", "0.4 s". */
export function long(length) {
  if (length < 10 && length % 1) return `${Math.round(length * 10) / 10} s`;
  const first = UNITS.findIndex(([size]) => length >= size);
  if (first < 0) return "0 s";
  const [size, name] = UNITS[first];
  const whole = `${Math.floor(length / size)} ${name}`;
  const [less, word] = UNITS[first + 1] ?? [1, ""];
  const rest = Math.floor((length % size) / less);
  return word && rest && length < size * 10 ? `${whole} ${rest} ${word}` : whole;
}

/** When something was or will be, from now; what should have been by now is about to be. */
export function told(written, ahead = false) {
  const off = seconds(written) - now();
  if (off > 1) return `in ${long(Math.floor(off))}`;
  if (ahead) return "any moment";
  return off > -1 ? "now" : `${long(Math.floor(-off))} ago`;
}

/** The same in full, where the reader is. */
export function whole(written) {
  const date = new Date(written);
  return `${date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" })} (${written})`;
}

/** The time of day, with the date if that is another one. */
export function clock(at) {
  const date = new Date(at * 1000);
  const time = date.toLocaleTimeString(undefined, { hour12: false });
  const sameDay = date.toDateString() === new Date(now() * 1000).toDateString();
  return sameDay ? time : `${date.toLocaleDateString()} ${time}`;
}
