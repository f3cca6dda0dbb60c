/** Creates the plugin that turns one function into the application of a kernel. */
import type { Plugin } from "../../kernel/index.ts";
import type { Application, ApplicationOptions, Channels } from "./contract.ts";

/**
 * Registers a function as the application: it receives every message of every channel.
 * Messages of one session run in order.
 *
 * @throws application_taken if the kernel already has an application.
 * @example
 * import { createKernel } from "doorward";
 * import { application, channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel([
 *   tokenStore(memory({ pico: token })),
 *   channels(),
 *   http(),
 *   picoServer(),
 *   application(async ({ content, reply }) => void (await reply({ content }))),
 * ]);
 */
export function application(
  handler: Application,
  options: ApplicationOptions = {},
): Plugin<{ needs: { channels: Channels }; offers: { application: string } }> {
  return {
    name: "application",
    api: 1,
    start({ needs, onStop }) {
      onStop(needs.channels.handle(handler, options));
      return { application: "application" };
    },
  };
}
