// Holds the keys in memory, so that a request waits for no store: compares, expires, changes them.
import { timingSafeEqual } from "node:crypto";
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import type { Peer } from "../http/index.ts";
import { checkGrace, checkInput } from "./check-input.ts";
import type {
  Key,
  KeyProtocol,
  KeyIdentity,
  KeyInput,
  KeyScope,
  KeysEvents,
  KeyStore,
  NewKey,
  StoredKey,
  VersionedKey,
} from "./contract.ts";
import { isPast, leftOf, toDeadline, type Deadline } from "./deadlines.ts";
import { keysErrors } from "./errors.ts";
import { formatKey, parseKey, toKeyId } from "./format.ts";

const maxKeys = 1_000;
const secretBytes = 32;
/** The last use is stored at most this often. */
const touchMs = 60_000;
const attempts = 5;
/** How often the system clock is read while connections of keys with an end are open, or not. */
const checkOpenMs = 1_000;
const checkIdleMs = 60_000;

interface KeyRingOptions {
  readonly store: KeyStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  readonly after: (ms: number, run: () => void) => Release;
  /** SHA-256 of a secret. A test counts its calls. */
  readonly hash: (secret: string) => Buffer;
  readonly emit: <K extends keyof KeysEvents>(type: K, event: KeysEvents[K]) => void;
}

/** A connection or request of a key. */
interface Holder {
  readonly digest: string;
  readonly ended: (reason: string) => void;
}

interface Entry {
  key: StoredKey;
  version: number;
  end: Deadline | undefined;
  previousEnd: Deadline | undefined;
  readonly holders: Set<Holder>;
  isReportedExpired: boolean;
}

type Edit = (key: StoredKey) => StoredKey;

const toPublicKey = ({ digest: _, previous: __, expiryReported: ___, ...key }: StoredKey): Key =>
  key;

/** @returns The network of an address: the /24 of IPv4, the /48 of IPv6. */
function networkOf({ key }: Peer): string {
  const [, v4] = /^(\d+\.\d+\.\d+)\.\d+$/.exec(key) ?? [];
  if (v4 !== undefined) return `${v4}.0/24`;
  const [, v6] = /^([\da-f]+:[\da-f]+:[\da-f]+):/.exec(key) ?? [];
  return v6 === undefined ? key : `${v6}::/48`;
}

export class KeyRing {
  private readonly options: KeyRingOptions;
  private readonly entries = new Map<string, Entry>();
  /** Compared with the secret of an unknown id, so that both take the same steps. */
  private readonly nobody: Buffer;
  private changes: Promise<unknown> = Promise.resolve();
  private cancelCheck: Release | undefined;
  /** Monotonic milliseconds of the next check. */
  private checkAt = 0;

  constructor(options: KeyRingOptions) {
    this.options = options;
    this.nobody = Buffer.from(options.random(secretBytes));
  }

  /** Reads all keys. Rejects if the store cannot be read. */
  async load(): Promise<void> {
    const listed = await this.options.store.list();
    const ids = new Set(listed.map(({ key }) => key.id));
    for (const found of listed) this.accept(found);
    for (const id of [...this.entries.keys()]) if (!ids.has(id)) this.drop(id);
  }

  /** A key has changed, here or on another node. */
  async changed(id: string | undefined): Promise<void> {
    if (id === undefined) return this.load();
    const found = await this.options.store.get(id);
    if (found) this.accept(found);
    else this.drop(id);
  }

  list(): readonly Key[] {
    const keys = [...this.entries.values()].map(({ key }) => toPublicKey(key));
    return keys.toSorted((a, b) => a.createdAt - b.createdAt || a.id.localeCompare(b.id));
  }

  isInUse(): boolean {
    for (const { key } of this.entries.values()) if (key.revokedAt === undefined) return true;
    return false;
  }

  /**
   * Finds the key of a text. Whatever is wrong, one secret is hashed and compared twice.
   *
   * @returns `expired` for the right secret of a key whose end has come; undefined for a wrong one.
   */
  find(text: string, peer: Peer): KeyIdentity | "expired" | undefined {
    const { id = "", secret = "" } = parseKey(text) ?? {};
    const given = this.options.hash(secret);
    const entry = this.entries.get(id);
    const isNow = this.isEqual(given, entry?.key.digest);
    const isBefore = this.isEqual(given, entry?.key.previous?.digest);
    if (!entry || !(isNow || isBefore)) return undefined;
    const digest = given.toString("base64url");
    if (!this.counts(entry.key.id, digest))
      return isPast(this.options.clock, entry.end) ? "expired" : undefined;
    this.touch(entry, peer);
    return this.toIdentity(entry, digest);
  }

