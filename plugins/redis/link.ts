// The two connections of a node to Redis: one for calls, one for subscriptions.
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import { CallQueue, loadScripts, type ScriptCall } from "./call-queue.ts";
import type { RedisClient, Reply } from "./driver.ts";
import { redisErrors } from "./errors.ts";
import type { KeySpace } from "./keys.ts";
import { ReplyMeter } from "./reply-limit.ts";
import { scripts, type ScriptName } from "./scripts.ts";
import { assertServer, parseInfo, warningFor } from "./server-info.ts";

interface RedisLinkOptions {
  readonly create: () => RedisClient;
  readonly space: KeySpace;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly patienceMs: number;
  readonly replicas: number;
  readonly calls: {
    readonly head: () => readonly (string | number)[];
    readonly committed: (seconds: number) => void;
    readonly failed: (error: unknown) => void;
  };
}

/** Milliseconds between two checks of the connections. */
const checkEveryMs = 250;
/** A connection that is not ready after this time is replaced. */
const maxConnectMs = 3_000;
const channelsPerCommand = 500;
/** Far more than a list of 200 conversations with their previews. */
const maxReplyBytes = 64 * 1024 * 1024;

type Handler = (message: Buffer) => void;
type BeforeUp = (
  call: (script: ScriptName, keys: readonly string[], values: readonly string[]) => Promise<Reply>,
) => Promise<void>;

/** Replaces a connection that does not respond, or that has ended. */
function revive(client: RedisClient): void {
  if (client.status === "end") client.connect().catch(() => undefined);
  // A connection that is still being made has a timeout of its own, and must not be interrupted.
  else if (client.status === "connect" || client.status === "ready") client.disconnect(true);
}

export class RedisLink {
  readonly calls: CallQueue;
  /** Unix milliseconds since when the state has been what it is. */
  since: number;
  /** Why the store is away, or a warning about the server. */
  problem: string | undefined;
  private readonly options: RedisLinkOptions;
  private readonly commands: RedisClient;
  private readonly subscriber: RedisClient;
  private readonly handlers = new Map<string, Handler>();
  private readonly onState = new Set<(isUp: boolean) => void>();
  private up = false;
  private isPreparing = false;
  private isClosed = false;
  /** Monotonic time since when a connection has not been ready. */
  private notReadySince: number;
  private stopTimer: Release | undefined;
  private lastError = "no connection";
  private preparation: BeforeUp | undefined;
  /** Set until the first connection: rejects the start. */
  private refused: ((error: unknown) => void) | undefined;

  constructor(options: RedisLinkOptions) {
    const { create, clock, patienceMs, replicas, calls } = options;
    this.options = options;
    this.since = clock.now();
    this.notReadySince = clock.monotonic();
    this.commands = create();
    this.subscriber = create();
    this.calls = new CallQueue({
      patienceMs,
      replicas,
      now: () => clock.monotonic(),
      client: () => (this.up ? this.commands : undefined),
      ...calls,
    });
    for (const client of [this.commands, this.subscriber]) {
      client.on("error", (error) => {
        this.lastError = codeOf(error) === "internal" ? error.message : codeOf(error);
      });
      client.on("connect", () => this.limitReplies(client));
      client.on("ready", () => void this.prepare());
      client.on("close", () => this.lost());
    }
    this.subscriber.on("smessageBuffer", (channel, message) =>
      this.handlers.get(channel.toString())?.(message),
    );
  }

  get isUp(): boolean {
    return this.up;
  }

  /**
   * Connects for the first time.
   *
   * @throws REDIS_UNREACHABLE if that takes too long; an error of the server's checks.
   */
  async open(): Promise<void> {
    const { after } = this.options;
    for (const client of [this.commands, this.subscriber]) client.connect().catch(() => undefined);
    await new Promise<void>((resolve, reject) => {
      const cancel = after(this.options.patienceMs, () =>
        finish(() => reject(redisErrors.REDIS_UNREACHABLE(this.lastError))),
      );
      const finish = (settle: () => void): void => {
        cancel();
        this.refused = undefined;
        this.onState.delete(onUp);
        settle();
      };
      const onUp = (isUp: boolean): void => void (isUp && finish(resolve));
      this.onState.add(onUp);
      this.refused = (error) => finish(() => reject(error));
    }).catch((error: unknown) => {
      this.close();
      throw error;
    });
    this.check();
  }

  run(call: ScriptCall): Promise<Reply> {
    return this.calls.run(call);
  }

  /** Runs whenever the store has become available or unavailable. */
  watch(run: (isUp: boolean) => void): void {
    this.onState.add(run);
  }

  /** Runs after each connection, before any call: the store is up when it has resolved. */
  beforeUp(run: BeforeUp): void {
    this.preparation = run;
  }

