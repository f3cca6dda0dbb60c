// Decodes the frames of both roles.
import { decodeClient } from "./decode-client.ts";
import { decodeServer } from "./decode-server.ts";
import type { ClientFrame, Frame, Role, ServerFrame } from "./messages.ts";

/**
 * Decodes a frame. Unknown keys are ignored.
 *
 * @param sender - The role that sent the frame.
 * @throws WireError and nothing else, whatever the input.
 * @example
 * import { decode } from "doorward/plugins/pico-wire";
 * const frame = decode('{"type":"message.create","payload":{"content":"hello"}}', "server");
 * if (frame.type === "message.create") console.log(frame.payload.content);
 */
export function decode(input: string | Uint8Array, sender: "client"): ClientFrame;
export function decode(input: string | Uint8Array, sender: "server"): ServerFrame;
export function decode(input: string | Uint8Array, sender: Role): Frame {
  return sender === "client" ? decodeClient(input) : decodeServer(input);
}
