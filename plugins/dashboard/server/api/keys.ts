/** Endpoints that list, create, rotate and revoke keys. @module */
import type { FastifyInstance } from "fastify";
import type { Key, KeyInput, Keys } from "../../../keys/index.ts";
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

/** @returns The keys: those in use first. */
export function keysView({ services, auth }: DashboardContext): KeysView {
  const now = auth.clock.now();
  const keys = requireKeys(services)
    .list()
    .map((key) => toView(key, now));
  return {
    keys: keys.toSorted((a, b) => Number(b.state === "active") - Number(a.state === "active")),
  };
}

/** Creates a key. @returns It with its secret, to be shown once. */
export async function createKey(
  { services, http, runtime }: DashboardContext,
  input: KeyInput,
): Promise<NewKeyView> {
  const created = await requireKeys(services).create(input);
  const { id, name } = created.key;
  runtime.log.info({ key: id, name }, "a key was created");
  return { ...created, path: http.url("/keys") };
}

export async function rotateKey(
  { services, http, runtime }: DashboardContext,
  which: string,
  graceS: number | undefined,
): Promise<NewKeyView> {
  const rotated = await requireKeys(services).rotate(which, graceS);
  const { id, name } = rotated.key;
  runtime.log.info({ key: id, name, graceS }, "a key received a new secret");
  return { ...rotated, path: http.url("/keys") };
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
