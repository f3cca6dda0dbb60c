// Serves the OpenAI protocol: programs that talk to a language model reach the application.
import type { Plugin } from "../../kernel/index.ts";
import { createGate, Refusal, Runs } from "../doors/index.ts";
import type { Tokens } from "../token-store/index.ts";
import { openaiSchema, type OpenaiConfig } from "./config.ts";
import { openaiErrors } from "./errors.ts";
import { OpenaiServer } from "./server.ts";
import type { OpenaiShape } from "./service.ts";
import type { TaskKind } from "./tasks.ts";

export type { OpenaiConfig } from "./config.ts";
export { openaiErrors } from "./errors.ts";
export type { Openai, OpenaiShape } from "./service.ts";

/** Options of {@link openai}. */
export interface OpenaiOptions {
  /**
   * Prefix of the environment variables that error messages name.
   *
   * @defaultValue `"SERVICE"`
   */
  readonly envPrefix?: string;
}

/** Seconds in which the whole body must have arrived: it may contain images. */
const bodySeconds = 300;

async function assertToken(
  { enabled }: OpenaiConfig,
  tokens: Pick<Tokens, "info" | "describe">,
  envPrefix: string,
): Promise<void> {
  if (!enabled || tokens.info("openai").source !== "none") return;
  // Only a token store that reads the environment knows a variable.
  const { variable } = await tokens.describe("openai");
  throw openaiErrors.OPENAI_TOKEN_MISSING(variable === undefined ? undefined : envPrefix);
}

const noTasks = (): Record<TaskKind, number> => ({
  title: 0,
  tags: 0,
  follow_ups: 0,
  queries: 0,
  autocomplete: 0,
  other: 0,
});

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
export function openai({ envPrefix = "SERVICE" }: OpenaiOptions = {}): Plugin<OpenaiShape> {
  return {
    name: "openai",
    api: 1,
    needs: { tokens: true, http: true, picoServer: true },
    config: { section: "channels.openai", schema: openaiSchema },

    async start(scope) {
      const { needs, clock, log, random, config, lifecycle } = scope;
      const { tokens, http, picoServer } = needs;
      await tokens.claim("openai", { exposed: http.isPublic() });
      await assertToken(config(), tokens, envPrefix);
      let isServing = false;
      const tasks = noTasks();
      const door = picoServer.door("openai");
      const runs = new Runs({
        door,
        clock,
        log,
        sender: { id: "token:openai" },
        answerMs: () => config().answer_s * 1_000,
        maxRequests: () => config().max_requests,
      });
      const server = new OpenaiServer({
        config,
        clock,
        log,
        newId: () => Buffer.from(random(16)).toString("hex"),
        gate: createGate({ http, tokens, clock, token: "openai", config }),
        door,
        runs,
        isOpen: () => isServing && lifecycle.state() !== "unconfigured",
        countTask: (kind) => void (tasks[kind] += 1),
      });
      const handle = server.handle.bind(server);
      http.request("/v1", (...exchange) => void handle(...exchange), {
        listener: "gateway",
        anyAuthorization: true,
        bodySeconds,
      });
      const endAll = (code: string, message: string): void =>
        runs.failAll(() => new Refusal(code, message, { headers: { "Retry-After": "1" } }));
      const endReplaced = (): void => endAll("invalid_api_key", "The token was replaced.");
      scope.on("token-store:rotated", ({ name, graceS }) => {
        if (name === "openai") scope.after((graceS ?? 0) * 1_000, endReplaced);
      });
      scope.on("token-store:removed", ({ name }) => {
        if (name === "openai") endReplaced();
      });
      scope.onConfig(async (next) => {
        await assertToken(next, tokens, envPrefix);
        if (!next.enabled) endAll("not_running", "The protocol was turned off.");
      });
      scope.onReady(() => {
        isServing = true;
        return () => {
          isServing = false;
          endAll("not_running", "Doorward is stopping. Try again shortly.");
          runs.close();
        };
      });
      const url = (): string | undefined => {
        const [base] = http.addresses("gateway");
        return config().enabled && base ? new URL(http.url("/v1"), base).href : undefined;
      };
      return {
        openai: {
          status: () => ({
            enabled: config().enabled,
            url: url(),
            model: config().model,
            tasks: { ...tasks },
          }),
        },
      };
    },
  };
}
