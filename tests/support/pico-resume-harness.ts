import { waitFor, type Client, type Frame, type PicoTestServer } from "./pico-server-harness.ts";

interface HelloPayload {
  readonly conn_id: string;
  readonly epoch: string;
  readonly seq: number;
}
export type NumberedFrame = Frame & { readonly seq?: number; readonly epoch?: string };

/** Connects as a client that resumes, and reads `hello`. */
export async function resuming(testServer: PicoTestServer, more = "", session = "s1") {
  const peer = await testServer.connect(`/pico?session_id=${session}&pico_ext=1${more}`);
  const first = (await peer.next()) as NumberedFrame;
  return { ...peer, first, hello: first.payload as unknown as HelloPayload };
}

/** The query of a connection that resumes after `seq`. */
export const from = ({ epoch, seq }: { epoch: string; seq: number }): string =>
  `&resume=${epoch}:${seq}`;

/** Cuts the connection and waits until the server has noticed. */
export const leave = async (testServer: PicoTestServer, peer: Client): Promise<void> => {
  const before = testServer.facts.length;
  peer.ws.terminate();
  await waitFor(() =>
    testServer.facts.slice(before).some(({ type }) => type === "pico-server:disconnected"),
  );
};

export const contents = (frames: readonly Frame[]): unknown[] =>
  frames.map(({ payload }) => payload?.content);

export const next = async (peer: Client, count: number): Promise<NumberedFrame[]> => {
  const frames: NumberedFrame[] = [];
  while (frames.length < count) frames.push(await peer.next());
  return frames;
};

export const send = (id: string, content = id) => ({
  type: "message.send",
  id,
  payload: { content },
});
