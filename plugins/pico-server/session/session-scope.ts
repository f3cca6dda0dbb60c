// Limits the sessions that one person may use.
import type { Log } from "../../../kernel/index.ts";
import { isSessionId } from "../../../lib/pico-wire/index.ts";
import type { SessionAccess } from "../../http/index.ts";

/** The sessions of one person. A client without a scope may use every session. */
export interface SessionScope {
  /**
   * Converts a name from a client to the name of a session. The result does not depend on which
   * sessions exist.
   *
   * @returns undefined if the person may not use the session.
   */
  resolve(name: string): string | undefined;
  /**
   * Converts a name from a client of a protocol, for a key with named sessions: they have the same
   * names in all protocols, and what the key uploads has a session of its own.
   *
   * @param name - As the client gave it.
   * @param session - The session of the protocol with this name.
   */
  resolveNamed?(name: string, session: string, isUpload: boolean): string | undefined;
}

/** Begin the session names that belong to one person, or to one key. */
const personalPrefixes = ["host:", "key:"] as const;

/** A person whom a host names, or a key. */
type ScopeKind = "host" | "key";

/** Different ids have different results, and none contains the `/` that ends the prefix. */
const escapeId = (id: string): string => id.replace(/[%/]/g, encodeURIComponent);

function createOwnScope(id: string, kind: ScopeKind): SessionScope {
  const prefix = `${kind}:${escapeId(id)}/`;
  return {
    resolve(name) {
      const isPersonal = personalPrefixes.some((each) => name.startsWith(each));
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

/** The named sessions of a key, and those below its own name. */
function createNamedScope(id: string, list: readonly string[]): SessionScope {
  const names = new Set(list);
  const prefix = `key:${escapeId(id)}/`;
  const resolve = (name: string): string | undefined => {
    const isOwn = name.startsWith(prefix) && name.length > prefix.length;
    return names.has(name) || (isOwn && isSessionId(name)) ? name : undefined;
  };
  return {
    resolve,
    resolveNamed: (name, session, isUpload) =>
      isUpload ? resolve(prefix + session) : names.has(name) ? name : undefined,
  };
}

/** @returns undefined if the key may use every session. */
export const createKeyScope = (
  id: string,
  access: SessionAccess,
  log: Log,
): SessionScope | undefined =>
  Array.isArray(access)
    ? createNamedScope(id, access as readonly string[])
    : createSessionScope(id, access, log, "key");

/** @returns undefined if the person may use every session. */
export function createSessionScope(
  id: string,
  access: SessionAccess,
  log: Log,
  kind: ScopeKind = "host",
): SessionScope | undefined {
  if (access === "all") return undefined;
  if (typeof access === "function") return createCheckedScope(access, log);
  if (access === "own") return createOwnScope(id, kind);
  const names = new Set(access);
  return createCheckedScope((session) => names.has(session), log);
}
