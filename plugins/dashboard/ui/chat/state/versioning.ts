/** Loads the code for versions of messages when a conversation has some. @module */
import { signal } from "@preact/signals";
import type { Message } from "./thread.ts";
import type * as Versioning from "./versions.ts";

/** Undefined until `loadVersioning` has run. */
export const versioning = signal<typeof Versioning | undefined>(undefined);

export async function loadVersioning(): Promise<typeof Versioning> {
  return (versioning.value ??= await import("./versions.ts"));
}

export const hasVersions = (messages: readonly Message[]): boolean =>
  messages.some((message) => message.kind === "user" && message.replaces !== undefined);
