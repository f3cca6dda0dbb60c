import type { Clock } from "../../kernel/index.ts";
import type { ChannelPort, Media, Outgoing, Receipt } from "../channels/index.ts";
import { encode, limits, type Attachment, type ServerFrame, type ServerMessage } from "../pico-wire/index.ts";
import { picoErrors } from "./errors.ts";
import type { SessionLog } from "./session-log.ts";

const majors = ["image", "audio", "video"];

function attachment({ type, bytes, url }: Media): Attachment {
  const major = type.split("/")[0] ?? "";
  const address = bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;
  if (address === undefined || !/^(?:https|data):/i.test(address)) throw picoErrors.unsupported();
  return { type: majors.includes(major) ? major : "file", url: address, content_type: type };
}

function payloadOf(id: string, { content, kind, attachments = [] }: Outgoing): ServerMessage {
  return {
    message_id: id,
    content,
    ...(kind && { kind }),
    ...(kind === "thought" && { thought: true }),
    ...(attachments.length > 0 && { attachments: attachments.map(attachment) }),
  };
}

/** The channel as an application sees it: each message goes to every connection of its session. */
export function createPort(sessions: SessionLog, clock: Clock, sent: () => void): ChannelPort {
  async function publish(session: string, frame: ServerFrame, numbered: boolean): Promise<number> {
    const bytes = Buffer.from(encode({ ...frame, session_id: session, timestamp: clock.now() }));
    if (bytes.byteLength > limits.outboundFrame) throw picoErrors.too_large(bytes.byteLength, limits.outboundFrame);
    return (await sessions.append(session, { frame: bytes, numbered })).heard;
  }

  async function write(session: string, id: string, frame: ServerFrame, numbered = true): Promise<Receipt> {
    if ((await publish(session, frame, numbered)) === 0) throw picoErrors.undeliverable();
    sent();
    return { id, status: "written" };
  }

  return {
    name: "pico",
    send: async (session, id, message) =>
      write(session, id, { type: "message.create", payload: payloadOf(id, message) }),
    update: async (session, id, message) =>
      write(session, id, { type: "message.update", payload: payloadOf(id, message) }, message.final ?? false),
    remove: async (session, id) => write(session, id, { type: "message.delete", payload: { message_id: id } }),
    typing: (session, on) => void publish(session, { type: on ? "typing.start" : "typing.stop" }, false),
  };
}
