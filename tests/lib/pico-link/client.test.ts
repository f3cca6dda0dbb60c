import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket as NodeWebSocket } from "ws";
import {
  connect,
  type Client,
  type ConnectOptions,
  type ChatStateChange,
  type ChatMessage,
} from "../../../lib/pico-link/client.ts";
import { connectWith } from "../../../lib/pico-link/connect.ts";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { createPeer, hurriedClock, type Peer } from "../../support/scripted-peer.ts";

/** A WebSocket as in browsers: it accepts protocols but no headers. */
class PageWebSocket extends NodeWebSocket {
  constructor(url: string, protocols: string | string[] = []) {
    if (typeof protocols !== "string" && !Array.isArray(protocols))
      throw new SyntaxError("a protocol is text");
    super(url, protocols);
  }
}

/** Makes backoffs short. */
const clock = hurriedClock(20);

interface Talk extends Disposable {
  readonly client: Client;
  readonly messages: ChatMessage[];
  state(fits: (change: ChatStateChange) => boolean): Promise<ChatStateChange>;
  message(content: string): Promise<ChatMessage>;
}

function talk(peer: Peer, options: Partial<ConnectOptions> = {}): Talk {
  const messages: ChatMessage[] = [];
  const changes: ChatStateChange[] = [];
  const looks = new Set<() => void>();
  const until = <T>(list: readonly T[], fits: (item: T) => boolean): Promise<T> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = list.find(fits);
        if (found !== undefined) resolve(found);
      };
      looks.add(look);
      look();
    });
  const tell = (): void => looks.forEach((look) => look());
  const client = connect({
    url: peer.url,
    token: "secret",
    clock,
    WebSocket: NodeWebSocket,
    headers: true,
    onMessage: (message) => {
      messages.push(message);
      tell();
    },
    onState: (change) => {
      changes.push(change);
      tell();
    },
    ...options,
  });
  return {
    client,
    messages,
    state: (fits) => until(changes, fits),
    message: (content) => until(messages, (message) => message.content === content),
    [Symbol.dispose]: () => client.close(),
  };
}

const echo: NonNullable<Parameters<typeof createPeer>[0]>["answer"] = (frame, socket) => {
  if (frame["type"] !== "message.send") return;
  socket.send(
    JSON.stringify({
      type: "message.create",
      payload: { content: `you said ${frame["payload"].content}` },
    }),
  );
};

describe("connectWith", () => {
  test.each(["focus", "online"])("connects immediately after the event %s", async (event) => {
    await using peer = await createPeer();
    const target = new EventTarget();
    const states: string[] = [];
    let waits = (_: void): void => undefined;
    const isWaiting = new Promise<void>((resolve) => void (waits = resolve));
    const client = connectWith(
      {
        url: peer.url,
        token: "secret",
        clock: createStoppedClock(), // no timer ends the pause
        onState({ to }) {
          states.push(to);
          if (to === "waiting") waits();
        },
      },
      NodeWebSocket,
      target,
    );
    (await peer.socket(0)).close(1000);
    await isWaiting;
    target.dispatchEvent(new Event(event));
    await peer.socket(1);
    expect(states.slice(0, 4)).toEqual(["connecting", "open", "waiting", "connecting"]);
    client.close();
    target.dispatchEvent(new Event(event));
    expect(client.state()).toBe("closed");
  });
});

