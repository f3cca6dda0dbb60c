/** The echo plugin: an application that replies with the message it received. */
import { codeOf, type Plugin } from "../../kernel/index.ts";
import type { Application, Channels, Media, Message } from "../channels/index.ts";

/** Messages of a session that are answered at the same time, so that a store can write together. */
const perSession = 16;

/** A text of this length always fits: the channel must then have another reason. */
const minLength = 256;

/** Replies with the message. Leaves out the largest parts if the channel rejects its size. */
async function replyAsFits({ content, media, reply }: Message): Promise<void> {
  let attachments = media;
  let text = content;
  for (;;) {
    const left = media.length - attachments.length;
    const notes = [
      ...(left > 0
        ? [`(Left out, too large to send: ${left} of ${media.length} attachments)`]
        : []),
      ...(text === content ? [] : ["(Left out, too large to send: the rest of the text)"]),
    ];
    const body = notes.length === 0 ? content : [text, ...notes].join("\n\n").trimStart();
    try {
      await reply(attachments.length === 0 ? { content: body } : { content: body, attachments });
      return;
    } catch (error) {
      if (codeOf(error) !== "too_large") throw error;
      if (attachments.length > 0) attachments = withoutLargest(attachments);
      else if (text.length <= minLength) throw error;
      else text = firstHalf(text);
    }
  }
}

/** Divides no surrogate pair. */
const firstHalf = (text: string): string =>
  text.slice(0, text.length / 2).replace(/[\uD800-\uDBFF]$/, "");

const sizeOf = ({ bytes, url = "" }: Media): number => bytes?.byteLength ?? url.length;

function withoutLargest(media: readonly Media[]): readonly Media[] {
  const largest = media.reduce((found, each) => (sizeOf(each) > sizeOf(found) ? each : found));
  return media.filter((each) => each !== largest);
}

/**
 * Creates an application that replies with the received content and media, as far as the
 * channel can send them. It is the default application of a new installation.
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
      const application: Application = async (message) => {
        try {
          await replyAsFits(message);
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
