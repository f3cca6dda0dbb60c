// Runs a channel under test with an application and peers that the rules control.
import { inspect, type InspectOptions } from "node:util";
import { createKernel, type AnyPlugin, type Awaitable, type Plugin } from "../kernel/index.ts";
import { createCapturedLog } from "../kernel/testing.ts";
import {
  application,
  channels,
  type ChannelAdapter,
  type Channels,
  type ChannelsEvents,
  type Message,
  type QuestionOption,
} from "../plugins/channels/index.ts";
import { defaultCapabilities, type ChannelCapabilities } from "./capabilities.ts";
import type { Tokens, TokenSecrets } from "../plugins/token-store/index.ts";
import type { Conversations } from "../plugins/conversations/index.ts";
import { testingErrors } from "./errors.ts";
import { createQueue, withTimeout, type Queue } from "./client.ts";
import {
  createListenerWatch,
  trackResources,
  type ListenerWatch,
  type OpenResources,
} from "./open-resources.ts";
import { tapWire, type Wire } from "./wire.ts";
import { watchDeliveries, type RejectedDeliveries } from "./rejected-deliveries.ts";

/** Shows logged values whole, with errors and their causes. */
const inspectAll: InspectOptions = {
  depth: 8,
  maxArrayLength: null,
  maxStringLength: null,
  breakLength: Infinity,
};

