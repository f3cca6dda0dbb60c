// Serves the AG-UI protocol: front ends with HttpAgent reach the application.
import type { Plugin } from "../../../kernel/index.ts";
import { toPlainError } from "../errors.ts";
import { startProtocol, type ProtocolPluginOptions, type ProtocolShape } from "../protocol.ts";
import { ProtocolServer } from "../server.ts";
import { agUiSchema, type AgUiConfig, type AgUiInput } from "./config.ts";
import { agUiErrors } from "./errors.ts";
import { RunRoutes, explainAddress } from "./routes.ts";
import { onByDefault } from "../config.ts";

export type { AgUiConfig } from "./config.ts";
export { agUiErrors } from "./errors.ts";

/** Options of {@link agUi}. */
export type AgUiOptions = ProtocolPluginOptions;

/** The state of the plugin. */
export interface AgUi {
  /** Returns whether the protocol is on. */
  status(): {
    readonly enabled: boolean;
    /** URL for `HttpAgent`, ending in `/ag-ui`; undefined while the protocol is off or no port is
     *  open. */
    readonly url: string | undefined;
  };
}

/** The plugin's configuration, events and services. */
export type AgUiShape = ProtocolShape<AgUiConfig> & {
  /** The section as users write it: every field is optional. */
  section: { "channels.ag_ui": AgUiInput };
  /** The state of the plugin. */
  offers: { agUi: AgUi };
};

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
    config: {
      section: "channels.ag_ui",
      schema: enabled ? agUiSchema.extend(onByDefault) : agUiSchema,
    },

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
      const { find } = new RunRoutes(protocol);
      const form = { find, explain: explainAddress, toErrorBody: toPlainError };
      protocol.serve(new ProtocolServer(protocol, form));
      return { agUi: { status: protocol.status } };
    },
  };
}
