// Runs a channel under test with an application and peers that the rules control.
import { inspect, type InspectOptions } from "node:util";
import { createKernel, type AnyPlugin, type Awaitable, type Kernel } from "../kernel/index.ts";
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
import { testingErrors } from "./errors.ts";
import { createQueue, withTimeout, type Queue } from "./client.ts";
import { trackResources, type OpenResources } from "./open-resources.ts";
import { settle } from "./rules/rule.ts";
import { tapWire, type Wire } from "./wire.ts";
import { watchDeliveries } from "./rejected-deliveries.ts";

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
export function assertPeer(peer: Partial<Peer> | undefined): void {
  const { session } = peer ?? {};
  const missing = (["say", "next", "leave"] as const).filter(
    (name) => typeof peer?.[name] !== "function",
  );
  if (typeof session === "string" && session !== "" && missing.length === 0) return;
  const wrong = [...(typeof session === "string" && session ? [] : ["session"]), ...missing];
  throw testingErrors.TEST_NOT_A_PEER(wrong);
}

/** The services that the rules use. */
type RunServices = {
  readonly channels: Channels;
  readonly tokens?: Tokens;
  readonly tokenSecrets?: TokenSecrets;
};

/** One run of the channel under test, whose application the rule controls. */
export class ConformanceRun {
  readonly timeoutMs: number;
  readonly capabilities: Required<ChannelCapabilities>;
  readonly ports: ChannelAdapter[] = [];
  /** Names of the attached adapters whose inlets are open. */
  readonly attached = new Set<string>();
  readonly messages: Queue<Message>;
  readonly typing: Queue<ChannelsEvents["channels:typing-changed"]>;
  readonly receipts: Queue<ChannelsEvents["channels:receipt-changed"]>;
  /** Sessions of which the channel reported that no peer is left. */
  readonly idle: Queue<string>;
  readonly faults: string[] = [];
  /** The candidates that the channel has passed to the token store to be checked. */
  readonly candidates: string[] = [];
  private answer: (message: Message) => Awaitable<void> = () => undefined;
  private readonly options: ConformanceRunOptions;
  private readonly kernel: Kernel<readonly [ReturnType<typeof channels>]>;
  private readonly ends = new AbortController();
  private readonly deliveries = watchDeliveries();
  private readonly captured = createCapturedLog();
  private resources: OpenResources | undefined;
  /** The servers and UDP sockets before the start of the channel. */
  private listeners: readonly string[] = [];
  private early: readonly string[] = [];

  constructor(options: ConformanceRunOptions) {
    const { timeoutMs, capabilities } = options;
    this.options = options;
    this.timeoutMs = timeoutMs;
    this.capabilities = { ...defaultCapabilities, ...capabilities };
    this.messages = createQueue(timeoutMs);
    this.typing = createQueue(timeoutMs);
    this.receipts = createQueue(timeoutMs);
    this.idle = createQueue(timeoutMs);
    this.kernel = this.createKernel();
  }

  get channels(): Channels {
    return this.services.channels;
  }

  get port(): ChannelAdapter {
    return this.ports.at(-1)!;
  }

  /** Sets what the application does with a message, in addition to recording it. */
  answerWith(answer: (message: Message) => Awaitable<void>): void {
    this.answer = answer;
  }

  start(): Promise<void> {
    return this.limited("the start", this.kernel.start());
  }

  async stop(): Promise<void> {
    await this.limited("the stop", this.kernel.stop({ timeoutMs: this.timeoutMs * 2 }));
  }

  /** Ends the tracking. */
  end(): void {
    this.deliveries.end();
    this.ends.abort();
  }

  async join(): Promise<Peer> {
    const peer = await this.limited("a peer to join", this.options.join(this.services));
    assertPeer(peer);
    return peer;
  }

  get intrude(): (() => Promise<Stranger | void>) | undefined {
    const { intrude } = this.options;
    return intrude && (() => this.limited("a stranger", intrude(this.services)));
  }

  /** Waits for the oldest event of these kinds; earlier events of other kinds are skipped. */
  sees<W extends PeerEvent["what"]>(
    peer: Peer,
    ...kinds: W[]
  ): Promise<Extract<PeerEvent, { what: W }>> {
    const find = async (): Promise<PeerEvent> => {
      for (;;) {
        const event = await peer.next();
        if ((kinds as string[]).includes(event.what)) return event;
      }
    };
    return this.limited(`the peer to see "${kinds.join('" or "')}"`, find()) as never;
  }

