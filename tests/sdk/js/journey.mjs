// The main journey of the official JavaScript SDK, against the server that the environment names.

import { deepEqual, equal, notEqual, ok, rejects, throws } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

import { Svix, Webhook } from "svix";

const svix = new Svix(process.env.SVIX_TOKEN, {
  serverUrl: process.env.SVIX_SERVER_URL,
  retryScheduleInMs: [],
});
const PATIENCE_MS = 20_000;
const type = `journey.${randomUUID()}`;

/** Wait for something that another process brings about. */
async function until(what, ask) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pause(20)) {
    const found = await ask();
    if (found) return found;
  }
  throw new Error(`it did not come about: ${what}`);
}

/** A receiver that answers as it is told and keeps what arrives. */
async function receiver() {
  const arrivals = [];
  const server = createServer((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      arrivals.push({ headers: request.headers, body: Buffer.concat(pieces).toString() });
      response.writeHead(here.status).end('{"heard":true}');
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const here = { arrivals, server, status: 200, url: `http://127.0.0.1:${server.address().port}/` };
  return here;
}

async function applications() {
  const uid = `js-${randomUUID()}`;
  const made = await svix.application.create({ name: "JS", uid, metadata: { plan: "pro" } });
  equal(made.uid, uid);
  ok(made.createdAt instanceof Date);
  deepEqual(await svix.application.getOrCreate({ name: "Another", uid }), made);
  const patched = await svix.application.patch(uid, { throttleRate: 5 });
  equal(patched.throttleRate, 5);
  equal((await svix.application.patch(uid, { throttleRate: null })).throttleRate ?? null, null);
  await rejects(svix.application.create({ name: "Twice", uid }), { code: 409 });
  return made.id;
}

async function eventTypes() {
  const schemas = { 1: { type: "object", examples: [{ seats: 3 }] } };
  const made = await svix.eventType.create({ name: type, description: "About JS", schemas });
  deepEqual(made.schemas, schemas);
  equal((await svix.eventType.patch(type, { schemas: null })).schemas ?? null, null);
  await rejects(svix.eventType.create({ name: type, description: "Twice" }), { code: 409 });
}

async function endpoints(app, url) {
  const made = await svix.endpoint.create(app, {
    url,
    uid: "main",
    channels: ["eu", "us"],
    throttleRate: 50,
    headers: { "x-made": "with it" },
  });
  deepEqual(made.channels?.sort(), ["eu", "us"]);
  equal(made.eventTypes ?? null, null);
  const told = await svix.endpoint.patch(app, "main", { eventTypes: [type], throttleRate: null });
  deepEqual([told.eventTypes, told.throttleRate ?? null], [[type], null]);
  deepEqual(told.channels?.sort(), ["eu", "us"]);
  const free = await svix.endpoint.patch(app, "main", { channels: null, uid: null });
  deepEqual([free.channels ?? null, free.uid ?? null], [null, null]);
  deepEqual(free.eventTypes, [type]);
  await rejects(svix.endpoint.get(app, "main"), { code: 404 });
  return made.id;
}

async function headers(app, endpoint) {
  await svix.endpoint.setHeaders(app, endpoint, { headers: { "x-one": "1", "x-two": "2" } });
  const patch = { headers: { "X-Three": "3", authorization: "Basic c2VjcmV0" } };
  await svix.endpoint.patchHeaders(app, endpoint, { ...patch, deleteHeaders: ["x-two"] });
  const found = await svix.endpoint.getHeaders(app, endpoint);
  deepEqual(found.headers, { "x-one": "1", "X-Three": "3" });
  deepEqual([...found.sensitive], ["authorization"]);
}

async function deliveries(app, endpoint, receiver) {
  const { key: old } = await svix.endpoint.getSecret(app, endpoint);
  const rotated = await svix.endpoint.rotateSecret(app, endpoint, {});
  const { key } = await svix.endpoint.getSecret(app, endpoint);
  notEqual(key, old);
  equal(rotated?.key ?? key, key);
  const payload = { seats: 3, name: "Zoë" };
  const sent = await svix.message.create(
    app,
    { eventType: type, payload, eventId: "first", tags: ["js"] },
    { withContent: true },
  );
  deepEqual(sent.payload, payload);
  const [{ headers, body }] = await until("a delivery", () => receiver.arrivals[0] && receiver.arrivals);
  deepEqual(JSON.parse(body), payload);
  deepEqual([headers["x-one"], headers["x-three"]], ["1", "3"]);
  for (const secret of [key, old]) new Webhook(secret).verify(body, headers);
  throws(() => new Webhook(key).verify(body.replace("3", "4"), headers));
  await rejects(svix.message.create(app, { eventType: type, payload, eventId: "first" }), {
    code: 409,
  });
  const attempts = await until("an attempt", async () => {
    const found = await svix.messageAttempt.listByMsg(app, "first", { withContent: true });
    return found.data.length && found.data;
  });
  const [{ status, statusText, responseStatusCode, response, msgId }] = attempts;
  deepEqual([status, statusText, responseStatusCode], [0, "success", 200]);
  deepEqual([response, msgId], ['{"heard":true}', sent.id]);
  return sent.id;
}

async function lists(app, endpoint, first) {
  const eventType = type;
  for (let n = 0; n < 4; n++) await svix.message.create(app, { eventType, payload: { n } });
  const [seen, marks] = [[], []];
  for (let iterator = null, done = false; !done; ) {
    const page = await svix.message.list(app, { limit: 2, iterator, withContent: true });
    seen.push(...page.data.map((one) => one.id));
    marks.push(page.prevIterator);
    ({ iterator, done } = page);
  }
  equal(new Set(seen).size, 5);
  equal(seen.at(-1), first);
  const back = await svix.message.list(app, { limit: 2, iterator: marks[1] });
  deepEqual(back.data.map((one) => one.id), seen.slice(0, 2));
  const tagged = await svix.message.list(app, { tag: "js", eventTypes: [type, "other"] });
  deepEqual(tagged.data.map((one) => one.id), [first]);
  const early = await svix.message.list(app, { before: new Date(Date.now() - 3_600_000) });
  equal(early.data.length, 0);
  await until("all delivered", async () => {
    const found = await svix.messageAttempt.listAttemptedMessages(app, endpoint, { status: 0 });
    return found.data.length === 5;
  });
}

async function recovery(app, endpoint, receiver, first) {
  const before = receiver.arrivals.length;
  await svix.messageAttempt.resend(app, first, endpoint);
  await until("a resend", () => receiver.arrivals.length > before);
  receiver.status = 400;
  const since = new Date();
  const { id } = await svix.message.create(app, { eventType: type, payload: { lost: true } });
  await until("a failure", async () => {
    const found = await svix.messageAttempt.listAttemptedDestinations(app, id);
    return found.data[0]?.statusText === "fail";
  });
  receiver.status = 200;
  const task = await svix.endpoint.recover(app, endpoint, { since });
  equal(task.task, "endpoint.recover");
  await until("it recovered", async () => {
    const found = await svix.messageAttempt.listAttemptedDestinations(app, id);
    return found.data[0]?.statusText === "success";
  });
  const done = () => svix.backgroundTask.get(task.id);
  await until("a finished task", async () => (await done()).status === "finished");
}

async function ending(app, endpoint, first) {
  await svix.message.expungeContent(app, first);
  const expunged = await svix.message.get(app, first, { withContent: true });
  deepEqual(expunged.payload, { expired: true });
  const access = await svix.authentication.appPortalAccess(app, {});
  const tenant = new Svix(access.token, { serverUrl: process.env.SVIX_SERVER_URL });
  equal((await tenant.endpoint.get(app, endpoint)).id, endpoint);
  await rejects(tenant.application.list(), { code: 403 });
  await svix.endpoint.delete(app, endpoint);
  await svix.application.delete(app);
  await rejects(svix.application.get(app), { code: 404 });
  await svix.eventType.delete(type, { expunge: true });
}

const here = await receiver();
try {
  await svix.health.get();
  const app = await applications();
  await eventTypes();
  const endpoint = await endpoints(app, here.url);
  await headers(app, endpoint);
  const first = await deliveries(app, endpoint, here);
  await lists(app, endpoint, first);
  await recovery(app, endpoint, here, first);
  await ending(app, endpoint, first);
  console.log("all well");
} finally {
  here.server.closeAllConnections();
  here.server.close();
}
