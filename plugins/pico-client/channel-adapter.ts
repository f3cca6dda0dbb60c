import { codeOf } from "../../kernel/index.ts";
import type { Link, LinkError, LinkMessage } from "../../lib/pico-link/index.ts";
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

/** An object only where it says more: servers without names expect text. */
function mediumFrom(media: Media): string | { readonly url: string; readonly filename: string } {
  const { filename } = media;
  const url = dataUrl(media);
  return filename === undefined ? url : { url, filename };
}

const toMedia = (attachment: LinkMessage["attachments"][number]): Media => {
  const { url, content_type, type, filename } = attachment;
  const named = filename === undefined ? {} : { filename };
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  if (inline) return { type: inline[1]!, bytes: Buffer.from(inline[2]!, "base64"), ...named };
  return { type: content_type ?? type ?? "application/octet-stream", url, ...named };
};

function toChannelError(error: unknown): Error {
  const { code, message } = error as LinkError;
  if (code === "outbox_full") return picoClientErrors.outbox_full();
  if (code === "too_large") return picoClientErrors.too_large();
  if (code === "stopped") return picoClientErrors.not_running();
  return picoClientErrors.undeliverable(message, { details: { code }, cause: error });
}

/** Sends over the link with the errors of a channel. `undeliverable` carries the other end's code in its details. */
export async function sendThroughLink(
  link: Link,
  message: OutboundMessage & { readonly id?: string },
): Promise<Receipt> {
  const { content, kind, placeholder, attachments = [], hops, id } = message;
  if (kind !== undefined || placeholder) throw picoClientErrors.unsupported();
  const media = attachments.map(mediumFrom);
  try {
    return await link.send({
      content,
      ...(media.length > 0 && { media }),
      ...(hops && { hops }),
      ...(id && { id }),
    });
  } catch (error) {
    throw toChannelError(error);
  }
}

export const toInbound = (session: string, message: LinkMessage, hops: number): InboundMessage => {
  const { id, content, requestId, attachments, at } = message;
  const about = requestId === undefined ? {} : { inReplyTo: requestId };
  return {
    channel: channelName,
    session,
    id,
    content,
    ...about,
    media: attachments.map(toMedia),
    at,
    hops,
  };
};

export interface AdapterOptions {
  readonly link: () => Link | undefined;
  readonly inlet: () => ChannelHandle;
  readonly hops: HopTracker;
}

/** The link as a channel: its one session is the conversation at the other end. */
export function createChannelAdapter({ link, inlet, hops }: AdapterOptions): ChannelAdapter {
  function linkOf(session: string): Link {
    const own = link();
    if (!own) throw picoClientErrors.not_running();
    if (session !== own.sessionId)
      throw picoClientErrors.undeliverable("the other end knows another conversation");
    return own;
  }

  return {
    name: channelName,
    /** Says at once whether the message could be taken; what became of it is told as a receipt. */
    async send(session, id, message) {
      const own = linkOf(session);
      const sent = sendThroughLink(own, { ...message, id, hops: hops.sending(message) });
      const news = (receipt: Omit<Receipt, "id">): void =>
        inlet().receipt(session, { id, ...receipt });
      const early = await Promise.race([sent, nextTurns(4)]);
      if (early) return { ...early, id };
      sent.then(
        ({ status }) => news({ status }),
        (error: unknown) => news({ status: "undelivered", reason: codeOf(error) }),
      );
      return { id, status: own.state() === "open" ? "written" : "buffered" };
    },
    typing(session, on) {
      if (session === link()?.sessionId) link()?.typing(on);
    },
  };
}

/** Long enough for what is refused at once to have been refused. */
async function nextTurns(count: number): Promise<undefined> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
  return undefined;
}

/** Messages whose way back is known. */
const maxRemembered = 256;

/** How often a message was carried from one agent to another. Answers name no message: they count from the last one
 *  that was sent. */
export interface HopTracker {
  /** Of a message on its way out: as many as the one it answers; 0 when a person begins. */
  sending(message: { readonly inReplyTo?: string; readonly hops?: number }): number;
  received(id: string): number;
}

export function createHopTracker(): HopTracker {
  const known = new Map<string, number>();
  let last = 0;
  return {
    sending({ inReplyTo = "", hops }) {
      last = hops ?? known.get(inReplyTo) ?? 0;
      return last;
    },
    received(id) {
      known.delete(id);
      known.set(id, last + 1);
      const [oldest] = known.keys();
      if (known.size > maxRemembered && oldest !== undefined) known.delete(oldest);
      return last + 1;
    },
  };
}
