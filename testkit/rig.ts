// Runs a channel under test with an application and peers that the rules control.
import { createKernel, type AnyPlugin, type Awaitable, type Plugin } from "../kernel/index.ts";
import { createCapturedLog } from "../kernel/testing.ts";
import {
  application,
  channels,
  type ChannelAdapter,
  type Channels,
  type Message,
} from "../plugins/channels/index.ts";
import { createQueue, withTimeout, type Queue } from "./client.ts";

interface ConformanceRunOptions {
  readonly channel: AnyPlugin;
  readonly before: readonly AnyPlugin[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly keeps: boolean;
  join(services: Readonly<Record<string, unknown>>): Awaitable<Peer>;
}

/** A peer whose waits end with an error after a timeout. */
export interface ObservedPeer extends Pick<Peer, "session" | "say" | "leave"> {
  /** Waits for the oldest event of these kinds; earlier events of other kinds are skipped. */
  sees<W extends PeerEvent["what"]>(...kinds: W[]): Promise<Extract<PeerEvent, { what: W }>>;
}

/** One run of the channel under test, whose application the rule controls. */
export interface ConformanceRun {
  /** Whether the channel keeps messages that peers send while it is stopped. */
  readonly keeps: boolean;
  readonly channels: Channels;
  readonly ports: readonly ChannelAdapter[];
  readonly port: ChannelAdapter;
  readonly attached: () => number;
  readonly messages: Queue<Message>;
  readonly faults: readonly string[];
  /** Sets what the application does with a message, in addition to recording it. */
  answerWith(run: (message: Message) => void): void;
  join(): Promise<ObservedPeer>;
  /** Starts the stopped kernel again. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The real channels plugin, which also records the adapters that attach. */
function observePeer(
  ports: ChannelAdapter[],
  open: Set<string>,
): Plugin<{ offers: { channels: Channels } }> {
  const { shape: _, ...real } = channels();
  return {
    ...real,
    async start(scope) {
      const offered = await real.start(scope as never);
      const attach: Channels["attach"] = (port) => {
        const inlet = offered.channels.attach(port);
        ports.push(port);
        open.add(port.name);
        return { ...inlet, close: () => (open.delete(port.name), inlet.close()) };
      };
      return { channels: { ...offered.channels, attach } };
    },
  };
}

export async function startConformanceRun({
  channel,
  before,
  config,
  timeoutMs,
  keeps,
  join,
}: ConformanceRunOptions): Promise<ConformanceRun> {
  const ports: ChannelAdapter[] = [];
  const open = new Set<string>();
  const messages = createQueue<Message>(timeoutMs);
  const faults: string[] = [];
  let run = (_: Message): void => undefined;
  const taking = application((message) => {
    messages.push(message);
    run(message);
  });
  const kernel = createKernel([], {
    plugins: [...before, observePeer(ports, open), channel, taking],
    config,
    log: createCapturedLog().log,
  });
  kernel.on(
    "kernel:fault",
    ({ plugin, during, message }) => void faults.push(`${plugin} in ${during}: ${message}`),
  );
  const services = kernel.services as { readonly channels: Channels };
  await withTimeout(timeoutMs, "the start", kernel.start());

  return {
    keeps,
    get channels() {
      return services.channels;
    },
    ports,
    get port() {
      return ports.at(-1)!;
    },
    attached: () => open.size,
    messages,
    faults,
    answerWith: (answer) => void (run = answer),
    start: () => withTimeout(timeoutMs, "the start", kernel.start()),
    stop: () => withTimeout(timeoutMs, "the stop", kernel.stop({ timeoutMs: timeoutMs * 2 })),

    async join() {
      const peer = await withTimeout(
        timeoutMs,
        "a peer to join",
        Promise.resolve(join(services as never)),
      );
      return {
        session: peer.session,
        say: (content) => peer.say(content),
        leave: () => peer.leave(),
        async sees(...kinds) {
          const fits = (peerEvent: PeerEvent): boolean =>
            (kinds as string[]).includes(peerEvent.what);
          const find = async (): Promise<PeerEvent> => {
            for (;;) {
              const peerEvent = await peer.next();
              if (fits(peerEvent)) return peerEvent;
            }
          };
          return (await withTimeout(
            timeoutMs,
            `the peer to see "${kinds.join('" or "')}"`,
            find(),
          )) as never;
        },
      };
    },
  };
}

/**
 * An event that a peer of a channel sees, in terms that all channels share. `id`: of the message,
 * as in its receipt. `content`: its full text. `code`: the error code that the channel shows.
 */
export type PeerEvent =
  | { readonly what: "create"; readonly id: string; readonly content: string }
  /** `content` is the full text so far. */
  | {
      readonly what: "update";
      readonly id: string;
      readonly content: string;
      readonly final?: boolean;
    }
  | { readonly what: "remove"; readonly id: string }
  | { readonly what: "typing"; readonly on: boolean }
  | { readonly what: "error"; readonly code: string };

/** A peer of a channel, implemented by the author of the channel. */
export interface Peer {
  /** The session of this peer. */
  readonly session: string;
  /** Sends a text message as this peer. It may resolve before the channel has read it. */
  say(content: string): Awaitable<unknown>;
  /** Waits for the next event, in the order of arrival. */
  next(): Promise<PeerEvent>;
  /** Disconnects the peer, and resolves when the channel has noticed. */
  leave(): Awaitable<unknown>;
}
