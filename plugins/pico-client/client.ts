// Keeps the link of the current configuration and offers it as a service and as a channel.
import { readFile } from "node:fs/promises";
import type { Scope } from "../../kernel/index.ts";
import {
  createLink,
  fetchMedia,
  httpUrl,
  readHistory,
  type HttpSource,
  type ChatGap,
  type Link,
  type ChatStateChange,
  type ChatHandlers,
  type ChatMessage,
} from "../../lib/pico-link/index.ts";
import type { ChannelAdapter, ChannelHandle } from "../channels/index.ts";
import {
  createChannelAdapter,
  createHopTracker,
  sendThroughLink,
  toInbound,
} from "./channel-adapter.ts";
import type { PicoClientConfig } from "./config.ts";
import { createDial } from "./dial.ts";
import { createFetch } from "./fetch.ts";
import { isEncrypted, isLoopback } from "./direct-hosts.ts";
import { createRateLimitedWarn, truncateLine } from "./server-warnings.ts";
import { connectionAdvice, picoClientErrors } from "./errors.ts";
import { createActorDriver } from "./machine.ts";
import { proxyFor } from "./proxy.ts";
import type { PicoClientOptions, PicoClientShape, PicoLink } from "./service.ts";
import { openSession, type StoredSession } from "./session-store.ts";

const isUnencryptedRemote = (address: string): boolean => {
  const url = new URL(address);
  return !isEncrypted(url) && !isLoopback(url);
};

function withAdvice(text: string, reason: string): string {
  const advice = connectionAdvice(reason);
  return advice === undefined ? text : `${text}. ${advice}`;
}

/** @returns Scheme, host and port, with `ws:` for `http:`; without path and query, which may hold
 *  secrets. */
function originOf(address: string): string {
  const text = address.trim();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url ? `${url.protocol.replace(/^http/, "ws")}//${url.host}` : "an invalid address";
}

/** The link and what depends on it: the service `picoLink` and the channel adapter. */
export class Client {
  readonly picoLink: PicoLink;
  readonly channelAdapter: ChannelAdapter;
  private readonly scope: Scope<PicoClientShape>;
  private readonly options: PicoClientOptions;
  private readonly listeners = new Set<ChatHandlers>();
  private readonly hops = createHopTracker();
  private readonly warn: ReturnType<typeof createRateLimitedWarn>;
  private channel: ChannelHandle | undefined;
  private link: Link | undefined;
  /** The server of the link, for requests. */
  private source: HttpSource | undefined;
  private storedSession: StoredSession | undefined;
  /** Runs configuration changes one after the other. */
  private lastChange = Promise.resolve();
  private isClosed = false;

  constructor(scope: Scope<PicoClientShape>, options: PicoClientOptions) {
    this.scope = scope;
    this.options = options;
    this.warn = createRateLimitedWarn(scope.log, scope.clock);
    this.picoLink = this.createPicoLink();
    this.channelAdapter = createChannelAdapter({
      link: () => this.link,
      channel: () => this.channel!,
      hops: this.hops,
    });
  }

  attach(channel: ChannelHandle | undefined): void {
    this.channel = channel;
  }

  retry(): void {
    this.link?.retry();
  }

  /**
   * Rejects a configuration that cannot work.
   *
   * @returns The content of `ca_file`, if one is configured.
   */
  async check({ enabled, url, ca_file }: PicoClientConfig): Promise<string | undefined> {
    const { env = {}, envPrefix = "SERVICE" } = this.options;
    const { tokens } = this.scope.needs;
    if (!enabled) return undefined;
    if (url === "") throw picoClientErrors.PICO_CLIENT_URL_MISSING(envPrefix);
    const hasToken =
      tokens.info("pico_client").source !== "none" || new URL(url).searchParams.has("token");
    if (!hasToken) {
      // Only a token store that reads the environment names a variable.
      const { variable } = await tokens.describe("pico_client");
      throw picoClientErrors.PICO_CLIENT_TOKEN_MISSING(variable && envPrefix);
    }
    await this.checkTokenOrigin(url);
    proxyFor(url, env);
    if (ca_file === "") return undefined;
    return readFile(ca_file, "utf8").catch((error: unknown) => {
      throw picoClientErrors.PICO_CLIENT_CA_UNREADABLE(ca_file, (error as Error).message);
    });
  }

  /** Another server must not receive a token of the files, which belongs to the server there. */
  private async checkTokenOrigin(url: string): Promise<void> {
    const { filedUrl, envPrefix = "SERVICE" } = this.options;
    const { source } = this.scope.needs.tokens.info("pico_client");
    if (source !== "security" && source !== "config") return;
    const filed = await filedUrl?.();
    if (filed === undefined || originOf(filed) === originOf(url)) return;
    throw picoClientErrors.PICO_CLIENT_TOKEN_ORIGIN(envPrefix, originOf(filed), originOf(url));
  }

  /** Replaces the link by one with this configuration. */
  applyConfig(config: PicoClientConfig): Promise<void> {
    const change = this.lastChange.then(() => this.replaceLink(config));
    this.lastChange = change.catch(() => {});
    return change;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.lastChange;
    await this.closeLink();
  }