export interface ConformanceRunOptions {
  readonly channel: AnyPlugin;
  readonly before: readonly AnyPlugin[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly capabilities: ChannelCapabilities;
  join(services: Readonly<Record<string, unknown>>): Awaitable<Peer>;
  intrude?(services: Readonly<Record<string, unknown>>): Awaitable<Stranger | void>;
}

/** A peer whose waits end with an error after a timeout. */
export interface ObservedPeer extends Pick<
  Peer,
  "session" | "say" | "typing" | "reply" | "press" | "forge" | "leave"
> {
  /** Connects another client of this session. */
  another?(): Promise<ObservedPeer>;
  /** Waits for the oldest event of these kinds; earlier events of other kinds are skipped. */
  sees<W extends PeerEvent["what"]>(...kinds: W[]): Promise<Extract<PeerEvent, { what: W }>>;
}

/** One run of the channel under test, whose application the rule controls. */
export interface ConformanceRun {
  readonly capabilities: Required<ChannelCapabilities>;
  readonly timeoutMs: number;
  readonly channels: Channels;
  readonly ports: readonly ChannelAdapter[];
  readonly port: ChannelAdapter;
  readonly attached: () => number;
  readonly messages: Queue<Message>;
  readonly typing: Queue<ChannelsEvents["channels:typing-changed"]>;
  readonly receipts: Queue<ChannelsEvents["channels:receipt-changed"]>;
  /** Sessions of which the channel reported that no peer is left. */
  readonly idle: Queue<string>;
  readonly faults: readonly string[];
  /** @returns What the plugins logged so far, as one text. */
  logged(): string;
  /** @returns The tokens of the started kernel. */
  secrets(): readonly string[];
  /** @returns What the channel has passed to the token store to be checked. */
  candidates(): readonly string[];
  /**
   * Replaces the token of the channel.
   *
   * @returns False if there is none, or it cannot be replaced.
   */
  replaceToken(value: string): Promise<boolean>;
  /** @returns The problem if the channel left a rejected promise of `deliver()` unhandled. */
  unhandled(): string | undefined;
  /** Sets what the application does with a message, in addition to recording it. */
  answerWith(run: (message: Message) => Awaitable<void>): void;
  join(): Promise<ObservedPeer>;
  readonly intrude: (() => Promise<Stranger | void>) | undefined;
  /** Starts the stopped kernel again. */
  start(): Promise<void>;
  /** Starts the stopped kernel again, and tracks what it opens. */
  startTracked(): Promise<OpenResources>;
  /**
   * Starts the stopped kernel again.
   *
   * @returns The servers and UDP sockets that the channel opened before the application was ready.
   */
  startObserved(): Promise<readonly string[]>;
  /** Starts the stopped kernel again, and observes the bytes that the channel receives. */
  startOnWire(): Promise<Wire>;
  /** Starts the channel in another kernel of this process, from the same plugin. */
  twin(): Promise<ConformanceRun>;
  stop(): Promise<void>;
  /** Ends the tracking. */
  end(): void;
}

/** The real channels plugin, which also records the adapters that attach. */
function observeChannels(
  ports: ChannelAdapter[],
  open: Set<string>,
  idle: Queue<string>,
  deliveries: RejectedDeliveries,
  starting: () => void,
): Plugin<{ uses: { conversations: Conversations }; offers: { channels: Channels } }> {
  const { shape: _, ...real } = channels();
  return {
    ...real,
    async start(scope) {
      const offered = await real.start(scope as never);
      starting();
      const attach: Channels["attach"] = (port) => {
        const inlet = offered.channels.attach(port);
        ports.push(port);
        open.add(port.name);
        return {
          ...inlet,
          deliver: (message, options) => deliveries.watch(inlet.deliver(message, options)),
          sessionIdle: (session) => (idle.push(session), inlet.sessionIdle(session)),
          close: () => (open.delete(port.name), inlet.close()),
        };
      };
      return { channels: { ...offered.channels, attach } };
    },
  };
}

/** Notes what the channel passes to a token store to be checked. */
const observeTokens = (plugins: readonly AnyPlugin[], candidates: string[]): AnyPlugin[] =>
  plugins.map((plugin) => ({
    ...plugin,
    async start(scope: never) {
      const offered = (await plugin.start(scope)) as { readonly tokens?: Tokens } | undefined;
      if (!offered?.tokens) return offered as never;
      const { tokens } = offered;
      const noting = { ...tokens };
      for (const method of ["verify", "match"] as const)
        noting[method] = (name: string, candidate: string): Promise<never> => {
          candidates.push(candidate);
          return tokens[method](name, candidate) as Promise<never>;
        };
      return { ...offered, tokens: noting } as never;
    },
  }));

/** Explains a result of `join` that is not a peer, as in JavaScript. */
function assertPeer(peer: Partial<Peer> | undefined): void {
  const { session } = peer ?? {};
  const missing = (["say", "next", "leave"] as const).filter(
    (name) => typeof peer?.[name] !== "function",
  );
  if (typeof session === "string" && session !== "" && missing.length === 0) return;
  const wrong = [...(typeof session === "string" && session ? [] : ["session"]), ...missing];
  throw testingErrors.TEST_NOT_A_PEER(wrong);
}

/** Adds a time limit to every wait for an event. */
function observePeer(peer: Peer, timeoutMs: number): ObservedPeer {
  assertPeer(peer);
  async function find(kinds: readonly string[]): Promise<PeerEvent> {
    for (;;) {
      const peerEvent = await peer.next();
      if (kinds.includes(peerEvent.what)) return peerEvent;
    }
  }
  return {
    session: peer.session,
    say: (content) => peer.say(content),
    ...(peer.typing && { typing: (on: boolean) => peer.typing!(on) }),
    ...(peer.reply && { reply: (id: string, content: string) => peer.reply!(id, content) }),
    ...(peer.press && {
      press: (id: string, option: QuestionOption) => peer.press!(id, option),
    }),
    ...(peer.forge && {
      forge: (content: string, fields: Readonly<Record<string, unknown>>) =>
        peer.forge!(content, fields),
    }),
    ...(peer.another && {
      another: async () => observePeer(await peer.another!(), timeoutMs),
    }),
    leave: () => peer.leave(),
    sees: (...kinds) =>
      withTimeout(timeoutMs, `the peer to see "${kinds.join('" or "')}"`, find(kinds)) as never,
  };
}

/** Starts a stopped kernel, and tracks what it opens until the signal. */
function trackStarts(
  start: () => Promise<unknown>,
  watch: ListenerWatch,
  ends: AbortSignal,
): Pick<ConformanceRun, "startTracked" | "startObserved" | "startOnWire"> {
  async function startTracked(): Promise<OpenResources> {
    const { result, resources } = trackResources((opened) => {
      watch.resources = opened;
      return start();
    });
    ends.addEventListener("abort", resources.end);
    await result;
    return resources;
  }
  return {
    startTracked,
    startObserved: async () => (await startTracked(), watch.early),
    async startOnWire() {
      const wire = tapWire(await startTracked());
      ends.addEventListener("abort", wire.end);
      return wire;
    },
  };
}

/** Reads and replaces the tokens of a run. */
const tokenCalls = (
  services: { readonly tokens?: Tokens; readonly tokenSecrets?: TokenSecrets },
  nameOf: () => string,
): Pick<ConformanceRun, "secrets" | "replaceToken"> => ({
  secrets: () =>
    (services.tokens?.names() ?? []).flatMap((name) => services.tokenSecrets?.reveal(name) ?? []),
  async replaceToken(value) {
    const { tokens, tokenSecrets } = services;
    const name = nameOf();
    if (!tokens?.names().includes(name) || !tokenSecrets?.reveal(name)) return false;
    const replaced = tokenSecrets.replace(name, { value, expect: tokens.info(name).version });
    return replaced.then(
      () => true,
      () => false,
    );
  },
});

export async function startConformanceRun(options: ConformanceRunOptions): Promise<ConformanceRun> {
  const { channel, before, config, timeoutMs, capabilities, join, intrude } = options;
  const ports: ChannelAdapter[] = [];
  const open = new Set<string>();
  const idle = createQueue<string>(timeoutMs);
  const messages = createQueue<Message>(timeoutMs);
  const typing = createQueue<ChannelsEvents["channels:typing-changed"]>(timeoutMs);
  const receipts = createQueue<ChannelsEvents["channels:receipt-changed"]>(timeoutMs);
  const faults: string[] = [];
  const ends = new AbortController();
  const deliveries = watchDeliveries();
  const { log, lines } = createCapturedLog();
  let run = (_: Message): Awaitable<void> => undefined;
  const taking = application((message) => (messages.push(message), run(message)));
  const candidates: string[] = [];
  const watch = createListenerWatch();
  const observed = observeChannels(ports, open, idle, deliveries, watch.begin);
  const kernel = createKernel<readonly [ReturnType<typeof channels>]>([] as never, {
    plugins: [...observeTokens(before, candidates), observed, channel, watch.endsBefore(taking)],
    config,
    log,
  });
  kernel.on(
    "kernel:fault",
    ({ plugin, during, message }) => void faults.push(`${plugin} in ${during}: ${message}`),
  );
  kernel.on("channels:typing-changed", (event) => typing.push(event));
  kernel.on("channels:receipt-changed", (event) => receipts.push(event));
  const services = kernel.services as {
    readonly channels: Channels;
    readonly tokens?: Tokens;
    readonly tokenSecrets?: TokenSecrets;
  };
  const begin = <T>(what: string, step: Awaitable<T>): Promise<T> =>
    withTimeout(timeoutMs, what, Promise.resolve(step));
  const start = (): Promise<unknown> => begin("the start", kernel.start());
  const starts = trackStarts(start, watch, ends.signal);
  await start().catch((error: unknown) => {
    deliveries.end();
    throw error;
  });

  return {
    capabilities: { ...defaultCapabilities, ...capabilities },
    timeoutMs,
    get channels() {
      return services.channels;
    },
    ports,
    get port() {
      return ports.at(-1)!;
    },
    attached: () => open.size,
    messages,
    typing,
    receipts,
    idle,
    faults,
    logged: () => inspect(lines, inspectAll),
    ...tokenCalls(services, () => ports.at(-1)!.name),
    candidates: () => candidates,
    unhandled: deliveries.problem,
    answerWith: (answer) => void (run = answer),
    join: async () =>
      observePeer(await begin("a peer to join", join(services as never)), timeoutMs),
    intrude: intrude && (() => begin("a stranger", intrude(services as never))),
    start: async () => void (await start()),
    ...starts,
    twin: () => startConformanceRun(options),
    async stop() {
      await begin("the stop", kernel.stop({ timeoutMs: timeoutMs * 2 }));
    },
    end() {
      deliveries.end();
      ends.abort();
    },
  };
}

/**
 * An event that a peer of a channel sees, in terms that all channels share. `id`: of the message,
 * as in its receipt. `content`: its full text. `code`: the error code that the channel shows.
 */
export type PeerEvent =
  | {
      readonly what: "create";
      readonly id: string;
      readonly content: string;
      readonly kind?: string | undefined;
      /** The id that the application received with the message of the peer. */
      readonly inReplyTo?: string | undefined;
    }
  | {
      readonly what: "update";
      readonly id: string;
      /** The full text so far. */
      readonly content: string;
      readonly final?: boolean | undefined;
    }
  | { readonly what: "remove"; readonly id: string }
  | { readonly what: "typing"; readonly on: boolean }
  | { readonly what: "error"; readonly code: string };

/** A peer of a channel, implemented by the author of the channel. */
export interface Peer {
  /** The session of this peer. */
  readonly session: string;
  /** Sends a message. Errors of the channel may reject, or arrive as an event. */
  say(content: string): Awaitable<unknown>;
  /** Begins or stops typing. Omit it if the network does not report typing. */
  typing?(on: boolean): Awaitable<unknown>;
  /**
   * Sends a message that replies to the message with this id, as `next` has returned it. Omit it if
   * the network does not tell to which message a peer replies.
   */
  reply?(id: string, content: string): Awaitable<unknown>;
  /**
   * Presses the button of this option at the question with this id, as `next` has returned it.
   * The button may be gone. Omit it if the channel shows no buttons.
   */
  press?(id: string, option: QuestionOption): Awaitable<unknown>;
  /**
   * Sends a message as `say` does, in a frame that also has these fields: a client that pretends to
   * be another one. Omit it if frames are lines of JSON over TCP, or WebSocket texts of JSON: the
   * kit adds the fields itself.
   */
  forge?(content: string, fields: Readonly<Record<string, unknown>>): Awaitable<unknown>;
  /**
   * Connects another client to the session of this peer. Omit it if a session has one client by
   * its nature.
   */
  another?(): Awaitable<Peer>;
  /** Waits for the next event, in the order of arrival. */
  next(): Promise<PeerEvent>;
  /** Disconnects the peer, and resolves when the channel has noticed. */
  leave(): Awaitable<unknown>;
}

/** A peer without permission. */
export interface Stranger {
  /** Tries to send a message. It may reject. */
  say(content: string): Awaitable<unknown>;
}
