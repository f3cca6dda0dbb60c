import { decodeClient } from "./decode-client.ts";
import { decodeServer } from "./decode-server.ts";
import type { ClientFrame, Frame, Role, ServerFrame } from "./messages.ts";

/** Reads a frame that `sender` sent. Throws `WireError` and nothing else, whatever the input; unknown keys are
 *  ignored. */
export function decode(input: string | Uint8Array, sender: "client"): ClientFrame;
export function decode(input: string | Uint8Array, sender: "server"): ServerFrame;
export function decode(input: string | Uint8Array, sender: Role): Frame {
  return sender === "client" ? decodeClient(input) : decodeServer(input);
}
