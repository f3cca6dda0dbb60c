// Starts a service with the protocols of other products.
import { once } from "node:events";
import { createServer } from "node:http";
import { createKernel, type AnyPlugin, type Clock, type Plugin } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { agUi } from "../../plugins/protocols/ag-ui/index.ts";
import { aiSdk } from "../../plugins/protocols/ai-sdk/index.ts";
import {
  application,
  channels,
  type InboundMessage,
  type Message,
} from "../../plugins/channels/index.ts";
import { conversations } from "../../plugins/conversations/index.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { gateway, http, type HttpOptions } from "../../plugins/http/index.ts";
import { keys } from "../../plugins/keys/index.ts";
import { media, type MediaShape } from "../../plugins/media/index.ts";
import { openai } from "../../plugins/protocols/openai/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../plugins/token-store/index.ts";

export const tokens = {
  ag_ui: "ag-ui-".repeat(8),
  ai_sdk: "ai-sdk-".repeat(8),
  launcher: "launcher-".repeat(6),
  openai: "openai-".repeat(8),
  pico: "pico-".repeat(10),
};

export type Handler = (message: Message) => Promise<unknown> | void;
export const echo: Handler = ({ content, reply }) => reply({ content: `you said ${content}` });

const noPlugin: AnyPlugin = { name: "nothing", api: 1, start: () => undefined };
const noFiles: AnyPlugin = { ...noPlugin, name: "no-files" };
const common = { enabled: true, message_rate: 0, max_requests: 1_000 };

export interface ServiceOptions {
  /** Settings of all protocols. */
  readonly config?: object;
  /** Settings of the OpenAI protocol alone. */
  readonly openaiConfig?: object;
  readonly aiSdkConfig?: object;
  readonly gatewayConfig?: object;
  /** Settings of the channel. */
  readonly picoConfig?: object;
  /** Folder of a durable store. @defaultValue none */
  readonly home?: string;
  /** Section `media`: files of messages are kept, in `home`. @defaultValue no files */
  readonly media?: object;
  /** Session check of a host, on whose server the service then runs. */
  readonly identify?: NonNullable<HttpOptions["identify"]>;
  /** Plugin with an application. @defaultValue one that runs `handler` */
  readonly applicationPlugin?: AnyPlugin;
}

/** Starts a service with all protocols on a free port. A test may replace its `handler`,
 *  and set its monotonic clock ahead. */
export async function startProtocols({
  config = {},
  openaiConfig = {},
  aiSdkConfig = {},
  gatewayConfig = {},
  picoConfig = {},
  home,
  media: mediaConfig,
  identify,
  applicationPlugin,
}: ServiceOptions = {}) {
  const received: InboundMessage[] = [];
  const state = { handler: echo, aheadMs: 0 };
  const clock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now() + state.aheadMs,
    setTimeout: (run, ms) => setTimeout(run, ms),
    clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
  };
  const { log, lines } = createCapturedLog();
  const server = identify && createServer();
  const kernel = createKernel(
    [
      tokenStore(memory(tokens)),
      conversations(home === undefined ? {} : { home }),
      (mediaConfig ? media({ home: home! }) : noFiles) as Plugin<MediaShape>,
      channels(),
      http(server ? { server, identify } : { port: 0 }),
      gateway(),
      keys(),
      picoServer(),
      openai(),
      aiSdk(),
      agUi(),
      // The dashboard serves every path, which a server of a host leaves to the host.
      (identify ? noPlugin : dashboard({ version: "0.0.0" })) as Plugin,
      (applicationPlugin ??
        application(async (message) => {
          received.push(message);
          await state.handler(message);
        })) as Plugin,
    ],
    {
      log,
      clock,
      config: {
        gateway: gatewayConfig,
        "channels.pico": { enabled: true, drain_timeout: 0, message_rate: 0, ...picoConfig },
        "channels.openai": { ...common, ...config, ...openaiConfig },
        "channels.ai_sdk": { ...common, ...config, ...aiSdkConfig },
        "channels.ag_ui": { ...common, ...config },
        ...(mediaConfig && { media: mediaConfig }),
      },
    },
  );
  await kernel.start();
  const { channels: channelsService, http: httpService } = kernel.services;
  if (server) await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    origin: httpService.addresses()[0]!.origin,
    channels: channelsService,
    received,
    state,
    lines,
    kernel,
    async [Symbol.asyncDispose]() {
      await kernel.stop();
      server?.closeAllConnections();
      server?.close();
    },
  };
}
export type ProtocolService = Awaited<ReturnType<typeof startProtocols>>;