describe("connect", () => {
  test("sends token, session and extension without a subprotocol in Node", async () => {
    await using peer = await createPeer({ answer: echo });
    using talking = talk(peer, { sessionId: "mine" });
    const { client, message } = talking;
    await expect(client.send("hello").accepted).resolves.toMatchObject({ status: "written" });
    await message("you said hello");
    const { headers, url } = peer.handshakes[0]!;
    expect(headers.authorization).toBe("Bearer secret");
    expect(headers["sec-websocket-protocol"]).toBeUndefined();
    expect(Object.fromEntries(new URL(url!, peer.url).searchParams)).toEqual({
      session_id: "mine",
      pico_ext: "1",
      pico_can: "append,notices,questions,stop,turns",
    });
  });

  test.each([
    ["secret", "token.secret"],
    ["geheim/wörtlich=", "token64.Z2VoZWltL3fDtnJ0bGljaD0"],
  ])("sends the token %s of a page as the subprotocol %s", async (token, offered) => {
    await using peer = await createPeer({ answer: echo });
    using talking = talk(peer, { token, WebSocket: PageWebSocket, headers: false });
    const { client, message } = talking;
    await client.send("hello").accepted;
    await message("you said hello");
    expect(peer.handshakes[0]!.headers["sec-websocket-protocol"]).toBe(offered);
    expect(peer.handshakes[0]!.headers.authorization).toBeUndefined();
  });

  test("finds a WebSocket constructor in Node", async () => {
    await using peer = await createPeer({ answer: echo });
    const heard: string[] = [];
    const client = connect({
      url: peer.url,
      token: async () => "asked for",
      onMessage: ({ content }) => heard.push(content),
    });
    await client.send("hello").accepted;
    expect(peer.handshakes[0]!.headers.authorization).toBe("Bearer asked for");
    client.close();
    expect(client.state()).toBe("closed");
  });

  test("distinguishes a wrong token from a network failure", async () => {
    await using peer = await createPeer({
      refuse: () => ({ status: 401, body: { error: "token_mismatch", message: "" } }),
    });
    using talking = talk(peer);
    const { client, state } = talking;
    const { check } = await state(({ to }) => to === "blocked");
    expect(check).toBe("Is the token the same on both sides?");
    expect(peer.handshakes.length).toBe(2);
    expect(client.state()).toBe("blocked");
  });

  test("connects immediately when the token of a blocked client changes", async () => {
    let right = "old";
    await using peer = await createPeer({
      refuse: () => (right === "new" ? undefined : { status: 401 }),
    });
    using talking = talk(peer, { token: () => right });
    const { client, state } = talking;
    await state(({ to }) => to === "blocked");
    right = "new";
    client.retry();
    await state(({ to }) => to === "open");
  });

  test("names a proxy that strips Upgrade", async () => {
    await using peer = await createPeer({ refuse: () => ({ status: 502 }), probe: () => 200 });
    using talking = talk(peer);
    const { state } = talking;
    expect(await state(({ to }) => to === "blocked")).toMatchObject({
      reason: "upgrade_required",
      check: "Does a proxy strip Upgrade?",
    });
  });

  test("waits for Retry-After", async () => {
    await using peer = await createPeer({
      refuse: () => ({ status: 503, headers: { "Retry-After": "120" } }),
    });
    using talking = talk(peer);
    const { state } = talking;
    const { retryInMs } = await state(({ to }) => to === "waiting");
    expect(retryInMs).toBeGreaterThanOrEqual(120_000);
    expect(retryInMs).toBeLessThan(121_000);
  });

  test("keeps the message while the server is unreachable", async () => {
    const peer = await createPeer();
    await peer[Symbol.asyncDispose]();
    using talking = talk(peer);
    const { client, state } = talking;
    const sending = client.send("hello").accepted;
    expect(await state(({ to }) => to === "waiting")).toMatchObject({ reason: "network" });
    client.close();
    await expect(sending).rejects.toMatchObject({ name: "ChatError", code: "closed" });
  });

  test("resumes a cut connection and repeats unconfirmed messages", async () => {
    let connections = 0;
    const hello = (resumed: boolean) => ({
      type: "hello",
      payload: {
        version: 1,
        conn_id: `c${connections}`,
        session_id: "s",
        epoch: "e",
        seq: 1,
        resumed,
        replay: resumed ? 0 : 1,
        gap: false,
      },
    });
    await using peer = await createPeer({
      greet(socket) {
        connections += 1;
        socket.send(JSON.stringify(hello(connections > 1)));
        if (connections === 1) {
          const payload = { message_id: "m", content: "first", final: true };
          socket.send(JSON.stringify({ type: "message.create", seq: 1, epoch: "e", payload }));
        }
      },
      answer(frame, socket) {
        if (frame["type"] !== "message.send") return;
        if (connections === 1) return socket.terminate();
        socket.send(
          JSON.stringify({
            type: "message.ack",
            payload: { request_id: frame["id"], status: "accepted" },
          }),
        );
      },
    });
    using talking = talk(peer, { sessionId: "s" });
    const { client, message } = talking;
    await message("first");
    const receipt = await client.send("hello").accepted;
    expect(receipt.status).toBe("delivered");
    expect(peer.frames.filter(({ type }) => type === "message.send").map(({ id }) => id)).toEqual([
      receipt.id,
      receipt.id,
    ]);
    const { searchParams } = new URL(peer.handshakes[1]!.url!, peer.url);
    expect(Object.fromEntries(searchParams)).toEqual({
      session_id: "s",
      pico_ext: "1",
      pico_can: "append,notices,questions,stop,turns",
      resume: "e:1",
      conn: "c1",
    });
  });

  test("keeps query parameters and accepts http addresses", async () => {
    await using peer = await createPeer({ answer: echo });
    using talking = talk(peer, {
      url: `${peer.url.replace("ws:", "http:")}?session_id=theirs&token=q`,
      token: "",
    });
    await talking.client.send("hello").accepted;
    expect(peer.handshakes[0]!.url).toBe(
      "/pico?session_id=theirs&token=q&pico_ext=1&pico_can=append%2Cnotices%2Cquestions%2Cstop%2Cturns",
    );
    expect(peer.handshakes[0]!.headers.authorization).toBeUndefined();
  });

  test("rejects an invalid address immediately", () => {
    expect(() => connect({ url: "not an address", token: "" })).toThrow(TypeError);
  });

  test("names the missing source of random bytes", () => {
    vi.stubGlobal("crypto", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const options = { url: "ws://127.0.0.1:1/pico", token: "" };
    expect(() => connect(options)).toThrow("pass a source of random bytes in the option random");
    connect({ ...options, random: (bytes) => new Uint8Array(bytes) }).close();
  });
});
