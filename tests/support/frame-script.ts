// One conversation of each kind of client, and the frames that they receive.
import type { Application } from "../../plugins/channels/index.ts";
import { waitFor, type PicoTestServer } from "./pico-server-harness.ts";

/** Replies with one message, with a message that grows, or not at all. */
export const scriptedApplication: Application = async ({ content, reply }) => {
  if (content === "fail") throw new Error("no");
  if (content === "silent") return;
  await reply({ content: `re: ${content}` });
  if (content === "two") void reply({ content: "and 日本" });
};

type Client = Awaited<ReturnType<PicoTestServer["connect"]>>;

/** Replaces what is random by its order of appearance. */
function createNames() {
  const names = new Map<string, string>();
  const nameOf = (text: string): string => {
    if (!names.has(text)) names.set(text, `#${names.size + 1}`);
    return names.get(text)!;
  };
  return (text: string): string => text.replace(/\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b/g, nameOf);
}

type Frame = Awaited<ReturnType<Client["next"]>> & { readonly seq?: number };

/**
 * Hides the numbers that the turns of people occupy. Clients that did not ask for turns receive a
 * deletion without a time in their place.
 */
function createTurnFilter() {
  const turns = new Set<number>();
  const without = (seq: number): number => seq - [...turns].filter((turn) => turn <= seq).length;
  return (frame: Frame): Frame | undefined => {
    const { type, seq, timestamp } = frame;
    if (type === "message.delete" && seq !== undefined && timestamp === undefined) {
      turns.add(seq);
      return undefined;
    }
    if (seq !== undefined) return { ...frame, seq: without(seq) };
    if (type !== "hello") return frame;
    const hello = frame.payload as { seq: number; replay: number };
    const replay = without(hello.seq) - without(hello.seq - hello.replay);
    return { ...frame, payload: { ...hello, seq: without(hello.seq), replay } };
  };
}

/**
 * @param keepsTurns - The turns of people have numbers, although no client asks for them.
 * @returns The frames of all clients, in the order in which each client received them.
 */
export async function runScript(server: PicoTestServer, keepsTurns: boolean): Promise<string[]> {
  const rename = createNames();
  const withoutTurns = keepsTurns ? createTurnFilter() : (frame: Frame): Frame => frame;
  const lines: string[] = [];
  const receive = async (name: string, client: Client, count: number): Promise<void> => {
    for (let left = count; left > 0;) {
      const frame = withoutTurns(await client.next());
      if (frame === undefined) continue;
      lines.push(rename(`${name} ${JSON.stringify(frame)}`));
      left -= 1;
    }
  };
  const send = (client: Client, content: string, id?: string): void =>
    client.send({ type: "message.send", ...(id !== undefined && { id }), payload: { content } });
  const to = { channel: "pico", session: "extended" };
  const { channels } = server.services;

  const plain = await server.connect("/pico?session_id=plain");
  for (const content of ["hello", "two", "silent"]) send(plain, content);
  await receive("plain", plain, 3);
  send(plain, "fail", "p1");
  await receive("plain", plain, 1);
  plain.send({ type: "ping", id: "p2" });
  await receive("plain", plain, 1);

  const extended = await server.connect("/pico?session_id=extended&pico_ext=1");
  await receive("extended", extended, 1);
  send(extended, "two", "e1");
  await receive("extended", extended, 3);
  send(extended, "two", "e1");
  await receive("extended", extended, 1);
  send(extended, "other", "e1");
  await receive("extended", extended, 1);
  const { id } = await channels.send(to, { content: "grows", final: false });
  await channels.update(to, id, { content: "grows on" });
  await channels.update(to, id, { content: "grown", final: true });
  channels.typing(to, true);
  const { id: removed } = await channels.send(to, { content: "removed" });
  await channels.remove(to, removed);
  await receive("extended", extended, 6);
  extended.send({ type: "ack", payload: { seq: keepsTurns ? 4 : 3 } });
  await leave(server, extended, 1);

  for (const content of ["one", "two"]) await server.say("extended", content);
  await server.say("plain", "for both");
  await receive("plain", plain, 1);
  await leave(server, plain, 0);
  await server.say("plain", "kept");
  const again = await server.connect("/pico?session_id=plain");
  await receive("plain again", again, 1);
  const resumed = await server.connect("/pico?session_id=extended&pico_ext=1");
  await receive("resumed", resumed, 6);
  const foreign = await server.connect("/pico?session_id=extended&pico_ext=1&resume=00ff:3");
  await receive("foreign", foreign, 2);
  const second = await server.connect("/pico?session_id=extended");
  await server.say("extended", "to three");
  for (const [name, client] of Object.entries({ resumed, foreign, second }))
    await receive(name, client, 1);
  return lines;
}

/** @param left - Connections that remain. */
async function leave({ services }: PicoTestServer, client: Client, left: number): Promise<void> {
  client.ws.close();
  await waitFor(() => services.picoServer.connections().length === left);
}
