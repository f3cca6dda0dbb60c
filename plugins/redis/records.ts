// Records of plugins in Redis, shared by all nodes. Values are sealed with a key of the secret that
// the nodes share; keys are readable.
import type { Log } from "../../kernel/index.ts";
import type {
  KeptRecord,
  PutRecord,
  PutResult,
  RecordSession,
  RecordStore,
  SharedRecords,
} from "../records/contract.ts";
import type { Reply } from "./driver.ts";
import type { KeySpace } from "./keys.ts";
import type { RedisLink } from "./link.ts";
import type { Nodes } from "./nodes.ts";

interface RedisRecordsOptions {
  readonly link: RedisLink;
  readonly space: KeySpace;
  readonly nodes: Nodes;
  readonly random: (bytes: number) => Uint8Array;
  readonly log: Log;
  /** Milliseconds that a record of a session stays after the session has expired, at most. */
  readonly keepMs: number;
}

type Script = "record" | "records" | "putRecord" | "removeRecord";
type Changed = (key?: string) => void;

const maxRecords = 10_000;
/** 8 MiB of values in base64, and the other fields of each record. */
const maxBytes = 8 * 1_048_576 * (4 / 3) + maxRecords * 256;

export class RedisRecords implements SharedRecords {
  private readonly options: RedisRecordsOptions;
  private readonly listeners = new Map<string, Changed>();

  constructor(options: RedisRecordsOptions) {
    this.options = options;
    const { nodes, link } = options;
    nodes.handle("record", ({ c, k }) => {
      if (typeof k === "string") this.listeners.get(String(c))?.(k);
    });
    // Changes while the store was away did not arrive.
    link.watch((isUp) => {
      if (isUp) for (const changed of this.listeners.values()) changed();
    });
  }

  open(collection: string): RecordStore {
    const run = (script: Script, ...values: readonly (string | number)[]): Promise<Reply> => {
      const { link, space, keepMs } = this.options;
      const own = [space.records, collection, keepMs, space.all, ...values];
      const bytes = values.reduce<number>((sum, value) => sum + String(value).length, 0);
      return link.run({ script, keys: [], values: own, bytes, repeats: true });
    };
    return {
      get: async (key) => {
        const [version, sealed] = (await run("record", key)) as readonly Reply[];
        return version === undefined ? undefined : this.unseal(collection, key, version, sealed);
      },
      list: async () => {
        const rows = (await run("records")) as readonly (readonly Reply[])[];
        return rows.flatMap(([key, version, sealed]) => {
          const record = this.unseal(collection, String(key), version, sealed);
          return record ? [record] : [];
        });
      },
      put: async (record) => this.put(run, collection, record),
      remove: async (key, expected) => {
        const stored = Number(await run("removeRecord", key, expected ?? ""));
        return stored === 0 ? undefined : stored;
      },
      watch: (changed) => void this.listeners.set(collection, changed),
    };
  }

  private async put(
    run: (script: Script, ...values: readonly (string | number)[]) => Promise<Reply>,
    collection: string,
    { key, json, session, expected }: PutRecord,
  ): Promise<PutResult> {
    const { space, random } = this.options;
    const sk = session ? space.place(session.channel, session.session).sk : "";
    const text = JSON.stringify(session ? [json, session] : [json]);
    const sealed = space.seal(nameOf(collection, key), text, random);
    const values = [key, expected ?? "", sk, sealed, maxRecords, maxBytes];
    const [first, stored] = (await run("putRecord", ...values)) as readonly Reply[];
    const version = Number(first);
    if (version > 0) return { version };
    return version === 0 ? { conflict: Number(stored) } : { full: true };
  }

  /** @returns Undefined, and says so, if another program or secret has written the value. */
  private unseal(
    collection: string,
    key: string,
    version: Reply | undefined,
    sealed: Reply | undefined,
  ): KeptRecord | undefined {
    try {
      const text = this.options.space.unseal(nameOf(collection, key), String(sealed));
      const [json, session] = JSON.parse(text) as [string, RecordSession?];
      return { key, json, version: Number(version), session };
    } catch {
      this.options.log.error({ records: collection }, "a record in Redis cannot be read");
      return undefined;
    }
  }
}

const nameOf = (collection: string, key: string): string => `record\0${collection}\0${key}`;
