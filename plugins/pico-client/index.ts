// Connects to the pico channel of another service, as a plugin.
import type { Plugin } from "../../kernel/index.ts";
import { observeCalls } from "../../lib/observed-promise.ts";
import { Client } from "./client.ts";
import { picoClientSchema } from "./config.ts";
import type { PicoClientOptions, PicoClientShape } from "./service.ts";

export type { PicoClientConfig } from "./config.ts";
export { connectionAdvice, picoClientErrors } from "./errors.ts";
export type { PicoClientEvents, PicoClientOptions, PicoClientShape, PicoLink } from "./service.ts";

/**
 * Creates the plugin with a link to the pico channel of another service. If the kernel has
 * channels, the link is the channel `pico_client`; it is always available as `picoLink`.
 * An unreachable server does not fail the start. The event `pico-client:link-changed` reports the
 * state of the link.
 *
 * @throws PICO_CLIENT_URL_MISSING if the client is enabled and has no address.
 * @throws PICO_CLIENT_TOKEN_MISSING if the client is enabled and has no token.
 * @throws PICO_CLIENT_TOKEN_ORIGIN if its token is in the files, which name another server for it.
 * @throws PICO_CLIENT_CA_UNREADABLE if `ca_file` cannot be read.
 * @throws PICO_CLIENT_BAD_PROXY if a proxy variable is not the address of a proxy.
 * @example
 * import { createKernel } from "doorward";
 * import { picoClient } from "doorward/plugins/pico-client";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel(
 *   [tokenStore(memory({ pico_client: token })), picoClient()],
 *   { config: { "channels.pico_client": { enabled: true, url: "wss://example.org/pico" } } },
 * );
 * await kernel.start();
 * await kernel.services.picoLink.send({ content: "hello" });
 */
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
      const client = new Client(scope, options);
      const channel = uses.channels?.attach(client.channelAdapter);
      client.attach(channel);
      scope.onStop(() => channel?.close());
      scope.on("token-store:rotated", ({ name }) => {
        if (name === "pico_client") client.retry();
      });
      scope.onConfig(async (next, previous) => {
        if (JSON.stringify(next) === JSON.stringify(previous)) return;
        await client.applyConfig(next);
      });
      await client.check(scope.config());
      scope.onReady(async () => {
        await client.applyConfig(scope.config());
        return () => client.close();
      });
      const text = "a call of the pico client has failed, and no code awaits it";
      const picoLink = observeCalls(client.picoLink, ["send", "stop", "answer"], (call, err) =>
        scope.log.error({ err, call }, text),
      );
      return { picoLink };
    },
  };
}
