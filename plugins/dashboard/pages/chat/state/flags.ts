/** Moves the flags that earlier versions kept in the browser to the server. @module */
import { requestAsOwner } from "../../live/owner.ts";
import { entriesOf, keep, readStored, storageKeys } from "../../live/storage.ts";

const key = storageKeys.flags;

/** @returns The conversations with a flag in this browser, and the change of each. */
function storedChanges(): readonly (readonly [id: string, change: object])[] {
  const { pinned, archived } = (readStored(key) ?? {}) as Readonly<Record<string, unknown>>;
  const ids = Array.isArray(pinned) ? pinned.filter((id) => typeof id === "string") : [];
  return [
    ...ids.map((id) => [id, { pinned: true }] as const),
    ...Object.entries(entriesOf<number>(archived, "number")).map(
      // The server does not archive a conversation that was used later.
      ([id, usedAt]) => [id, { archived: true, usedAt }] as const,
    ),
  ];
}

/**
 * Sends the flags of this browser once. After an error, the next page sends the rest.
 *
 * @returns True if the server has got some.
 */
export async function moveFlags(): Promise<boolean> {
  const changes = storedChanges();
  if (changes.length === 0) return false;
  for (const [id, change] of changes) {
    const path = `/api/conversations/${encodeURIComponent(id)}`;
    const answer = await requestAsOwner("PATCH", path, change);
    // The conversation may be gone.
    if ("error" in answer && answer.error.status !== 404) return false;
  }
  keep(key, undefined);
  return true;
}
