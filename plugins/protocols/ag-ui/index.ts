// Serves the AG-UI protocol: front ends with HttpAgent reach the application.
import type { Plugin } from "../../../kernel/index.ts";
import { ProtocolServer, startProtocol, toPlainError } from "../index.ts";
import { hostAgUiSchema, agUiSchema } from "./config.ts";
import { agUiErrors } from "./errors.ts";
import { createRoutes, explainAddress } from "./routes.ts";
import type { AgUiShape } from "./service.ts";

export type { AgUiConfig } from "./config.ts";
export { agUiErrors } from "./errors.ts";
export type { AgUi, AgUiShape } from "./service.ts";

/** Options of {@link agUi}. */
export interface AgUiOptions {
  /**
   * Prefix of the environment variables that error messages name.
   *
   * @defaultValue `"SERVICE"`
   */
  readonly envPrefix?: string;
  /** Whether the protocol is on if its section does not say so. @defaultValue `true` */
  readonly enabled?: boolean;
}

/**
 * Creates the plugin that serves `/ag-ui` for `HttpAgent` of the AG-UI protocol, version 1.
 *
 * Each thread is a session of the pico channel with the prefix `ag_ui/`, so the dashboard shows it.
 * A client that loses its connection joins the run again; only `POST /ag-ui/THREAD/stop` stops it.
 *
 * @param options - The prefix of the environment variables that error messages name.
 * @throws AG_UI_TOKEN_MISSING at start, if the protocol is enabled and has no token.
 * @example
 * import { createKernel } from "doorward";
 * import { agUi } from "doorward/plugins/ag-ui";
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel(
 *   [tokenStore(memory({ ag_ui: token })), channels(), http(), picoServer(), agUi()],
 *   { config: { "channels.ag_ui": { enabled: true } } },
 * );
 */
export function agUi({
  envPrefix = "SERVICE",
  enabled = true,
}: AgUiOptions = {}): Plugin<AgUiShape> {
  return {
    name: "ag-ui",
    api: 1,
    needs: { tokens: true, http: true, picoServer: true, channels: true },
    config: { section: "channels.ag_ui", schema: enabled ? hostAgUiSchema : agUiSchema },

    async start(scope) {
      const protocol = await startProtocol(scope, {
        name: "ag_ui",
        clientTitle: "AG-UI client",
        path: "/ag-ui",
        filePath: (id) => `/ag-ui/files/${id}`,
        envPrefix,
        admitsPages: true,
        missingToken: agUiErrors.AG_UI_TOKEN_MISSING,
      });
      const find = createRoutes(protocol);
      const form = { find, explain: explainAddress, toErrorBody: toPlainError };
      protocol.serve(new ProtocolServer(protocol, form));
      const { config, url } = protocol;
      return { agUi: { status: () => ({ enabled: config().enabled, url: url() }) } };
    },
  };
}
