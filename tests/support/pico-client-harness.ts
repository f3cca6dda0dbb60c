import { createKernel, type AnyPlugin, type Clock, type Log } from "../../kernel/index.ts";
import { createCapturedLog, type LogEntry } from "../../kernel/testing.ts";
import {
  application,
  channels,
  type Application,
  type Channels,
  type InboundMessage,
} from "../../plugins/channels/index.ts";
import { http, type Http } from "../../plugins/http/index.ts";
import {
  picoClient,
  type PicoClientEvents,
  type PicoClientOptions,
  type PicoLink,
} from "../../plugins/pico-client/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { memory, tokenStore, type TokenSecrets } from "../../plugins/token-store/index.ts";
import { hurriedClock } from "./scripted-peer.ts";

export const token = "correct-horse-battery-staple-correct-horse-battery-staple";

export interface Remote extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly heard: InboundMessage[];
  readonly channels: Channels;
  readonly tokens: TokenSecrets;
}

export const echo: Application = async ({ content, reply }) =>
  void (await reply({ content: `you said ${content}` }));

/** Starts a service with a channel. */
export async function startRemote(
  app: Application = echo,
  { port = 0, config = {} as object } = {},
): Promise<Remote> {
  const heard: InboundMessage[] = [];
  const kernel = createKernel(
    [
      tokenStore(memory({ pico: token })),
      channels(),
      http({ port }),
      picoServer(),
      application(async (message, signal) => {
        heard.push(message);
        await app(message, signal);
      }),
    ],
    { log: createCapturedLog().log, config: { "channels.pico": { enabled: true, ...config } } },
  );
  await kernel.start();
  const {
    channels: own,
    http: listener,
    tokenSecrets,
  } = kernel.services as {
    channels: Channels;
    http: Http;
    tokenSecrets: TokenSecrets;
  };
  const at = Number(listener.addresses()[0]!.port);
  return {
    url: `ws://127.0.0.1:${at}/pico`,
    port: at,
    heard,
    channels: own,
    tokens: tokenSecrets,
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}

type Change = PicoClientEvents["pico-client:link-changed"];

export interface LocalClient extends AsyncDisposable {
  readonly link: PicoLink;
  readonly channels: Channels;
  readonly tokens: TokenSecrets;
  readonly changes: Change[];
  readonly receipts: { id: string; status: string; reason?: string }[];
  readonly typing: { channel: string; session: string; on: boolean }[];
  readonly heard: InboundMessage[];
  readonly lines: readonly LogEntry[];
  /** Advances the clock of the service. */
  now(): number;
  configure(config: object): Promise<unknown>;
  /** The first thing of the list that fits, once it is there. */
  until<T>(list: readonly T[], fits: (item: T) => boolean): Promise<T>;
}

/** Timing without backoff delays. */
const defaultClock = hurriedClock(10);

export interface LocalClientOptions extends PicoClientOptions {
  readonly config?: object;
  readonly token?: string;
  readonly app?: Application;
  /** Default: one that runs ten times as fast as the time of day. */
  readonly clock?: Clock;
}

/** Starts a service that connects to the remote one as a client. */
export async function startPicoClient(
  url: string,
  {
    config,
    token: own = token,
    app = () => undefined,
    clock = defaultClock,
    ...options
  }: LocalClientOptions = {},
): Promise<LocalClient> {
  const looks = new Set<() => void>();
  const tell = (): void => looks.forEach((look) => look());
  const { log: captured, lines } = createCapturedLog();
  const noisy =
    (line: Log["warn"]): Log["warn"] =>
    (fields, text) => {
      line(fields, text);
      tell();
    };
  const log: Log = {
    debug: captured.debug,
    info: noisy(captured.info),
    warn: noisy(captured.warn),
    error: noisy(captured.error),
  };
  const heard: InboundMessage[] = [];
  let configuration: { apply(section: string, raw: unknown): Promise<unknown> } | undefined;
  const editor: AnyPlugin = {
    name: "editor",
    api: 1,
    configures: true,
    start: (scope: { configuration: typeof configuration }) =>
      void (configuration = scope.configuration),
  } as AnyPlugin;
  const kernel = createKernel(
    [
      tokenStore(memory(own === "" ? {} : { pico_client: own })),
      channels(),
      picoClient(options),
      application(async (message, signal) => {
        heard.push(message);
        tell();
        await app(message, signal);
      }),
    ],
    {
      log,
      clock,
      plugins: [editor],
      config: { "channels.pico_client": { enabled: true, url, ...config } },
    },
  );
  const changes: Change[] = [];
  const receipts: LocalClient["receipts"] = [];
  kernel.on("pico-client:link-changed", (change) => {
    changes.push(change);
    tell();
  });
  kernel.on("channels:receipt-changed", ({ id, status, reason }) => {
    receipts.push({ id, status, ...(reason === undefined ? {} : { reason }) });
    tell();
  });
  const typing: LocalClient["typing"] = [];
  kernel.on("channels:typing-changed", (fact) => {
    typing.push(fact);
    tell();
  });
  await kernel.start();
  const { picoLink, channels: own2, tokenSecrets } = kernel.services;
  const later = (): void => queueMicrotask(tell);
  picoLink.listen({ onUpdate: later, onTyping: later });
  return {
    link: picoLink,
    channels: own2,
    tokens: tokenSecrets,
    changes,
    receipts,
    typing,
    heard,
    lines,
    now: clock.now,
    configure: (next) => configuration!.apply("channels.pico_client", next),
    until: (list, fits) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = list.find(fits);
          if (found !== undefined) resolve(found);
        };
        looks.add(look);
        look();
      }),
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