  /** Listens to a channel. Resolves when all that is published from now on will be heard. */
  async subscribe(channel: string, handler: Handler): Promise<void> {
    this.handlers.set(channel, handler);
    // While the connection is away, the channel waits to be subscribed with all others.
    if (this.subscriber.status !== "ready") return;
    await this.subscriber.ssubscribe(channel).catch(() => undefined);
  }

  /** Resolves when the server no longer counts this node as a subscriber. */
  async unsubscribe(channel: string): Promise<void> {
    this.handlers.delete(channel);
    if (this.subscriber.status === "ready")
      await this.subscriber.sunsubscribe(channel).catch(() => undefined);
  }

  /** Replaces both connections, because they are open and no reply arrives. */
  reconnect(reason: string): void {
    this.lastError = reason;
    this.lost();
    for (const client of [this.commands, this.subscriber]) revive(client);
  }

  close(): void {
    this.isClosed = true;
    this.up = false;
    this.stopTimer?.();
    this.calls.close();
    this.commands.disconnect();
    this.subscriber.disconnect();
  }

  /** Checks the server, and subscribes to everything again. */
  private async prepare(): Promise<void> {
    const areReady = (): boolean =>
      this.commands.status === "ready" && this.subscriber.status === "ready";
    if (this.isPreparing || this.up || this.isClosed || !areReady()) return;
    this.isPreparing = true;
    try {
      await this.join();
      // The channel of the node itself is first here and last there: once it has a subscriber, all
      // others have theirs.
      const channels = [...this.handlers.keys()].reverse();
      for (let at = 0; at < channels.length; at += channelsPerCommand)
        await this.subscriber.ssubscribe(...channels.slice(at, at + channelsPerCommand));
      await this.preparation?.((script, keys, values) => this.call(script, keys, values));
      if (areReady()) this.became(true);
    } catch (error) {
      this.lastError = (error as Error).message;
      if (codeOf(error) !== "internal") {
        this.refused?.(error);
        this.problem = this.lastError;
      }
    } finally {
      this.isPreparing = false;
    }
  }

  /** Checks the server and the secret, and learns whether writes of this server may be lost. */
  private async join(): Promise<void> {
    const { commands } = this;
    const { space, replicas, log } = this.options;
    const info = parseInfo(await commands.call("INFO"));
    assertServer(info);
    await loadScripts(commands);
    const { master_replid = "", master_replid2 = "" } = info;
    const former = /^0*$/.test(master_replid2) ? "-" : master_replid2;
    const keys = [space.fingerprintKey, space.lineage];
    // Without an append-only file, a start of the server loses what it has not saved.
    const start = info["aof_enabled"] === "0" ? (info["run_id"] ?? "") : "";
    const values = [space.fingerprint(), master_replid, former, start];
    const reply = await this.call("join", keys, values).catch((error: Error) => {
      throw error.message.includes("OTHERSECRET") ? redisErrors.REDIS_OTHER_SECRET() : error;
    });
    const [, lost] = reply as readonly Reply[];
    if (lost === 1)
      log.warn({}, "Redis may have lost entries: every conversation begins a new epoch");
    this.problem = warningFor(info, replicas);
  }

  /** Calls a script while the store is not up yet. */
  private async call(
    script: ScriptName,
    keys: readonly string[],
    values: readonly string[],
  ): Promise<Reply> {
    const text = scripts[script];
    return (await this.commands.call("EVAL", text, keys.length, ...keys, ...values)) as Reply;
  }

  /** Breaks a connection that sends an endless reply. */
  private limitReplies({ stream }: RedisClient): void {
    const meter = new ReplyMeter(maxReplyBytes);
    const measure = (chunk: Buffer): void => {
      if (meter.accept(chunk)) return;
      stream!.off("data", measure);
      this.lastError = `a reply is larger than ${maxReplyBytes / 1_048_576} MiB`;
      stream!.destroy();
    };
    stream?.prependListener("data", measure);
  }

  private became(isUp: boolean): void {
    if (this.up === isUp) return;
    this.up = isUp;
    this.since = this.options.clock.now();
    this.notReadySince = this.options.clock.monotonic();
    for (const run of [...this.onState]) run(isUp);
    if (isUp) this.calls.schedule();
  }

  private lost(): void {
    if (this.isClosed || !this.up) return;
    this.problem = `Redis is away: ${this.lastError}`;
    this.became(false);
  }

  /** Rejects late calls, and gives up connections that do not become ready. */
  private readonly check = (): void => {
    const { clock, after } = this.options;
    if (this.isClosed) return;
    this.calls.expire();
    const now = clock.monotonic();
    if (this.up) this.notReadySince = now;
    else if (now - this.notReadySince > maxConnectMs) {
      this.notReadySince = now;
      for (const client of [this.commands, this.subscriber]) revive(client);
    } else if (!this.isPreparing) void this.prepare();
    this.stopTimer = after(checkEveryMs, this.check);
  };
}
