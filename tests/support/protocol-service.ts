// Starts a service with the protocols of other products.
import { createKernel } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { agUi } from "../../plugins/ag-ui/index.ts";
import { aiSdk } from "../../plugins/ai-sdk/index.ts";
import {
  application,
  channels,
  type InboundMessage,
  type Message,
} from "../../plugins/channels/index.ts";
import { conversations } from "../../plugins/conversations/index.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { http } from "../../plugins/http/index.ts";
import { openai } from "../../plugins/openai/index.ts";
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

const common = { enabled: true, message_rate: 0, max_requests: 1_000 };

export interface ServiceOptions {
  /** Settings of all protocols. */
  readonly config?: object;
  /** Folder of a durable store. @defaultValue none */
  readonly home?: string;
}

/** Starts a service with all protocols on a free port. A test may replace its `handler`. */
export async function startProtocols({ config = {}, home }: ServiceOptions = {}) {
  const received: InboundMessage[] = [];
  const state = { handler: echo };
  const { log, lines } = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(memory(tokens)),
      conversations(home === undefined ? {} : { home }),
      channels(),
      http({ port: 0 }),
      picoServer(),
      openai(),
      aiSdk(),
      agUi(),
      dashboard({ version: "0.0.0" }),
      application(async (message) => {
        received.push(message);
        await state.handler(message);
      }),
    ],
    {
      log,
      config: {
        "channels.pico": { enabled: true, drain_timeout: 0 },
        "channels.openai": { ...common, ...config },
        "channels.ai_sdk": { ...common, ...config },
        "channels.ag_ui": { ...common, ...config },
      },
    },
  );
  await kernel.start();
  const { channels: channelsService, http: server } = kernel.services;
  return {
    origin: server.addresses()[0]!.origin,
    channels: channelsService,
    received,
    state,
    lines,
    kernel,
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
export type ProtocolService = Awaited<ReturnType<typeof startProtocols>>;
