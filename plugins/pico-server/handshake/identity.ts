// Finds the person of a request and the sessions that they may use.
import type { Log } from "../../../kernel/index.ts";
import { isSessionId } from "../../../lib/pico-wire/index.ts";
import type { Identity, Permission } from "../../http/index.ts";
import type { KeyIdentity } from "../../keys/index.ts";
import type { TokenPerson } from "../../token-store/index.ts";
import type { Requester } from "../protocol-service.ts";
import type { SessionGuard } from "../session/session-guard.ts";
import { createKeyScope, createSessionScope, type SessionScope } from "../session/session-scope.ts";
import { whyNotAllowed } from "../session/rights.ts";
import type { Rejection } from "./rejection.ts";

export { noStopRight, toStopper, whyNotAllowed } from "../session/rights.ts";

/** The person or program that uses a connection or sent a request. */
export interface Person extends Requester {
  /** Undefined: every session. */
  readonly scope: SessionScope | undefined;
}

/** Clients with the channel token. */
export const tokenHolder: Person = {
  sender: { id: "token:pico" },
  scope: undefined,
  owner: false,
  mayAnswer: true,
};
/** Whether a client has the token itself, so that it learns nothing from a comparison with it. */
export const knowsToken = ({ sender }: Person): boolean => sender === tokenHolder.sender;

/** The person of a token that the check of a host knows: their own sessions only. */
export const toTokenPerson = ({ id, name }: TokenPerson, log: Log): Person => ({
  sender: { id: `host:${id}`, ...(name !== undefined && { name }) },
  scope: createSessionScope(id, "own", log),
  owner: false,
  mayAnswer: true,
});

/** @param kind - `session` for a sign-in of the dashboard; otherwise the host named the person. */
export function toPerson(kind: string, identity: Identity, log: Log): Person {
  const { id, name, sessions, owner = false, may } = identity;
  const rights = { owner, mayAnswer: may?.has("answer") ?? true, may };
  if (kind === "session") return { sender: { id: "owner" }, scope: undefined, ...rights };
  return {
    ...rights,
    sender: { id: `host:${id}`, ...(name !== undefined && { name }) },
    scope: createSessionScope(id, sessions ?? "own", log),
  };
}

/** The holder of a key. The sessions of keys are apart from those of people. */
export function toKeyHolder({ id, name, sessions, may }: KeyIdentity, log: Log): Person {
  return {
    sender: { id: `key:${id}`, ...(name !== undefined && { name }) },
    scope: createKeyScope(id, sessions ?? "own", log),
    owner: false,
    mayAnswer: may.has("answer"),
    may,
  };
}

/** @returns The rejection of a request without a right. */
export function forbiddenBy(
  person: Pick<Person, "may" | "sender">,
  permission: Permission,
): Rejection | undefined {
  const message = whyNotAllowed(person, permission);
  return message === undefined
    ? undefined
    : { code: "not_allowed", message, user: person.sender.id };
}

/**
 * Resolves the session of a request.
 *
 * @param name - Name that the client gave; undefined or empty without one.
 * @returns undefined if the person may not use it. A new session is rejected too if a list or a
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

/** Says nothing about the session: the answer is the same whether or not it exists. */
export const sessionForbidden = ({ sender }: Person): Rejection => ({
  code: "session_forbidden",
  user: sender.id,
});

const missingSession = "The URL has no session id. Add ?session_id=NAME.";

/** @returns The session that the URL of a request names, or the reason to reject it. */
export async function sessionOfUrl(
  params: URLSearchParams,
  person: Person,
  newId: () => string,
  sessionGuard: Pick<SessionGuard, "check">,
): Promise<string | Rejection> {
  const [name = "", ...more] = params.getAll("session_id");
  if (name === "") return { code: "invalid_session_id", message: missingSession };
  if (more.length > 0 || !isSessionId(name)) return { code: "invalid_session_id" };
  const session = resolveSession(person, name, newId);
  if (session === undefined) return sessionForbidden(person);
  return (await sessionGuard.check(session, knowsToken(person))) ?? session;
}
