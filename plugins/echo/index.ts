import { codeOf, type Plugin } from "../../kernel/index.ts";
import type { Channels } from "../channels/index.ts";

/** The application a new owner meets: it answers with what it received. */
export function echo(): Plugin<{ needs: { channels: Channels }; offers: { application: string } }> {
  return {
    name: "echo",
    api: 1,
    start({ needs, onStop }) {
      const release = needs.channels.handle(async ({ content, media, reply }) => {
        try {
          await reply(media.length === 0 ? { content } : { content, attachments: media });
        } catch (error) {
          // Posted, and nobody of the session listens: the message was taken all the same.
          if (codeOf(error) !== "undeliverable") throw error;
        }
      });
      onStop(release);
      return { application: "echo" };
    },
  };
}
