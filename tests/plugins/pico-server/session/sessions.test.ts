import { describe, expect, test } from "vitest";
import type { Application, Message } from "../../../../plugins/channels/index.ts";
import { startPicoServer, waitFor } from "../../../support/pico-server-harness.ts";

describe("sessions", () => {
  test("subscribe a connection to each session it names", async () => {
    const taken: Message[] = [];
    await using testServer = await startPicoServer({ app: (message) => void taken.push(message) });
    const peer = await testServer.connect("/pico?session_id=s1");
    peer.send({ type: "message.send", session_id: "s2", payload: { content: "hi" } });
    expect((await waitFor(() => taken[0])).session).toBe("s2");
    await testServer.say("s2", "to the second");
    await testServer.say("s1", "to the first");
    expect((await peer.next()).session_id).toBe("s2");
    expect((await peer.next()).session_id).toBe("s1");
  });

  test("drop the least recently used beyond 64 per connection", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico?session_id=s0");
    for (let n = 1; n < 64; n++) peer.send({ type: "typing.start", session_id: `s${n}` });
    peer.send({ type: "typing.start", session_id: "s0" });
    await peer.settled();
    await testServer.say("s1", "a message that is heard is a use");
    peer.send({ type: "typing.start", session_id: "s64" });
    peer.send({ type: "ping", id: "last", session_id: "s64" });
    await waitFor(() => peer.frames.some(({ id }) => id === "last"));
    await expect(testServer.say("s2", "gone")).resolves.toMatchObject({ status: "buffered" });
    for (const session of ["s0", "s1", "s3", "s64"]) {
      await expect(testServer.say(session, "there")).resolves.toMatchObject({ status: "written" });
    }
  });

  test("keep messages for the next client and send them once", async () => {
    await using testServer = await startPicoServer();
    const first = await testServer.connect("/pico?session_id=s1");
    await testServer.say("s1", "one");
    expect((await first.next()).payload?.content).toBe("one");
    first.ws.close(1000);
    await testServer.fact("pico-server:disconnected");
    await expect(testServer.say("s1", "two")).resolves.toMatchObject({ status: "buffered" });
    const second = await testServer.connect("/pico?session_id=s1");
    expect(await second.next()).toMatchObject({
      type: "message.create",
      payload: { content: "two" },
    });
    const third = await testServer.connect("/pico?session_id=s1");
    await third.settled();
    await second.settled();
    expect([...second.frames, ...third.frames]).toEqual([]);
  });

  test("deliver in order per session and in parallel across sessions", async () => {
    const events: string[] = [];
    let release = (): void => undefined;
    const first = new Promise<void>((resolve) => void (release = resolve));
    const app: Application = async ({ session, id }) => {
      events.push(`${session} ${id} begins`);
      if (id === "a1") await first;
      events.push(`${session} ${id} ends`);
    };
    await using testServer = await startPicoServer({ app });
    const peer = await testServer.connect();
    const send = (session_id: string, id: string) =>
      peer.send({ type: "message.send", session_id, id, payload: { content: "x" } });
    send("a", "a1");
    send("a", "a2");
    send("b", "b1");
    await waitFor(() => events.includes("b b1 ends"));
    expect(events).not.toContain("a a2 begins");
    release();
    await waitFor(() => events.includes("a a2 ends"));
    const ofA = events.filter((event) => event.startsWith("a "));
    expect(ofA).toEqual(["a a1 begins", "a a1 ends", "a a2 begins", "a a2 ends"]);
  });
});