  /** Starts the kernel again, and tracks what it opens. */
  async restartTracked(): Promise<OpenResources> {
    await this.stop();
    const { result, resources } = trackResources((opened) => {
      this.resources = opened;
      return this.start();
    });
    this.ends.signal.addEventListener("abort", resources.end);
    await result;
    return resources;
  }

  /**
   * Starts the kernel again.
   *
   * @returns The servers and UDP sockets that the channel opened before the application was ready.
   */
  async restartObserved(): Promise<readonly string[]> {
    await this.restartTracked();
    return this.early;
  }

  /** Starts the kernel again, and observes the bytes that the channel receives. */
  async restartOnWire(): Promise<Wire> {
    const wire = tapWire(await this.restartTracked());
    this.ends.signal.addEventListener("abort", wire.end);
    return wire;
  }

  /** Starts the channel in another kernel of this process, from the same plugin. */
  twin(): Promise<ConformanceRun> {
    return startConformanceRun(this.options);
  }

  /** @returns What the plugins logged so far, as one text. */
  logged(): string {
    return inspect(this.captured.lines, inspectAll);
  }

  /** @returns The problem if the channel left a rejected promise of `deliver()` unhandled. */
  unhandled(): string | undefined {
    return this.deliveries.problem();
  }

  /** @returns The tokens of the started kernel. */
  secrets(): readonly string[] {
    const { tokens, tokenSecrets } = this.services;
    return (tokens?.names() ?? []).flatMap((name) => tokenSecrets?.reveal(name) ?? []);
  }

  /**
   * Replaces the token of the channel.
   *
   * @returns False if there is none, or it cannot be replaced.
   */
  async replaceToken(value: string): Promise<boolean> {
    const { tokens, tokenSecrets } = this.services;
    const { name } = this.port;
    if (!tokens?.names().includes(name) || !tokenSecrets?.reveal(name)) return false;
    const replaced = tokenSecrets.replace(name, { value, expect: tokens.info(name).version });
    return replaced.then(
      () => true,
      () => false,
    );
  }

  private get services(): RunServices {
    return this.kernel.services as RunServices;
  }

  private limited<T>(what: string, step: Awaitable<T>): Promise<T> {
    return withTimeout(this.timeoutMs, what, Promise.resolve(step));
  }

  private createKernel() {
    const { channel, before, config } = this.options;
    const kernel = createKernel<readonly [ReturnType<typeof channels>]>([] as never, {
      plugins: [
        ...observeTokens(before, this.candidates),
        this.observeChannels(),
        channel,
        this.observeApplication(),
      ],
      config,
      log: this.captured.log,
    });
    kernel.on("kernel:fault", ({ plugin, during, message }) => {
      this.faults.push(`${plugin} in ${during}: ${message}`);
    });
    kernel.on("channels:typing-changed", (event) => this.typing.push(event));
    kernel.on("channels:receipt-changed", (event) => this.receipts.push(event));
    return kernel;
  }

  /** The real channels plugin, which also records the adapters that attach. */
  private observeChannels(): AnyPlugin {
    const real = channels();
    const attach =
      (offered: Channels): Channels["attach"] =>
      (port) => {
        const inlet = offered.attach(port);
        this.ports.push(port);
        this.attached.add(port.name);
        return {
          ...inlet,
          deliver: (message, options) => this.deliveries.watch(inlet.deliver(message, options)),
          sessionIdle: (session) => (this.idle.push(session), inlet.sessionIdle(session)),
          close: () => (this.attached.delete(port.name), inlet.close()),
        };
      };
    return {
      ...real,
      start: async (scope: never) => {
        const offered = await real.start(scope);
        this.listeners = this.resources?.listeners() ?? [];
        return { channels: { ...offered.channels, attach: attach(offered.channels) } } as never;
      },
    };
  }

  /** An application whose start notes what the channel has opened before. */
  private observeApplication(): AnyPlugin {
    const real = application((message) => {
      this.messages.push(message);
      return this.answer(message);
    });
    return {
      ...real,
      start: async (scope: never) => {
        if (this.resources) {
          await settle(); // a channel may open something after a DNS lookup
          const found = this.resources.listeners();
          this.early = found.filter((each) => !this.listeners.includes(each));
        }
        return real.start(scope) as never;
      },
    };
  }
}

export async function startConformanceRun(options: ConformanceRunOptions): Promise<ConformanceRun> {
  const run = new ConformanceRun(options);
  await run.start().catch((error: unknown) => {
    run.end();
    throw error;
  });
  return run;
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
