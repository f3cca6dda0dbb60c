import type { Plugin } from "../../kernel/index.ts";
import { gatewaySchema, type GatewayConfig, type GatewayInput } from "./config.ts";
import type { Http } from "./service.ts";

/** A listener of its own for the channels, apart from the dashboard's: opened when `gateway.port` is set. */
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
      onConfig((next, before) => ({
        afterRestart: (["port", "host"] as const).filter((key) => next[key] !== before[key]),
      }));
    },
  };
}
