// The plugin keys: one key for each device and script, for the channel `/keys` and the protocols.
import { createHash } from "node:crypto";
import type { Plugin } from "../../kernel/index.ts";
import type { KeyIdentity, Keys, KeysShape, KeyStore, KeyVerdict, StoredKey } from "./contract.ts";
import { containsKey, parseKey } from "./format.ts";
import { KeyRing } from "./key-ring.ts";
import { memoryKeys } from "./memory.ts";
import { recordKeys } from "./record-keys.ts";

export type {
  Key,
  KeyProtocol,
  KeyIdentity,
  KeyInput,
  Keys,
  KeyScope,
  KeysEvents,
  KeysShape,
  KeySessions,
  KeyStore,
  KeyVerdict,
  NewKey,
  StoredKey,
  VersionedKey,
} from "./contract.ts";
export { keysErrors } from "./errors.ts";
export { memoryKeys } from "./memory.ts";

/** Options of {@link keys}. */
export interface KeysOptions {
  /** Where the keys are stored. @defaultValue the records, or in memory without them */
  readonly store?: KeyStore;
}

const sha256 = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/**
 * Creates the plugin of named keys. List it before the channels that accept them. Until the first
 * key exists, nothing changes for clients.
 *
 * @param options - Where the keys are stored.
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { keys } from "doorward/plugins/keys";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel([
 *   tokenStore(memory({ pico: token })),
 *   channels(),
 *   http({ port: 0 }),
 *   keys(),
 *   picoServer(),
 * ]);
 */
export function keys({ store: given }: KeysOptions = {}): Plugin<KeysShape> {
  return {
    name: "keys",
    api: 1,
    needs: { http: true },

    async start({ needs: { http }, uses: { records }, clock, log, random, after, emit, onStop }) {
      const store = given ?? (records ? recordKeys(records<StoredKey>("keys")) : memoryKeys());
      const ring = new KeyRing({ store, clock, log, random, after, emit, hash: sha256 });
      const byAddress = http.limiter();
      const byId = http.limiter();
      const release = store.watch((id) => {
        ring.changed(id).catch((err: unknown) => log.error({ err }, "the keys cannot be read"));
      });
      await ring.load();
      onStop(async () => {
        release();
        await ring.stop();
      });

      async function admit(candidate: string, peer: Parameters<Keys["admit"]>[1]) {
        type Found = KeyIdentity | "expired";
        const compare = (): Found | false => ring.find(candidate, peer) ?? false;
        const { id = "none" } = parseKey(candidate) ?? {};
        const verdict = await byAddress.attempt<Found>(peer.key, candidate, async () => {
          const result = await byId.attempt(id, candidate, compare);
          return result.outcome === "match" ? result.match : false;
        });
        return toVerdict(verdict);
      }

      const service: Keys = {
        list: () => ring.list(),
        create: (input) => ring.create(input),
        rotate: (which, graceS) => ring.rotate(which, graceS),
        revoke: (which) => ring.revoke(which),
        isInUse: () => ring.isInUse(),
        containsKey,
        admit,
      };
      return { keys: service };
    },
  };
}

function toVerdict(
  verdict: Awaited<ReturnType<ReturnType<KeysShape["needs"]["http"]["limiter"]>["attempt"]>>,
): KeyVerdict {
  if (verdict.outcome === "limited") return verdict;
  if (verdict.outcome === "mismatch")
    return { outcome: "mismatch", ...(!verdict.again && { counted: verdict.counted }) };
  const match = verdict.match as KeyIdentity | "expired";
  return match === "expired" ? { outcome: "expired" } : { outcome: "match", identity: match };
}
