// Requests and frames that the scripts of the pico channel share.
import { DoorwardError } from "../../kernel/index.ts";
import { Recording, upgrade, type Peer, type Sent } from "./recorder.ts";
import { bearer, tokens, type Service } from "./service.ts";

export const shake = (...headers: string[]): readonly string[] => [...upgrade, ...headers];
export const allowed = shake(bearer(tokens.pico));
export const pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=";

export const recordOf = (
  { port, home }: Service,
  target: { readonly port: number } | { readonly path: string } = { port },
): Recording => new Recording(target, { [`:${port}`]: ":<port>", [home]: "<home>" });

/** Opens a WebSocket and records the response of its handshake. */
export async function open(
  record: Recording,
  name: string,
  path: string,
  sent: Sent = {},
): Promise<Peer> {
  const peer = await record.open(`GET ${path}`, { headers: allowed, name, ...sent });
  await peer.head();
  return peer;
}

export const send = (id: string, content: string, more: object = {}): object => ({
  type: "message.send",
  id,
  payload: { content, ...more },
});

/** An application that fails with this code. */
export const reject = (code: string) => (): never => {
  throw new DoorwardError(code, "Not today.");
};
