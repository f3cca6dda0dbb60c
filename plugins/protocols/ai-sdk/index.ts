// Serves the UI message streams of the AI SDK: pages with useChat reach the application.
import type { Plugin } from "../../../kernel/index.ts";
import { toPlainError } from "../errors.ts";
import { startProtocol, type ProtocolPluginOptions, type ProtocolShape } from "../protocol.ts";
import { ProtocolServer } from "../server.ts";
import { aiSdkSchema, type AiSdkConfig, type AiSdkInput } from "./config.ts";
import { aiSdkErrors } from "./errors.ts";
import { ChatRoutes, explainAddress } from "./routes.ts";
import { onByDefault } from "../config.ts";

export type { AiSdkConfig } from "./config.ts";
export { aiSdkErrors } from "./errors.ts";

/** Options of {@link aiSdk}. */
export type AiSdkOptions = ProtocolPluginOptions;

/** The state of the plugin. */
export interface AiSdk {
  /** Returns whether the protocol is on. */
  status(): {
    readonly enabled: boolean;
    /** Base URL, ending in `/ai`; undefined while the protocol is off or no port is open. The
     *  option `api` of `DefaultChatTransport` is this URL with `/chat`. */
    readonly url: string | undefined;
  };
}

/** The plugin's configuration, events and services. */
export type AiSdkShape = ProtocolShape<AiSdkConfig> & {
  /** The section as users write it: every field is optional. */
  section: { "channels.ai_sdk": AiSdkInput };
  /** The state of the plugin. */
  offers: { aiSdk: AiSdk };
};

/**
 * Creates the plugin that serves `/ai/chat` for `useChat` of the AI SDK, versions 6 and 7.
 *
 * Each chat is a session of the pico channel with the prefix `ai_sdk/`, so the dashboard shows it.
 * A page that loses its connection resumes the stream; only `POST /ai/chat/ID/stop` stops a reply.
 *
 * @param options - The prefix of the environment variables that error messages name.
 * @throws AI_SDK_TOKEN_MISSING at start, if the protocol is enabled and has no token.
 * @example
 * import { createKernel } from "doorward";
 * import { aiSdk } from "doorward/plugins/ai-sdk";
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel(
 *   [tokenStore(memory({ ai_sdk: token })), channels(), http(), picoServer(), aiSdk()],
 *   { config: { "channels.ai_sdk": { enabled: true } } },
 * );
 */
export function aiSdk({
  envPrefix = "SERVICE",
  enabled = true,
}: AiSdkOptions = {}): Plugin<AiSdkShape> {
  return {
    name: "ai-sdk",
    api: 1,
    needs: { tokens: true, http: true, picoServer: true, channels: true },
    config: {
      section: "channels.ai_sdk",
      schema: enabled ? aiSdkSchema.extend(onByDefault) : aiSdkSchema,
    },

    async start(scope) {
      const protocol = await startProtocol(scope, {
        name: "ai_sdk",
        clientTitle: "AI SDK client",
        path: "/ai",
        filePath: (id) => `/ai/files/${id}`,
        envPrefix,
        admitsPages: true,
        missingToken: aiSdkErrors.AI_SDK_TOKEN_MISSING,
      });
      const { find } = new ChatRoutes(protocol);
      const form = { find, explain: explainAddress, toErrorBody: toPlainError };
      protocol.serve(new ProtocolServer(protocol, form));
      return { aiSdk: { status: protocol.status } };
    },
  };
}
