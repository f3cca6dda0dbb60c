// The pico channel: a WebSocket endpoint with resumable sessions and its plain HTTP counterpart.
import type { Plugin } from "../../kernel/index.ts";
import { assertSettings, PicoChannel } from "./channel.ts";
import { hostPicoSchema, picoSchema } from "./config.ts";
import type { PicoServerShape } from "./service.ts";

export type {
  PicoServerShape,
  PicoServerEvents,
  PicoConnection,
  PicoMetrics,
  PicoServer,
  PicoServerStatus,
} from "./service.ts";

export type { ProtocolSubscriber, PicoProtocol } from "./protocol-service.ts";
export { toWebSocketUrl } from "./channel.ts";
export type { PicoServerConfig } from "./config.ts";
export { picoErrors } from "./errors.ts";

/** Options of {@link picoServer}. */
export interface PicoServerOptions {
  /**
   * Prefix of the environment variables that error messages name.
   *
   * @defaultValue `"SERVICE"`
   */
  readonly envPrefix?: string;
  /** Whether the channel is on if its section does not say so. @defaultValue `true` */
  readonly enabled?: boolean;
}

/**
 * Creates the WebSocket channel plugin, served at `/pico`.
 *
 * @param options - The prefix of the environment variables that error messages name.
 * @throws PICO_TOKEN_MISSING at start, if the channel is enabled and has no token.
 * @throws PICO_DESCRIPTORS at start, if the process may not open enough files.
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel([
 *   tokenStore(memory({ pico: token })),
 *   channels(),
 *   http({ port: 0 }),
 *   picoServer(),
 * ]);
 */
export function picoServer({
  envPrefix = "SERVICE",
  enabled = true,
}: PicoServerOptions = {}): Plugin<PicoServerShape> {
  return {
    name: "pico-server",
    api: 1,
    needs: { tokens: true, http: true, channels: true },
    config: { section: "channels.pico", schema: enabled ? hostPicoSchema : picoSchema },

    async start(scope) {
      const { needs, log, config } = scope;
      const { tokens, http } = needs;
      await tokens.claim("pico", { exposed: http.isPublic() });
      const checks = { tokens, http, log, envPrefix };
      await assertSettings(config(), checks);
      const channel = new PicoChannel(scope, checks);
      scope.uses.conversations?.announce?.(JSON.stringify(config()));
      channel.registerRoutes();
      scope.on("token-store:rotated", channel.onTokenRotated);
      scope.on("token-store:removed", channel.onTokenRemoved);
      scope.on("token-store:rotated", channel.redactSessions);
      scope.on("token-store:resolved", channel.redactSessions);
      scope.onConfig(channel.onConfig);
      scope.on("kernel:stop-begun", ({ timeoutMs }) => channel.beginStop(timeoutMs));
      scope.onReady(() => {
        channel.open();
        return () => channel.drain();
      });
      scope.onStop(() => channel.close());
      return { picoServer: channel.service() };
    },
  };
}
