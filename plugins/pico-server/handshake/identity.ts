// Who a client is and which sessions it may use.
import type { Log } from "../../../kernel/index.ts";
import {
  isSessionId,
  messageErrors,
  WireError,
  type ClientFrame,
} from "../../../lib/pico-wire/index.ts";
import type { Sender } from "../../channels/index.ts";
import type { Identity, SessionAccess } from "../../http/index.ts";
import type { Rejection } from "./rejection.ts";

/** The sessions of one person. A client without a scope may use every session. */
export interface SessionScope {
  /**
   * Converts a name from a client to the name of a session. The result does not depend on which
   * sessions exist.
   *
   * @returns undefined if the person may not use the session.
   */
  resolve(name: string): string | undefined;
}

/** Sender of the messages of clients with the channel token. */
export const tokenSender: Sender = { id: "token:pico" };
/** Sender of the messages of pages that are signed in to the dashboard. */
const ownerSender: Sender = { id: "owner" };

/** Begins every session name that belongs to one person. */
const personalPrefix = "host:";

/** Different ids have different results, and none contains the `/` that ends the prefix. */
const escapeId = (id: string): string => id.replace(/[%/]/g, encodeURIComponent);

/** @param kind - `session` for a sign-in of the dashboard; otherwise the host named the person. */
export function senderOf(kind: string, { id, name }: Identity): Sender {
  if (kind === "session") return ownerSender;
  return { id: `host:${id}`, ...(name !== undefined && { name }) };
}

function createOwnScope(id: string): SessionScope {
  const prefix = `${personalPrefix}${escapeId(id)}/`;
  return {
    resolve(name) {
      const isPersonal = name.startsWith(personalPrefix);
      if (isPersonal && (!name.startsWith(prefix) || name.length === prefix.length))
        return undefined;
      const session = isPersonal ? name : prefix + name;
      return isSessionId(session) ? session : undefined;
    },
  };
}

function createCheckedScope(mayUse: (session: string) => unknown, log: Log): SessionScope {
  return {
    resolve(session) {
      try {
        // a promise is truthy, so the comparison is strict
        return mayUse(session) === true ? session : undefined;
      } catch (error) {
        log.error({ err: error }, "sessions() of identify failed: the session is rejected");
        return undefined;
      }
    },
  };
}

/** @returns undefined if the identity may use every session. */
export function scopeOf(
  kind: string,
  { id, sessions }: Identity,
  log: Log,
): SessionScope | undefined {
  const access: SessionAccess = sessions ?? (kind === "session" ? "all" : "own");
  if (access === "all") return undefined;
  if (typeof access === "function") return createCheckedScope(access, log);
  if (access === "own") return createOwnScope(id);
  const names = new Set(access);
  return createCheckedScope((session) => names.has(session), log);
}

/** Who uses a connection or sent a request. */
export interface Person {
  readonly sender: Sender;
  /** Undefined: every session. */
  readonly scope: SessionScope | undefined;
}

/**
 * Resolves the session of a request.
 *
 * @param name - Name that the client gave; undefined or empty without one.
 * @returns undefined if the person may not use it. A new session is refused too if a list or a
 *   function does not permit it.
 */
export function resolveSession(
  { scope }: Person,
  name: string | undefined,
  newId: () => string,
): string | undefined {
  const given = name || newId();
  return scope === undefined ? given : scope.resolve(given);
}

/** The same for a frame. */
export const sessionForbiddenError = ({ id, session_id }: ClientFrame): WireError =>
  Object.assign(new WireError("session_forbidden", messageErrors.session_forbidden.message), {
    ...(id !== undefined && { requestId: id }),
    ...(session_id !== undefined && { sessionId: session_id }),
  });

/** Says nothing about the session: the answer is the same whether or not it exists. */
export const sessionForbidden = ({ sender }: Person): Rejection => ({
  code: "session_forbidden",
  user: sender.id,
});
