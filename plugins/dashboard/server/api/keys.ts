/** Endpoints that list, create, rotate and revoke keys. @module */
import type { FastifyInstance } from "fastify";
import type { Key, KeyInput, Keys, NewKey } from "../../../keys/index.ts";
import { requireTokenConfirmation } from "../auth/credentials.ts";
import type { DashboardContext, ServiceContext } from "../context.ts";
import { required } from "../errors.ts";
import {
  createKeyBody,
  currentBody,
  parseBody,
  requestState,
  rotateKeyBody,
  type WithId,
} from "../request.ts";
import type { KeysView, KeyView, NewKeyView } from "../../shared/key-views.ts";

/** @throws not_found if this deployment has no keys. */
const requireKeys = ({ keys }: ServiceContext): Keys =>
  required(keys, "This deployment has no keys.");

function toView(key: Key, now: number): KeyView {
  const { expiresAt = Infinity, revokedAt } = key;
  const state = revokedAt !== undefined ? "revoked" : expiresAt <= now ? "expired" : "active";
  return { ...key, state };
}

const isForChannel = ({ state, protocols }: KeyView): boolean =>
  state === "active" && protocols.includes("keys");

/** `/keys` is served while the channel pico is on. */
function channelFor(
  { services, http }: DashboardContext,
  keys: readonly KeyView[],
): Pick<KeysView, "closed"> {
  const isOff = services.picoServer?.status().enabled === false;
  if (!isOff || !keys.some(isForChannel)) return {};
  const closed =
    `The channel pico is off, so ${http.url("/keys")} answers 404. Turn the channel on: ` +
    '"enabled": true in channels.pico of config.json, or the switch in the dashboard.';
  return { closed };
}

/** @returns The keys: those in use first. */
export function keysView(context: DashboardContext): KeysView {
  const now = context.auth.clock.now();
  const keys = requireKeys(context.services)
    .list()
    .map((key) => toView(key, now))
    .toSorted((a, b) => Number(b.state === "active") - Number(a.state === "active"));
  return { keys, ...channelFor(context, keys) };
}

/** @returns How many keys clients may use at `/keys`. */
export const countChannelKeys = (context: DashboardContext): number =>
  context.services.keys ? keysView(context).keys.filter(isForChannel).length : 0;

function toNewView(context: DashboardContext, made: NewKey): NewKeyView {
  const view = toView(made.key, context.auth.clock.now());
  return { ...made, path: context.http.url("/keys"), ...channelFor(context, [view]) };
}

/** Creates a key. @returns It with its secret, to be shown once. */
export async function createKey(context: DashboardContext, input: KeyInput): Promise<NewKeyView> {
  const created = await requireKeys(context.services).create(input);
  const { id, name } = created.key;
  context.runtime.log.info({ key: id, name }, "a key was created");
  return toNewView(context, created);
}

export async function rotateKey(
  context: DashboardContext,
  which: string,
  graceS: number | undefined,
): Promise<NewKeyView> {
  const rotated = await requireKeys(context.services).rotate(which, graceS);
  const { id, name } = rotated.key;
  context.runtime.log.info({ key: id, name, graceS }, "a key received a new secret");
  return toNewView(context, rotated);
}

export async function revokeKey(
  { services, runtime, auth }: DashboardContext,
  which: string,
): Promise<KeyView> {
  const key = await requireKeys(services).revoke(which);
  runtime.log.info({ key: key.id, name: key.name }, "a key was revoked");
  return toView(key, auth.clock.now());
}

/** Adds `GET` and `POST /api/keys`, `POST /api/keys/:id/rotate` and `DELETE /api/keys/:id`. */
export function keyRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/keys", (_request, reply) => reply.send(keysView(context)));
  app.post("/api/keys", async (request, reply) => {
    const { current, ...input } = parseBody(createKeyBody, request);
    await requireTokenConfirmation(context, request, current);
    return reply.send(await createKey(context, input));
  });
  app.post("/api/keys/:id/rotate", async (request, reply) => {
    const { current, grace } = parseBody(rotateKeyBody, request);
    await requireTokenConfirmation(context, request, current);
    return reply.send(await rotateKey(context, (request as WithId).params.id, grace));
  });
  app.delete("/api/keys/:id", async (request, reply) => {
    // A Bearer is the launcher token already.
    if (requestState(request).session !== undefined)
      await requireTokenConfirmation(context, request, parseBody(currentBody, request)?.current);
    return reply.send(await revokeKey(context, (request as WithId).params.id));
  });
}