  create(input: KeyInput): Promise<NewKey> {
    return this.inTurn(async () => {
      const fields = checkInput(input, this.options.clock.now());
      this.assertFree(fields.name);
      await this.makeRoom();
      const { secret, digest } = this.newSecret();
      const key = { id: this.newId(), ...fields, digest };
      const version = await this.guarded(() => this.options.store.put(key, undefined));
      if (version === undefined) throw keysErrors.keys_unavailable();
      this.accept({ key, version });
      this.options.emit("keys:created", { id: key.id, name: key.name });
      return { key: toPublicKey(key), secret: formatKey({ id: key.id, secret }) };
    });
  }

  rotate(which: string, givenGrace = 0): Promise<NewKey> {
    return this.inTurn(async () => {
      const graceS = checkGrace(givenGrace);
      const { secret, digest } = this.newSecret();
      const until = this.options.clock.now() + graceS * 1_000;
      const key = await this.change(this.idOf(which), ({ previous: _, ...before }) => {
        if (before.digest === undefined) throw keysErrors.unknown_key();
        const old = graceS > 0 && { previous: { digest: before.digest, until } };
        return { ...before, digest, ...old };
      });
      this.options.emit("keys:rotated", { id: key.id, name: key.name, graceS });
      return { key: toPublicKey(key), secret: formatKey({ id: key.id, secret }) };
    });
  }

  revoke(which: string): Promise<Key> {
    return this.inTurn(async () => {
      const revokedAt = this.options.clock.now();
      const edit: Edit = ({ digest: _, previous: __, ...key }) => ({ ...key, revokedAt });
      return toPublicKey(await this.change(this.idOf(which), edit));
    });
  }

  /** Ends the timer. Resolves when all changes are stored. */
  async stop(): Promise<void> {
    this.cancelCheck?.();
    await this.changes;
  }

  private isEqual(given: Buffer, digest: string | undefined): boolean {
    const stored = digest === undefined ? this.nobody : Buffer.from(digest, "base64url");
    return stored.byteLength === given.byteLength && timingSafeEqual(given, stored);
  }

  /** Whether a secret of a key counts now. */
  private counts(id: string, digest: string): boolean {
    const { clock } = this.options;
    const entry = this.entries.get(id);
    if (!entry || entry.key.revokedAt !== undefined || isPast(clock, entry.end)) return false;
    if (entry.key.digest === digest) return true;
    return entry.key.previous?.digest === digest && !isPast(clock, entry.previousEnd);
  }

  private toIdentity({ key, holders }: Entry, digest: string): KeyIdentity {
    const { id, name, sessions, scopes, protocols } = key;
    return {
      id,
      name,
      sessions,
      owner: false,
      may: new Set<KeyScope>(scopes),
      protocols: new Set<KeyProtocol>(protocols),
      isCurrent: () => this.counts(id, digest),
      onEnd: (ended) => {
        const holder = { digest, ended };
        holders.add(holder);
        this.scheduleFor(this.entries.get(id));
        return () => void holders.delete(holder);
      },
    };
  }

  private touch(entry: Entry, peer: Peer): void {
    const { clock, emit } = this.options;
    const { id, name, lastUsedAt } = entry.key;
    const now = clock.now();
    if (lastUsedAt !== undefined && Math.abs(now - lastUsedAt) < touchMs) return;
    const lastAddress = networkOf(peer);
    if (lastUsedAt === undefined) emit("keys:used-first", { id, name, address: lastAddress });
    const used = { lastUsedAt: now, lastAddress };
    entry.key = { ...entry.key, ...used };
    this.store(id, used, "the last use of a key was not stored");
  }

  /** Stores fields of a key, later. */
  private store(id: string, fields: Partial<StoredKey>, problem: string): void {
    void this.inTurn(() => this.change(id, (key) => ({ ...key, ...fields }))).catch(
      (err: unknown) => this.options.log.warn({ err, key: id }, problem),
    );
  }

  /** Runs one change after the other. */
  private inTurn<T>(run: () => Promise<T>): Promise<T> {
    const done = this.changes.then(run);
    this.changes = done.catch(() => undefined);
    return done;
  }

  private async guarded<T>(run: () => T | Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (cause) {
      if (codeOf(cause) in keysErrors) throw cause;
      throw keysErrors.keys_unavailable({ cause });
    }
  }

