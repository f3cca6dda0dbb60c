import { describe, expect, test } from "vitest";
import type { AnyPlugin, Plugin } from "../../../../kernel/index.ts";
import { SessionGuard } from "../../../../plugins/pico-server/session/session-guard.ts";
import type { Tokens } from "../../../../plugins/token-store/index.ts";
import {
  fetchJson,
  rejection,
  startPicoServer,
  token,
  waitFor,
} from "../../../support/pico-server-harness.ts";

const named = encodeURIComponent(token);
const send = (session_id: string, id: string) => ({
  type: "message.send",
  id,
  session_id,
  payload: { content: "hello" },
});
const rejected = { error: "invalid_session_id" };

/** Another token of the same process. */
const other = "another-token-that-has-enough-characters-to-count";
const owner: Plugin<{ needs: { tokens: Tokens } }> = {
  name: "owner-of-another-token",
  api: 1,
  needs: { tokens: true },
  start: async ({ needs }) => void (await needs.tokens.claim("metrics", { generate: true })),
};
const withOther = {
  plugins: [owner] as AnyPlugin[],
  verify:
    (verify: Tokens["verify"]): Tokens["verify"] =>
    async (name, value) =>
      name === "metrics" ? value === other && 1 : verify(name, value),
};

describe("session ids that are tokens", () => {
  test.each([token, ` ${token} `])("fail in the URL of a handshake", async (session) => {
    await using testServer = await startPicoServer();
    const path = `/pico?session_id=${encodeURIComponent(session)}`;
    expect(await testServer.sendRaw(path)).toMatchObject(rejection(400, "invalid_session_id"));
    expect(testServer.services.picoServer.connections()).toEqual([]);
    expect(JSON.stringify([testServer.facts, testServer.lines])).not.toContain(token);
  });

  test("fail in the URL of an event stream", async () => {
    await using testServer = await startPicoServer();
    const answer = await fetchJson(testServer.port, `/pico/events?session_id=${named}`);
    expect(answer).toMatchObject({ status: 400, body: rejected });
  });

  test.each(["", "?wait=5"])("fail in a posted message (%s)", async (query) => {
    const received: string[] = [];
    await using testServer = await startPicoServer({
      app: ({ session }) => void received.push(session),
    });
    const answer = await fetchJson(testServer.port, `/pico/messages${query}`, {
      method: "POST",
      body: { session_id: token, content: "hello" },
    });
    expect(answer).toMatchObject({ status: 400, body: { error: "invalid_message" } });
    expect(JSON.stringify([answer.body, testServer.facts, testServer.lines])).not.toContain(token);
    expect(received).toEqual([]);
  });

  test("fail in a frame, and other frames keep their order", async () => {
    const received: string[] = [];
    await using testServer = await startPicoServer({ app: ({ id }) => void received.push(id) });
    const peer = await testServer.connect("/pico?session_id=s1&pico_ext=1");
    peer.send(send("s2", "1"));
    peer.send(send(token, "2"));
    peer.send(send("s3", "3"));
    peer.send({ type: "typing.start", session_id: token });
    peer.send(send("s2", "4"));
    await waitFor(() => received.length === 3);
    await peer.settled();
    expect(received).toEqual(["1", "3", "4"]);
    const errors = peer.frames.filter(({ type }) => type === "error");
    expect(errors.map(({ session_id, payload }) => [session_id, payload])).toEqual([
      ["s1", { code: "invalid_message", message: expect.any(String) as string, request_id: "2" }],
      ["s1", { code: "invalid_message", message: expect.any(String) as string }],
    ]);
    expect(JSON.stringify([peer.frames, testServer.facts, testServer.lines])).not.toContain(token);
  });

  test("fail for other token names above the guessable length", async () => {
    await using testServer = await startPicoServer(withOther);
    const path = `/pico?session_id=${other}`;
    expect(await testServer.sendRaw(path)).toMatchObject(rejection(400, "invalid_session_id"));
  });

  test("close with bad_request after twenty in a minute", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect();
    for (let n = 0; n < 20; n++) peer.send(send(token, `${n}`));
    expect(await peer.closed).toMatchObject({ code: 4400 });
  });
});

describe("session ids", () => {
  test("fail while the token store is unavailable", async () => {
    let isDown = false;
    const unavailable = Object.assign(new Error("replacing"), {
      name: "DoorwardError",
      code: "store_unavailable",
    });
    await using testServer = await startPicoServer({
      verify: (verify) => (name, value) =>
        isDown ? Promise.reject(unavailable) : verify(name, value),
    });
    const peer = await testServer.connect("/pico?session_id=s1");
    isDown = true;
    peer.send(send("s2", "1"));
    expect(await peer.next()).toMatchObject({ type: "error", payload: { code: "busy" } });
    isDown = false;
    peer.send(send("s2", "2"));
    await peer.settled();
    expect(peer.frames).toEqual([]);
  });
});

describe("SessionGuard", () => {
  test("compares short session ids with the channel token alone", async () => {
    const asked: string[] = [];
    const guard = new SessionGuard({
      names: () => ["launcher", "pico"],
      match: async (name) => {
        asked.push(name);
        return false;
      },
    });
    await guard.isToken("s1");
    expect(asked).toEqual(["pico"]);
    await guard.isToken("x".repeat(43));
    expect(asked).toEqual(["pico", "launcher", "pico"]);
  });
});
