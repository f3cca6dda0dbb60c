/** The gateway plugin: a separate listener for the channels, and the public URL. */
import type { Plugin } from "../../kernel/index.ts";
import { gatewaySchema, type GatewayConfig, type GatewayInput } from "./config.ts";
import type { Http } from "./service.ts";

/**
 * Creates the gateway plugin: a separate listener for the channels. It opens if `gateway.port` is
 * set. Links of messages begin with `gateway.public_url`.
 *
 * @throws HTTP_PORT_IN_USE and the other errors of `http()` if the listener cannot be opened.
 * @example
 * import { createKernel } from "doorward";
 * import { gateway, http } from "doorward/plugins/http";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const config = { gateway: { port: 18_801 } };
 * const kernel = createKernel([tokenStore(memory()), http(), gateway()], { config });
 */
export function gateway(): Plugin<{
  config: GatewayConfig;
  section: { gateway: GatewayInput };
  needs: { http: Http };
}> {
  return {
    name: "gateway",
    api: 1,
    needs: { http: true },
    config: { section: "gateway", schema: gatewaySchema },

    start({ needs, config, onConfig }) {
      const { port, host } = config();
      if (port !== undefined) needs.http.open("gateway", { port, host });
      needs.http.publish(() => config().public_url);
      onConfig((next, before) => ({
        afterRestart: (["port", "host"] as const).filter((key) => next[key] !== before[key]),
      }));
    },
  };
}
