import type { Plugin } from "../../kernel/index.ts";
import { createClient } from "./client.ts";
import { picoClientSchema } from "./config.ts";
import type { PicoClientOptions, PicoClientShape } from "./service.ts";

export type { PicoClientConfig } from "./config.ts";
export { picoClientErrors } from "./errors.ts";
export type { PicoClientEvents, PicoClientOptions, PicoClientShape, PicoLink } from "./service.ts";

/** The link to the pico channel of another service: a channel where there are channels, else just `picoLink`. A dead
 *  other end never fails the start; the facts tell how the link fares. */
export function picoClient(options: PicoClientOptions = {}): Plugin<PicoClientShape> {
  return {
    name: "pico-client",
    api: 1,
    config: { section: "channels.pico_client", schema: picoClientSchema },
    needs: { tokens: true, tokenSecrets: true },
    uses: { channels: true },

    async start(scope) {
      const { needs, uses } = scope;
      await needs.tokens.claim("pico_client");
      const client = createClient(scope, options);
      const inlet = uses.channels?.attach(client.port);
      client.attach(inlet);
      scope.onStop(() => inlet?.close());
      scope.on("token-store:rotated", ({ name }) => {
        if (name === "pico_client") client.retry();
      });
      scope.onConfig(async (next, before) => {
        if (JSON.stringify(next) === JSON.stringify(before)) return;
        await client.follow(next);
      });
      await client.check(scope.config());
      scope.onReady(async () => {
        await client.follow(scope.config());
        return client.close;
      });
      return { picoLink: client.picoLink };
    },
  };
}
