import { describe, expect, test } from "vitest";
import { startPicoServer, waitFor } from "../../../support/pico-server-harness.ts";

const hello = { type: "message.send", id: "1", payload: { content: "hello" } };

describe("picoServer.connections", () => {
  test("lists connections by age with origin and traffic", async () => {
    await using s = await startPicoServer({
      app: (message) => void message.reply({ content: "hi" }),
    });
    const { picoServer } = s.kernel.services;
    const first = await s.connect("/pico?session_id=one", {
      headers: { origin: "http://app.example", "user-agent": "Tester/1" },
    });
    await s.connect("/pico?session_id=two");
    first.send(hello);
    await waitFor(() => first.frames.some(({ type }) => type === "message.create"));
    expect(picoServer.connections()).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        session: "one",
        address: "127.0.0.1",
        method: "header",
        user: "token:pico",
        origin: "http://app.example",
        userAgent: "Tester/1",
        since: s.clock.now(),
        lastHeardAt: s.clock.now(),
        messagesIn: 1,
        messagesOut: 1,
        queuedBytes: expect.any(Number),
      },
      expect.objectContaining({ session: "two", messagesIn: 0, messagesOut: 0 }),
    ]);
    first.ws.close();
    await waitFor(() => picoServer.connections().length === 1);
  });

  test("disconnects a connection by id and ignores unknown ids", async () => {
    await using s = await startPicoServer();
    const { picoServer } = s.kernel.services;
    const [one, two] = [await s.connect(), await s.connect()];
    const [{ id } = { id: "" }] = picoServer.connections();
    expect(picoServer.disconnect("unknown")).toBe(false);
    expect(picoServer.disconnect(id)).toBe(true);
    expect(await one.closed).toEqual({ code: 4403, reason: "forbidden" });
    await waitFor(() => picoServer.connections().length === 1);
    expect(picoServer.disconnect(id)).toBe(false);
    await two.settled();
  });
});
