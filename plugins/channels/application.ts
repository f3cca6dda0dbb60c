import type { Plugin } from "../../kernel/index.ts";
import type { Application, ApplicationOptions, Channels } from "./service.ts";

/** Makes a function the one application: it gets every message of every channel, each session in order. */
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