  /** Keeps the old link if the configuration cannot work or the plugin is stopping. */
  private async replaceLink(config: PicoClientConfig): Promise<void> {
    const ca = await this.check(config);
    if (this.isClosed) return;
    await this.closeLink();
    await this.openLink(config, ca);
  }

  private async openLink({ enabled, url }: PicoClientConfig, ca?: string): Promise<void> {
    if (!enabled) return;
    const { log, clock, needs } = this.scope;
    const { env = {}, home, profile = "", sessionId, silenceMs } = this.options;
    if (isUnencryptedRemote(url))
      log.warn({}, "the token is sent to the server unencrypted; use a wss: address");
    const newId = (): string => Buffer.from(this.scope.random(16)).toString("hex");
    this.storedSession =
      sessionId === undefined
        ? await openSession({ home, profile, url, newId, log })
        : { id: sessionId, release: async () => {} };
    const { id } = this.storedSession;
    const token = (): string => needs.tokenSecrets.reveal("pico_client") ?? "";
    this.source = { base: httpUrl(url), token, clock, fetch: createFetch({ env, ca }) };
    this.link = createLink({
      url,
      sessionId: id,
      clock,
      random: () => Buffer.from(this.scope.random(4)).readUInt32BE() / 2 ** 32,
      newId,
      token,
      dial: createDial({ clock, log, env, ca }),
      drive: createActorDriver(clock),
      silenceMs,
      ...this.createHandlers(id),
    });
    this.link.start();
  }

  private async closeLink(): Promise<void> {
    this.link?.close();
    this.link = undefined;
    await this.storedSession?.release();
    this.storedSession = undefined;
  }

  private createHandlers(sessionId: string): Required<ChatHandlers> {
    return {
      onMessage: (message) => {
        this.deliver(sessionId, message);
        this.notify("onMessage", message);
      },
      onState: (change) => {
        this.logState(change);
        this.notify("onState", change);
      },
      onGap: (gap) => {
        this.warnOfGap(gap);
        this.notify("onGap", gap);
      },
      onError: (error) => {
        this.warn(
          { code: truncateLine(error.code) },
          `the server reports: ${truncateLine(error.message)}`,
        );
        this.notify("onError", error);
      },
      onUpdate: (message) => this.notify("onUpdate", message),
      onQuestion: (question) => this.notify("onQuestion", question),
      onRemoved: (removed) => this.notify("onRemoved", removed),
      onTurn: (turn) => this.notify("onTurn", turn),
      onEnd: (end) => this.notify("onEnd", end),
      onTyping: (typing) => {
        this.channel?.typing(sessionId, typing.on);
        this.notify("onTyping", typing);
      },
      onFrame: (frame) => this.notify("onFrame", frame),
    };
  }

  private notify<K extends keyof ChatHandlers>(
    handler: K,
    value: Parameters<NonNullable<ChatHandlers[K]>>[0],
  ): void {
    for (const listener of this.listeners) {
      try {
        (listener[handler] as ((value: unknown) => void) | undefined)?.(value);
      } catch (err) {
        this.scope.log.error({ err, handler }, "a listener of picoLink threw an error");
      }
    }
  }

  private deliver(session: string, message: ChatMessage): void {
    this.channel
      ?.deliver(toInbound(session, message, this.hops.received(message.id)))
      .catch((err: unknown) =>
        this.warn({ err, id: message.id }, "the application rejected a message of the server"),
      );
  }

  private logState(change: ChatStateChange): void {
    const { log, emit } = this.scope;
    const { from, to, attempt, reason, check: advice, retryInMs } = change;
    emit("pico-client:link-changed", { from, to, attempt, reason });
    const fields = { from, to, attempt, reason, ...(retryInMs === undefined ? {} : { retryInMs }) };
    if (to === "blocked")
      log.warn(fields, `the server rejects the connection (${reason}): ${advice}`);
    else if (to === "open") log.info(fields, "connected to the server");
    else if (to === "waiting" && attempt === 1)
      log.warn(fields, withAdvice(`not connected (${reason}); retrying`, reason));
    else log.debug(fields, "the state of the link changed");
  }

  private warnOfGap(gap: ChatGap): void {
    const { from, to } = gap;
    this.warn(
      { ...gap },
      from !== undefined && to !== undefined
        ? `${to - from + 1} messages of the server were lost`
        : "the server restarted; its messages since the last connection were lost",
    );
  }

  private requireLink(): Link {
    if (this.link) return this.link;
    throw picoClientErrors.not_running();
  }

  private createPicoLink(): PicoLink {
    return {
      send: async (message) =>
        sendThroughLink(this.requireLink(), { ...message, hops: this.hops.sending(message) }),
      state: () => this.link?.state() ?? "idle",
      session: () => this.link?.sessionId,
      reportsEnds: () => this.link?.reportsEnds() ?? false,
      stop: async (requestId) => this.requireLink().stop(requestId),
      answer: async (questionId, answer) => this.requireLink().answer(questionId, answer),
      history: async (page) => readHistory(this.source!, this.requireLink().sessionId, page),
      fetchMedia: async (attachment, limits) => {
        this.requireLink();
        return fetchMedia(attachment, this.source!, limits);
      },
      typing: (on) => this.link?.typing(on),
      listen: (handlers) => {
        const listener = { ...handlers };
        this.listeners.add(listener);
        return () => void this.listeners.delete(listener);
      },
    };
  }
}
