import type { FastifyRequest } from "fastify";
import { verifyToken } from "../access.ts";
import { requestState, type DashboardContext } from "../door.ts";
import { HttpError } from "../errors.ts";

/** Asks for the launcher token again: a session left open must not be enough. Missing: 400, wrong: 403 and counted. */
export async function requireTokenConfirmation(
  door: DashboardContext,
  request: FastifyRequest,
  current: unknown,
): Promise<void> {
  if (typeof current !== "string" || current.trim() === "") {
    throw new HttpError("invalid_body", {
      message: 'Type the launcher token again: the field "current" is missing.',
    });
  }
  await verifyToken(door, requestState(request).peer, current, { via: "current" }).catch(
    toForbidden,
  );
}

/** A wrong token inside of an action does not sign anybody out. */
export function toForbidden(error: unknown): never {
  if (!(error instanceof HttpError) || error.code !== "invalid_token") throw error;
  throw new HttpError("invalid_token", { status: 403 });
}