  /** Edits the stored key, which another node may change at the same time. */
  private change(id: string, edit: Edit): Promise<StoredKey> {
    const { store } = this.options;
    return this.guarded(async () => {
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        const found = await store.get(id);
        if (!found || found.key.revokedAt !== undefined) throw keysErrors.unknown_key();
        const key = edit(found.key);
        const version = await store.put(key, found.version);
        if (version === undefined) continue;
        this.accept({ key, version });
        return key;
      }
      throw keysErrors.keys_unavailable();
    });
  }

  /** @param which - Id or name. */
  private idOf(which: string): string {
    const entry =
      this.entries.get(which) ??
      [...this.entries.values()].find(
        ({ key }) => key.name === which && key.revokedAt === undefined,
      );
    if (!entry || entry.key.revokedAt !== undefined) throw keysErrors.unknown_key();
    return entry.key.id;
  }

  private assertFree(name: string): void {
    for (const { key } of this.entries.values())
      if (key.revokedAt === undefined && (key.name === name || key.id === name))
        throw keysErrors.key_name_taken(name);
  }

  /** Removes the key that was revoked first, if there are too many. */
  private async makeRoom(): Promise<void> {
    if (this.entries.size < maxKeys) return;
    const [oldest] = [...this.entries.values()]
      .filter(({ key }) => key.revokedAt !== undefined)
      .toSorted((a, b) => a.key.revokedAt! - b.key.revokedAt!);
    if (!oldest) throw keysErrors.too_many_keys();
    await this.guarded(() => this.options.store.remove(oldest.key.id));
    this.entries.delete(oldest.key.id);
  }

  private newId(): string {
    for (;;) {
      const id = toKeyId(this.options.random(8));
      if (!this.entries.has(id)) return id;
    }
  }

  private newSecret(): { readonly secret: string; readonly digest: string } {
    const secret = Buffer.from(this.options.random(secretBytes)).toString("base64url");
    return { secret, digest: this.options.hash(secret).toString("base64url") };
  }

  private accept({ key, version }: VersionedKey): void {
    const { clock, emit } = this.options;
    const known = this.entries.get(key.id);
    if (known && known.version >= version) return;
    const seen = [known?.end, known?.previousEnd];
    const next: Entry = {
      key,
      version,
      end: toDeadline(clock, key.expiresAt, seen),
      previousEnd: toDeadline(clock, key.previous?.until, seen),
      holders: known?.holders ?? new Set(),
      isReportedExpired: known?.isReportedExpired ?? key.expiryReported === true,
    };
    this.entries.set(key.id, next);
    this.endHolders(next);
    if (known && known.key.revokedAt === undefined && key.revokedAt !== undefined)
      emit("keys:revoked", { id: key.id, name: key.name });
    this.scheduleFor(next);
  }

  /** Another node has removed the key. */
  private drop(id: string): void {
    const entry = this.entries.get(id);
    if (!entry) return;
    this.entries.delete(id);
    this.endHolders(entry);
    if (entry.key.revokedAt === undefined)
      this.options.emit("keys:revoked", { id, name: entry.key.name });
  }

  /** Closes the connections whose secret does not count any more. */
  private endHolders({ key, holders }: Entry): void {
    for (const holder of [...holders]) {
      if (this.counts(key.id, holder.digest)) continue;
      holders.delete(holder);
      holder.ended("revoked");
    }
  }

  /** Checks again when the first end comes. */
  private schedule(): void {
    this.cancelCheck?.();
    this.cancelCheck = undefined;
    for (const entry of this.entries.values()) this.scheduleFor(entry);
  }

  /** Checks earlier if an end of this key comes first. Each request of a key calls it. */
  private scheduleFor(entry: Entry | undefined): void {
    const waits = entry ? this.waitsOf(entry) : [];
    if (waits.length === 0) return;
    const { after, clock } = this.options;
    const checkAt = clock.monotonic() + Math.min(...waits);
    if (this.cancelCheck && this.checkAt <= checkAt) return;
    this.cancelCheck?.();
    this.checkAt = checkAt;
    this.cancelCheck = after(checkAt - clock.monotonic(), () => this.check());
  }

  /** Milliseconds until the ends of a key. The system clock may be set, so no wait is long. */
  private waitsOf({ key, end, previousEnd, holders, isReportedExpired }: Entry): number[] {
    if (key.revokedAt !== undefined || isReportedExpired) return [];
    const { clock } = this.options;
    const longest = holders.size > 0 ? checkOpenMs : checkIdleMs;
    const left = [end, previousEnd].flatMap((each) => (each ? [leftOf(clock, each)] : []));
    const isDue = isPast(clock, end);
    return isDue ? [0] : left.filter((ms) => ms > 0).map((ms) => Math.min(ms, longest));
  }

  private check(): void {
    const { clock, emit } = this.options;
    for (const entry of this.entries.values()) {
      const { key, end } = entry;
      this.endHolders(entry);
      const isReported = entry.isReportedExpired || key.revokedAt !== undefined;
      entry.isReportedExpired = isPast(clock, end);
      if (!entry.isReportedExpired || isReported) continue;
      emit("keys:expired", { id: key.id, name: key.name });
      this.store(key.id, { expiryReported: true }, "the end of a key was not noted");
    }
    this.schedule();
  }
}
