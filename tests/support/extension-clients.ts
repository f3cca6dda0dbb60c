// Clients of the extension: how they join a session, what they send and what they receive.
import { bearer, type Client, type Frame, type PicoTestServer } from "./pico-server-harness.ts";

export type NumberedFrame = Frame & { readonly seq?: number; readonly epoch?: string };

/** @param more - Further parameters of the address. */
export async function join(service: PicoTestServer, more = "", session = "s1"): Promise<Client> {
  const client = await service.connect(`/pico?session_id=${session}&pico_ext=1${more}`);
  await client.next();
  return client;
}

/** The parameter of clients that stop messages and receive turns. */
export const both = "&pico_can=stop,turns";
export const send = (id: string, content = id) => ({
  type: "message.send",
  id,
  payload: { content },
});

export async function next(client: Client, count: number): Promise<NumberedFrame[]> {
  const frames: NumberedFrame[] = [];
  while (frames.length < count) frames.push(await client.next());
  return frames;
}

/** @returns The type of each frame, with its number if it has one. */
export const outline = (frames: readonly NumberedFrame[]): unknown[] =>
  frames.map(({ type, seq }) => (seq === undefined ? type : `${type} ${seq}`));

export const post = (service: PicoTestServer, path: string, body: object) =>
  fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: bearer.slice(15) },
    body: JSON.stringify(body),
  });
