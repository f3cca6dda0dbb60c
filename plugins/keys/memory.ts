// Keeps keys in memory: for tests, and for hosts that create their keys at each start.
import type { KeyStore, VersionedKey } from "./contract.ts";

/** Creates a store whose keys end with the process. */
export function memoryKeys(): KeyStore {
  const keys = new Map<string, VersionedKey>();
  const watchers = new Set<(id: string | undefined) => void>();
  const tell = (id: string): void => {
    for (const changed of watchers) changed(id);
  };
  return {
    list: () => [...keys.values()],
    get: (id) => keys.get(id),
    put(key, version) {
      const known = keys.get(key.id)?.version;
      if (known !== version) return undefined;
      const next = (known ?? 0) + 1;
      keys.set(key.id, { key, version: next });
      tell(key.id);
      return next;
    },
    remove(id) {
      keys.delete(id);
      tell(id);
    },
    watch(changed) {
      watchers.add(changed);
      return () => void watchers.delete(changed);
    },
  };
}
