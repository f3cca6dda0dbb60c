// Keeps keys in records: in the home of the launcher, or where several nodes share a store.
import { codeOf } from "../../kernel/index.ts";
import type { Records, StoredRecord } from "../records/index.ts";
import type { KeyStore, StoredKey } from "./contract.ts";

const versioned = ({ value: key, version }: StoredRecord<StoredKey>) => ({ key, version });

export const recordKeys = (records: Records<StoredKey>): KeyStore => ({
  async list() {
    return (await records.list()).map(versioned);
  },
  async get(id) {
    const found = await records.get(id);
    return found && versioned(found);
  },
  async put(key, version = 0) {
    try {
      return await records.put(key.id, key, { version });
    } catch (error) {
      if (codeOf(error) === "record_conflict") return undefined;
      throw error;
    }
  },
  remove: (id) => records.remove(id),
  watch: (changed) => records.watch(({ key }) => changed(key)),
});
