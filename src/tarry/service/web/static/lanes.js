// How the sending to an endpoint goes, as the API tells it, and whether what was tried last failed.

import { way } from "./api.js";

/** An endpoint's lane. It opens after a few failures only: until then its last attempt tells. */
export async function laneOf(c, app, endpoint) {
  const lane = await c.api.get(way`/app/${app}/endpoint/${endpoint}/lane`);
  if (!lane.backlog || lane.standing !== "enabled" || lane.phase !== "closed") return lane;
  const asked = way`/app/${app}/attempt/endpoint/${endpoint}`;
  const { data: [last] } = await c.api.get(asked, { limit: 1, with_content: false });
  return { ...lane, failedAt: last && last.status !== 0 ? last.timestamp : null };
}
