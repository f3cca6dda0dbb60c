import type { FastifyRequest } from "fastify";
import { judgeToken } from "../access.ts";
import { seen, type Door } from "../door.ts";
import { Refusal } from "../errors.ts";

/** Asks for the launcher token again: a session left open must not be enough. Missing: 400, wrong: 403 and counted. */
export async function requireCurrent(
  door: Door,
  request: FastifyRequest,
  current: unknown,
): Promise<void> {
  if (typeof current !== "string" || current.trim() === "") {
    throw new Refusal("invalid_body", {
      message: 'Type the launcher token again: the field "current" is missing.',
    });
  }
  await judgeToken(door, seen(request).peer, current, { via: "current" }).catch(forbidden);
}

/** A wrong token inside of an action does not sign anybody out. */
export function forbidden(error: unknown): never {
  if (!(error instanceof Refusal) || error.code !== "invalid_token") throw error;
  throw new Refusal("invalid_token", { status: 403 });
}
