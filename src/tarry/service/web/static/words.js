// What states and reasons mean, in words for people; a tone says how much they should worry.

/** How the sending of a message to an endpoint stands, by the API's words. */
export const STATUSES = {
  success: ["delivered", "good"],
  pending: ["not tried yet", "calm"],
  sending: ["waits", "care"],
  fail: ["failed", "bad"],
  canceled: ["cancelled", "calm"],
};

/** Why something waits or how it ended, by tarry's own words. */
export const REASONS = {
  "not tried yet": "it is about to be sent",
  backoff: "an attempt failed; it waits for the next one",
  "retry-after": "the endpoint asked to come back later",
  "lane open": "the endpoint takes nothing; it is probed until it does",
  pace: "what waits goes at a pace that the endpoint can take",
  "rate limit": "its rate is limited by a setting",
  concurrency: "as many as may be are on their way",
  "retry budget": "too many of the latest requests were retries; it waits for its turn",
  fifo: "it goes in order, behind others",
  scheduled: "it is for later",
  paused: "the endpoint is paused",
  disabled: "the endpoint is disabled",
  replayed: "it is sent once more",
  refused: "the endpoint said that this message will never do",
  "all attempts used up": "its policy allows no more attempts",
  "too old": "it is older than its policy allows",
  "endpoint gone": "the endpoint said that it is gone",
  "aborted by the receiver": "the receiver wants no more attempts at it",
  "payload expunged": "there is nothing left to send",
};
export const STATES = { ready: ["waits", "care"], waiting: ["waits", "care"], failed: ["failed", "bad"] };

/** A lane in a word and a tone: what an operator wants to know first. */
export function laneState(lane) {
  if (lane.standing === "paused") return ["paused", "care"];
  if (lane.standing === "disabled") return ["disabled", "calm"];
  if (lane.standing === "parked") return ["disabled by tarry", "bad"];
  if (lane.standing === "deleted") return ["deleted", "calm"];
  if (lane.phase === "open") return ["down", "bad"];
  if (lane.phase === "paced") return ["recovering", "care"];
  if (lane.failedAt) return ["last attempt failed", "care"];
  return ["healthy", "good"];
}

const STANDINGS = {
  paused: "It is paused: nothing is sent. What comes in waits for it to be resumed, and gets older meanwhile.",
  disabled: "Its owner disabled it: new messages are not sent to it. Once it is enabled, “replay missing” sends them.",
  parked: "tarry disabled it, as nothing arrived for days. What waits does not get older, and goes once it is enabled.",
  deleted: "It was deleted.",
};

const SHARED = {
  application: "Several of this application's endpoints at this host fail together.",
  origin: "The whole host is in trouble, other endpoints there too.",
};

/** A lane in sentences: lists of texts and times, which `parts.js` makes elements of. */
export function laneSentences(lane, time, ahead) {
  if (lane.standing !== "enabled") return [[STANDINGS[lane.standing]], ...waiting(lane)];
  const shared = SHARED[lane.scope] ? [[SHARED[lane.scope]]] : [];
  if (lane.phase === "open") return [...down(lane, time, ahead), ...waiting(lane, " None of them loses an attempt."), ...shared];
  if (lane.phase === "paced") return [...paced(lane, ahead), ...shared];
  if (!lane.backlog) return [["Everything that was sent to it has been settled; nothing waits."]];
  const last = lane.failedAt ? ["Its last attempt failed, ", time(lane.failedAt), "."] : ["It takes what it is sent."];
  return [last, ...waiting(lane)];
}

function down(lane, time, ahead) {
  const [first] = [lane.failingSince, lane.downSince].filter(Boolean).sort(); // a lane may have opened anew since
  const since = first ? ["It takes nothing; that began ", time(first), ". "] : ["It takes nothing. "];
  const next = lane.probeAt ? ["It is tried next ", ahead(lane.probeAt), "."] : [];
  return [[...since, ...next]];
}

function paced(lane, ahead) {
  const speed = lane.pace ? ` of ${number(lane.pace)} a second` : "";
  const end = lane.doneAt ? [" At that, nothing waits any more ", ahead(lane.doneAt), "."] : [];
  return [[`It takes messages again: ${count(lane.backlog, "delivery goes", "deliveries go")} at a pace${speed}.`, ...end]];
}

function waiting(lane, more = "") {
  return lane.backlog ? [[`${count(lane.backlog, "delivery waits", "deliveries wait")}.${more}`]] : [];
}

export function number(value) {
  return value.toLocaleString("en-US", { maximumSignificantDigits: value < 100 ? 3 : 12 });
}

export function count(many, one, several) {
  return `${number(many)} ${many === 1 ? one : several}`;
}
