/** Names of conversations that were opened in this browser, for servers without a store. @module */
import { keep, readStored, storageKeys } from "../../live/storage.ts";

const key = storageKeys.names;
const maxNames = 30;

/** @returns The conversations opened in this browser, latest first. Names are not secret. */
export function knownNames(): readonly string[] {
  const names = readStored(key);
  return Array.isArray(names)
    ? names.filter((name) => typeof name === "string").slice(0, maxNames)
    : [];
}

export function rememberName(name: string): void {
  keep(key, [name, ...knownNames().filter((known) => known !== name)].slice(0, maxNames));
}

export function createName(): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `chat-${random.toString(16).padStart(8, "0")}`;
}

const encoder = new TextEncoder();

/** Applies the limits of the channel: up to 256 bytes, no control characters. */
export function isConversationName(name: string): boolean {
  return name !== "" && encoder.encode(name).length <= 256 && !/\p{Cc}/u.test(name);
}
