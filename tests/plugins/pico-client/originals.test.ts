import { describe, expect, test } from "vitest";
import { createPeer, hurriedClock, type PeerOptions } from "../../support/scripted-peer.ts";
import {
  startPicoClient as startClient,
  token,
  type LocalClient,
} from "../../support/pico-client-harness.ts";

/** A message of these servers is complete after 30 s without a change. */
const clock = hurriedClock(60);
const startPicoClient = (url: string): Promise<LocalClient> => startClient(url, { clock });

/* Each test has a small server with one habit of the original servers. */

const send = (socket: { send(text: string): void }, frame: object): void =>
  socket.send(JSON.stringify(frame));
const createMessage = (content: string, more: object = {}) => ({
  type: "message.create",
  payload: { message_id: content, content },
  ...more,
});
const echo: NonNullable<PeerOptions["answer"]> = ({ type, payload }, socket) => {
  if (type === "message.send") send(socket, createMessage(`you said ${payload.content}`));
};

describe("picoLink", () => {
  test("sends the token in a header and offers no subprotocol", async () => {
    await using peer = await createPeer({ answer: echo });
    await using client = await startPicoClient(peer.url);
    await expect(client.link.send({ content: "hello" })).resolves.toMatchObject({
      status: "written",
    });
    await client.until(client.heard, ({ content }) => content === "you said hello");
    expect(peer.sockets.map(({ protocol }) => protocol)).toEqual([""]);
    expect(
      peer.handshakes.map(({ headers }) => [
        headers["sec-websocket-protocol"],
        headers.authorization,
      ]),
    ).toEqual([[undefined, `Bearer ${token}`]]);
  });

  test("stops sending typing after an unknown_type error", async () => {
    await using peer = await createPeer({
      answer(frame, socket) {
        echo(frame, socket);
        const payload = { code: "unknown_type", message: `unknown message type: ${frame["type"]}` };
        if (frame["type"].startsWith("typing.")) send(socket, { type: "error", payload });
      },
    });
    await using client = await startPicoClient(peer.url);
    await client.until(client.changes, ({ to }) => to === "open");
    client.link.typing(true);
    await client.link.send({ content: "one" });
    await client.until(client.heard, ({ content }) => content === "you said one");
    client.link.typing(false);
    client.link.typing(true);
    await client.link.send({ content: "two" });
    await client.until(client.heard, ({ content }) => content === "you said two");
    expect(
      peer.frames.map(({ type }) => type).filter((type) => type.startsWith("typing.")),
    ).toEqual(["typing.start"]);
    expect(client.lines.filter(({ text }) => text.includes("unknown message type"))).toEqual([]);
    expect(client.changes.map(({ to }) => to)).toEqual(["connecting", "open"]);
  });

  test("receives replies to its registered session after a reconnect", async () => {
    const sessions = new Map<object, string | null>();
    await using peer = await createPeer({
      answer({ type, session_id, payload }, socket) {
        if (type !== "message.send") return;
        const registered = sessions.get(socket);
        if (session_id === undefined || session_id === registered) {
          send(socket, createMessage(`you said ${payload.content}`, { session_id: registered }));
        }
      },
      greet: (socket, { url }) =>
        void sessions.set(socket, new URL(url!, "ws://host").searchParams.get("session_id")),
    });
    await using client = await startPicoClient(peer.url);
    await client.link.send({ content: "one" });
    await client.until(client.heard, ({ content }) => content === "you said one");
    peer.sockets[0]!.terminate();
    await peer.socket(1);
    await client.link.send({ content: "two" });
    await client.until(client.heard, ({ content }) => content === "you said two");
    expect([...sessions.values()]).toEqual([client.link.session(), client.link.session()]);
  });

  test("treats messages without message_id as separate messages", async () => {
    await using peer = await createPeer({
      greet: (socket) => {
        for (const content of ["one", "one", "two"])
          send(socket, { type: "message.create", payload: { content } });
      },
    });
    await using client = await startPicoClient(peer.url);
    await client.until(client.heard, ({ content }) => content === "two");
    expect(client.heard.map(({ content }) => content)).toEqual(["one", "one", "two"]);
    expect(new Set(client.heard.map(({ id }) => id)).size).toBe(3);
  });

  test.each<[string, unknown, number | undefined]>([
    ["in seconds", 1_700_000_000, 1_700_000_000_000],
    ["in milliseconds", 1_700_000_000_123, 1_700_000_000_123],
    ["as a string", "2023-11-14T22:13:20Z", undefined],
  ])("accepts timestamps %s", async (_, timestamp, at) => {
    await using peer = await createPeer({
      greet: (socket) => send(socket, createMessage("hello", { timestamp })),
    });
    await using client = await startPicoClient(peer.url);
    const { at: receivedAt } = await client.until(
      client.heard,
      ({ content }) => content === "hello",
    );
    // The clock of the client is far ahead.
    if (at === undefined) expect(receivedAt).toBeGreaterThan(Date.now());
    else expect(receivedAt).toBe(at);
  });
});
