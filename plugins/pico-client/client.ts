import { readFile } from "node:fs/promises";
import type { Scope } from "../../kernel/index.ts";
import {
  createLink,
  type Link,
  type LinkChange,
  type LinkHandlers,
  type LinkMessage,
} from "../../lib/pico-link/index.ts";
import type { ChannelHandle } from "../channels/index.ts";
import {
  createChannelAdapter,
  createHopTracker,
  sendThroughLink,
  toInbound,
} from "./channel-adapter.ts";
import type { PicoClientConfig } from "./config.ts";
import { createDial } from "./dial.ts";
import { createRateLimitedWarn, truncateLine } from "./server-warnings.ts";
import { picoClientErrors } from "./errors.ts";
import { createActorDriver } from "./machine.ts";
import { proxyFor } from "./proxy.ts";
import type { PicoClientOptions, PicoClientShape, PicoLink } from "./service.ts";
import { openSession, type StoredSession } from "./session-store.ts";

const isUnencryptedRemote = (address: string): boolean => {
  const { protocol, hostname } = new URL(address);
  return !/s:$/.test(protocol) && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
};

/** The link of the present configuration, as a service and as a channel. */
export function createClient(scope: Scope<PicoClientShape>, options: PicoClientOptions) {
  const { log, clock, needs, emit } = scope;
  const { env = {}, envPrefix = "SERVICE", home, profile = "" } = options;
  const listeners = new Set<LinkHandlers>();
  const hops = createHopTracker();
  const remark = createRateLimitedWarn(log, clock);
  let inlet: ChannelHandle | undefined;
  let link: Link | undefined;
  let storedSession: StoredSession | undefined;
  /** Changes of the configuration, one after the other. */
  let following = Promise.resolve();
  let isClosed = false;

  const newId = (): string => Buffer.from(scope.random(16)).toString("hex");
  const random = (): number => Buffer.from(scope.random(4)).readUInt32BE() / 2 ** 32;

  async function check({ enabled, url, ca_file }: PicoClientConfig): Promise<string | undefined> {
    if (!enabled) return undefined;
    if (url === "") throw picoClientErrors.PICO_CLIENT_URL_MISSING(envPrefix);
    const hasToken =
      needs.tokens.info("pico_client").source !== "none" || new URL(url).searchParams.has("token");
    if (!hasToken) {
      // Only a token store that reads the environment names a variable.
      const { variable } = await needs.tokens.describe("pico_client");
      throw picoClientErrors.PICO_CLIENT_TOKEN_MISSING(variable && envPrefix);
    }
    proxyFor(url, env);
    if (ca_file === "") return undefined;
    return readFile(ca_file, "utf8").catch((error: unknown) => {
      throw picoClientErrors.PICO_CLIENT_CA_UNREADABLE(ca_file, (error as Error).message);
    });
  }

  function changed(change: LinkChange): void {
    const { from, to, attempt, reason, check: advice, retryInMs } = change;
    emit("pico-client:link-changed", { from, to, attempt, reason });
    const fields = { from, to, attempt, reason, ...(retryInMs === undefined ? {} : { retryInMs }) };
    if (to === "blocked")
      log.warn(fields, `the other end refuses the connection (${reason}): ${advice}`);
    else if (to === "open") log.info(fields, "connected to the other end");
    else if (to === "waiting" && attempt === 1)
      log.warn(fields, `not connected (${reason}); trying again`);
    else log.debug(fields, "the link changed");
  }

  function tell<K extends keyof LinkHandlers>(
    handler: K,
    news: Parameters<NonNullable<LinkHandlers[K]>>[0],
  ): void {
    for (const listener of listeners) {
      try {
        (listener[handler] as ((news: unknown) => void) | undefined)?.(news);
      } catch (err) {
        log.error({ err, handler }, "a listener to the other end failed");
      }
    }
  }

  function deliver(session: string, message: LinkMessage): void {
    inlet
      ?.deliver(toInbound(session, message, hops.received(message.id)))
      .catch((err: unknown) =>
        remark({ err, id: message.id }, "an answer of the other end was not taken"),
      );
  }

  async function open({ enabled, url }: PicoClientConfig, ca: string | undefined): Promise<void> {
    if (!enabled) return;
    if (isUnencryptedRemote(url))
      log.warn({}, "the token goes to the other end unencrypted: wss: would keep it to itself");
    storedSession =
      options.sessionId === undefined
        ? await openSession({ home, profile, url, newId, log })
        : { id: options.sessionId, release: async () => {} };
    const sessionId = storedSession.id;
    link = createLink({
      url,
      sessionId,
      clock,
      random,
      newId,
      token: () => needs.tokenSecrets.reveal("pico_client") ?? "",
      dial: createDial({ clock, log, env, ca }),
      drive: createActorDriver(clock),
      silenceMs: options.silenceMs,
      onMessage: (message) => {
        deliver(sessionId, message);
        tell("onMessage", message);
      },
      onState: (change) => {
        changed(change);
        tell("onState", change);
      },
      onGap: (gap) => {
        const { from, to } = gap;
        const isCounted = from !== undefined && to !== undefined;
        remark(
          { ...gap },
          isCounted
            ? `messages of the other end are lost: ${to - from + 1}`
            : "the other end began anew: what it said meanwhile is lost",
        );
        tell("onGap", gap);
      },
      onError: (error) => {
        remark(
          { code: truncateLine(error.code) },
          `the other end reports: ${truncateLine(error.message)}`,
        );
        tell("onError", error);
      },
      onUpdate: (message) => tell("onUpdate", message),
      onRemoved: (id) => tell("onRemoved", id),
      onTyping: (on) => {
        inlet?.typing(sessionId, on);
        tell("onTyping", on);
      },
      onFrame: (frame) => tell("onFrame", frame),
    });
    link.start();
  }

  async function shut(): Promise<void> {
    link?.stop();
    link = undefined;
    await storedSession?.release();
    storedSession = undefined;
  }

  /** An impossible configuration changes nothing, and neither does one that comes with the stop. */
  async function turnTo(config: PicoClientConfig): Promise<void> {
    const ca = await check(config);
    if (isClosed) return;
    await shut();
    await open(config, ca);
  }

  const picoLink: PicoLink = {
    async send(message) {
      if (!link) throw picoClientErrors.not_running();
      return sendThroughLink(link, { ...message, hops: hops.sending(message) });
    },
    state: () => link?.state() ?? "idle",
    session: () => link?.sessionId,
    typing: (on) => link?.typing(on),
    listen(handlers) {
      const own = { ...handlers };
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };

  return {
    picoLink,
    check,
    port: createChannelAdapter({ link: () => link, inlet: () => inlet!, hops }),
    attach: (own: ChannelHandle | undefined) => void (inlet = own),
    retry: () => link?.retry(),
    /** Ends the link there is and begins the one that is wanted. */
    follow(config: PicoClientConfig): Promise<void> {
      const next = following.then(() => turnTo(config));
      following = next.catch(() => {});
      return next;
    },
    close: async () => {
      isClosed = true;
      await following;
      await shut();
    },
  };
}
