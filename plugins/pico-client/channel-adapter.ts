// Offers the link as the channel `pico_client`.
import { codeOf } from "../../kernel/index.ts";
import { BoundedMap } from "../../lib/util.ts";
import type { ChatError, ChatMessage, Link } from "../../lib/pico-link/index.ts";
import type {
  ChannelAdapter,
  ChannelHandle,
  InboundMessage,
  Media,
  OutboundMessage,
  Receipt,
} from "../channels/index.ts";
import { picoClientErrors } from "./errors.ts";

const channelName = "pico_client";

function dataUrl({ type, bytes, url }: Media): string {
  if (bytes) return `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;
  if (url?.startsWith("data:")) return url;
  throw picoClientErrors.unsupported();
}

/** @returns An object only if there is a filename, because some servers expect a string. */
function toWireMedia(
  media: Media,
): string | { readonly url: string; readonly filename: string } | { readonly id: string } {
  const { filename, id, bytes, url: given } = media;
  if (id !== undefined && !bytes && given === undefined) return { id };
  const url = dataUrl(media);
  return filename === undefined ? url : { url, filename };
}

const toMedia = (attachment: ChatMessage["attachments"][number]): Media => {
  const { url, content_type, type, filename } = attachment;
  const named = filename === undefined ? {} : { filename };
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  if (inline) return { type: inline[1]!, bytes: Buffer.from(inline[2]!, "base64"), ...named };
  return { type: content_type ?? type ?? "application/octet-stream", url, ...named };
};

function toChannelError(error: unknown): Error {
  const { code, message } = error as ChatError;
  if (code === "outbox_full") return picoClientErrors.outbox_full();
  if (code === "too_large") return picoClientErrors.too_large();
  if (code === "closed") return picoClientErrors.not_running();
  return picoClientErrors.undeliverable(message, { details: { code }, cause: error });
}

/**
 * Sends over the link and translates its errors into those of a channel. `undeliverable` has the
 * code of the server in its details.
 */
export async function sendThroughLink(
  link: Link,
  message: OutboundMessage & { readonly id?: string },
): Promise<Receipt> {
  const { content, kind, placeholder, attachments = [], hops, id } = message;
  if (kind !== undefined || placeholder) throw picoClientErrors.unsupported();
  const media = attachments.map(toWireMedia);
  try {
    const sent = link.send({
      content,
      ...(media.length > 0 && { media }),
      ...(hops && { hops }),
      ...(id && { id }),
    });
    return await sent.accepted;
  } catch (error) {
    throw toChannelError(error);
  }
}

export const toInbound = (session: string, message: ChatMessage, hops: number): InboundMessage => {
  const { id, content, requestId, attachments, at } = message;
  const reference = requestId === undefined ? {} : { inReplyTo: requestId };
  return {
    channel: channelName,
    session,
    id,
    content,
    ...reference,
    media: attachments.map(toMedia),
    at,
    hops,
  };
};

interface AdapterOptions {
  readonly link: () => Link | undefined;
  readonly channel: () => ChannelHandle;
  readonly hops: ReturnType<typeof createHopTracker>;
}

/** Creates a channel with one session: the one of the link. */
export function createChannelAdapter({ link, channel, hops }: AdapterOptions): ChannelAdapter {
  function linkOf(session: string): Link {
    const current = link();
    if (!current) throw picoClientErrors.not_running();
    if (session !== current.sessionId)
      throw picoClientErrors.undeliverable("the link has another session");
    return current;
  }

  return {
    name: channelName,
    /** Resolves as soon as the link has accepted the message. A receipt reports the outcome. */
    async send(session, id, message) {
      const current = linkOf(session);
      const sent = sendThroughLink(current, { ...message, id, hops: hops.sending(message) });
      const report = (receipt: Omit<Receipt, "id">): void =>
        channel().receipt(session, { id, ...receipt });
      const early = await Promise.race([sent, nextTurns(4)]);
      if (early) return { ...early, id };
      sent.then(
        ({ status }) => report({ status }),
        (error: unknown) => report({ status: "undelivered", reason: codeOf(error) }),
      );
      return { id, status: current.state() === "open" ? "written" : "buffered" };
    },
    typing(session, on) {
      if (session === link()?.sessionId) link()?.typing(on);
    },
  };
}

/** Waits until an immediate rejection of `send` has settled. */
async function nextTurns(count: number): Promise<undefined> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
  return undefined;
}

/** Messages whose hop count is remembered. */
const maxRemembered = 256;

/**
 * Counts how often a message was passed from one agent to another. Replies of the server may not
 * name a message, so they count from the last one that was sent.
 */
export function createHopTracker() {
  const known = new BoundedMap<string, number>(maxRemembered);
  let last = 0;
  return {
    /** @returns The hops of the message it replies to; 0 if a person starts the exchange. */
    sending({ inReplyTo = "", hops }: Pick<OutboundMessage, "inReplyTo" | "hops">): number {
      last = hops ?? known.get(inReplyTo) ?? 0;
      return last;
    },
    /** @returns The hops of a received message, one more than the last one sent. */
    received(id: string): number {
      known.renew(id, last + 1);
      return last + 1;
    },
  };
}
