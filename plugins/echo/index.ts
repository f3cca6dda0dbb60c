/** The echo plugin: an application that replies with the message it received. */
import { codeOf, type Plugin } from "../../kernel/index.ts";
import type { Application, Channels } from "../channels/index.ts";

/** Messages of a session that are answered at the same time, so that a store can write together. */
const perSession = 16;

/**
 * Creates an application that replies with the received content and media. It is the default
 * application of a new installation.
 *
 * @throws application_taken if the kernel already has an application.
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { echo } from "doorward/plugins/echo";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const own = [tokenStore(memory({ pico: token })), channels(), http(), picoServer()] as const;
 * const kernel = createKernel([...own, echo()]);
 */
export function echo(): Plugin<{ needs: { channels: Channels }; offers: { application: string } }> {
  return {
    name: "echo",
    api: 1,
    start({ needs, onStop }) {
      const application: Application = async ({ content, media, reply }) => {
        try {
          await reply(media.length === 0 ? { content } : { content, attachments: media });
        } catch (error) {
          // A client that posts over HTTP may not be connected; its message is still accepted.
          if (codeOf(error) !== "undeliverable") throw error;
        }
      };
      onStop(needs.channels.handle(application, { perSession }));
      return { application: "echo" };
    },
  };
}
