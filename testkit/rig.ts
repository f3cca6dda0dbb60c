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

export interface ConformanceRunOptions {
  readonly channel: AnyPlugin;
  readonly before: readonly AnyPlugin[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly patienceMs: number;
  readonly keeps: boolean;
  join(services: Readonly<Record<string, unknown>>): Awaitable<Peer>;
}

/** A peer whose next sight does not wait for ever. */
export interface ObservedPeer extends Pick<Peer, "session" | "say" | "leave"> {
  /** The oldest sight of these kinds; others before it are passed over. */
  sees<W extends PeerEvent["what"]>(...kinds: W[]): Promise<Extract<PeerEvent, { what: W }>>;
}

/** One run of the channel under test, with its application in the hands of a rule. */
export interface ConformanceRun {
  /** What is said while the channel is stopped is kept for it. */
  readonly keeps: boolean;
  readonly channels: Channels;
  readonly ports: readonly ChannelAdapter[];
  readonly port: ChannelAdapter;
  readonly attached: () => number;
  readonly messages: Queue<Message>;
  readonly faults: readonly string[];
  /** What the application does with a message beside noting it. */
  answerWith(run: (message: Message) => void): void;
  join(): Promise<ObservedPeer>;
  /** Starts again what has stopped. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The real channels, with an eye on who attaches. */
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
  patienceMs,
  keeps,
  join,
}: ConformanceRunOptions): Promise<ConformanceRun> {
  const ports: ChannelAdapter[] = [];
  const open = new Set<string>();
  const messages = createQueue<Message>(patienceMs);
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
  await withTimeout(patienceMs, "the start", kernel.start());

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
    start: () => withTimeout(patienceMs, "the start", kernel.start()),
    stop: () => withTimeout(patienceMs, "the stop", kernel.stop({ timeoutMs: patienceMs * 2 })),

    async join() {
      const peer = await withTimeout(
        patienceMs,
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
            patienceMs,
            `the peer to see "${kinds.join('" or "')}"`,
            find(),
          )) as never;
        },
      };
    },
  };
}

/** What the other end of a channel sees, in words that all channels share. */
export type PeerEvent =
  | { readonly what: "create"; readonly id: string; readonly content: string }
  /** With the full text so far. */
  | {
      readonly what: "update";
      readonly id: string;
      readonly content: string;
      readonly final?: boolean;
    }
  | { readonly what: "remove"; readonly id: string }
  | { readonly what: "typing"; readonly on: boolean }
  | { readonly what: "error"; readonly code: string };

/** Somebody at the other end of a channel, as its author knows how to be one. */
export interface Peer {
  /** Where messages for this peer are sent. */
  readonly session: string;
  say(content: string): Awaitable<unknown>;
  /** What it sees next, in the order it came; pending while there is nothing. */
  next(): Promise<PeerEvent>;
  /** Resolves when the channel knows that it has gone. */
  leave(): Awaitable<unknown>;
}
