// Serves the OpenAI protocol: programs that talk to a language model reach the application.
import type { Plugin } from "../../../kernel/index.ts";
import { startProtocol, type ProtocolPluginOptions, type ProtocolShape } from "../protocol.ts";
import { ProtocolServer } from "../server.ts";
import { openaiSchema, type OpenaiConfig, type OpenaiInput } from "./config.ts";
import { openaiErrors, refusals } from "./errors.ts";
import { explainAddress, mistakes, OpenaiRoutes, toBody } from "./server.ts";
import type { TaskKind } from "./tasks.ts";
import { onByDefault } from "../config.ts";

export type { OpenaiConfig } from "./config.ts";
export { openaiErrors } from "./errors.ts";

/** Options of {@link openai}. */
export type OpenaiOptions = ProtocolPluginOptions;

/** The state of the plugin. */
export interface Openai {
  /** Returns whether the protocol is on, and the counters since startup. */
  status(): {
    readonly enabled: boolean;
    /** Base URL for clients, with `/v1`; undefined while the protocol is off or no port is open. */
    readonly url: string | undefined;
    /** The model name that clients send. */
    readonly model: string;
    /** Requests for titles and the like, by kind. */
    readonly tasks: Readonly<Record<TaskKind, number>>;
  };
}

/** The plugin's configuration, events and services. */
export type OpenaiShape = ProtocolShape<OpenaiConfig> & {
  /** The section as users write it: every field is optional. */
  section: { "channels.openai": OpenaiInput };
  /** The state of the plugin. */
  offers: { openai: Openai };
};

/**
 * Creates the plugin that serves `/v1/models`, `/v1/chat/completions` and `/v1/responses`.
 *
 * Each conversation is a session of the pico channel with the prefix `openai/`, so the dashboard
 * shows it. A client that closes its connection stops the reply.
 *
 * @param options - The prefix of the environment variables that error messages name.
 * @throws OPENAI_TOKEN_MISSING at start, if the protocol is enabled and has no token.
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { openai } from "doorward/plugins/openai";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel(
 *   [tokenStore(memory({ openai: token })), channels(), http(), picoServer(), openai()],
 *   { config: { "channels.openai": { enabled: true } } },
 * );
 */
export function openai({
  envPrefix = "SERVICE",
  enabled = true,
}: OpenaiOptions = {}): Plugin<OpenaiShape> {
  return {
    name: "openai",
    api: 1,
    needs: { tokens: true, http: true, picoServer: true, channels: true },
    config: {
      section: "channels.openai",
      schema: enabled ? openaiSchema.extend(onByDefault) : openaiSchema,
    },

    async start(scope) {
      const protocol = await startProtocol(scope, {
        name: "openai",
        clientTitle: "OpenAI client",
        path: "/v1",
        filePath: (id) => `/v1/files/${id}/content`,
        uploadPath: "/v1/files",
        envPrefix,
        missingToken: openaiErrors.OPENAI_TOKEN_MISSING,
      });
      const routes = new OpenaiRoutes(protocol);
      scope.on("channels:session-cleared", ({ channel, session }) => {
        if (channel === "pico") routes.clear(session);
      });
      const form = { find: routes.find, explain: explainAddress, toErrorBody: toBody, refusals };
      protocol.serve(new ProtocolServer(protocol, form), mistakes);
      const { config, status } = protocol;
      return {
        openai: {
          status: () => ({ ...status(), model: config().model, tasks: { ...routes.tasks } }),
        },
      };
    },
  };
}
