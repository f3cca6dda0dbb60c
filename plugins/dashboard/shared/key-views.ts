/** Keys as pages and commands show them. @module */
import type { Key, KeyProtocol, KeyScope, NewKey } from "../../keys/index.ts";

export type { KeyInput, KeyProtocol, KeyScope } from "../../keys/index.ts";

export interface KeyView extends Key {
  /** `active`, or why the key does not count any more. */
  readonly state: "active" | "expired" | "revoked";
}

/** Whether clients with keys find the channel. */
interface ChannelForKeys {
  /** Why there is no channel at `/keys`, and the fix. Absent if there is one, or none is needed. */
  readonly closed?: string;
}

/** The keys of this launcher, as the dashboard lists them. */
export interface KeysView extends ChannelForKeys {
  /** Those in use first, then by age. */
  readonly keys: readonly KeyView[];
}

/** A key with its secret, shown once. */
export interface NewKeyView extends NewKey, ChannelForKeys {
  /** Path of the channel for keys, with the base path. */
  readonly path: string;
}

export const rightTexts: Readonly<Record<KeyScope, string>> = {
  read: "read",
  write: "write",
  answer: "answer questions",
  stop: "stop answers",
};

/** Says what a key may do: `read, write in own sessions`. */
export function keyRights({ scopes, sessions }: Pick<Key, "scopes" | "sessions">): string {
  const what = scopes.map((scope) => rightTexts[scope]).join(", ");
  if (sessions === "own") return `${what} in own sessions`;
  if (sessions === "all") return `${what} in all sessions`;
  return `${what} in ${(sessions as readonly string[]).join(", ")}`;
}

export const protocolNames: Readonly<Record<KeyProtocol, string>> = {
  keys: "the channel",
  openai: "OpenAI",
  ai_sdk: "AI SDK",
  ag_ui: "AG-UI",
};

/** Names the protocols of a key. Empty if it may be used for all. */
export const keyProtocols = ({ protocols }: Pick<Key, "protocols">): string =>
  protocols.length === Object.keys(protocolNames).length
    ? ""
    : protocols.map((name) => protocolNames[name]).join(", ");
