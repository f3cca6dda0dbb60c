// Tests stops and the ends of answers over real sockets.
import { describe, expect, test } from "vitest";
import type { Application, Message } from "../../../../plugins/channels/index.ts";
import { both, join, next, outline, post, send } from "../../../support/extension-clients.ts";
import { bearer, startPicoServer, waitFor } from "../../../support/pico-server-harness.ts";

const repliesLater: Application = async ({ accept, reply, content }) => {
  accept();
  await reply({ content });
};
/** Runs until it is stopped. */
const endless: Application = (message) =>
  new Promise((resolve) => {
    const answer = message.stream();
    answer.write("so far");
    message.accept();
    message.signal.addEventListener("abort", () => resolve());
  });

describe("message.stop", () => {
  test("stops an answer, ends it for all clients, and is idempotent", async () => {
    await using service = await startPicoServer({ app: endless });
    const phone = await join(service, both);
    const plain = await service.connect("/pico?session_id=s1");
    phone.send(send("m1"));
    await waitFor(() => plain.frames.length === 1);
    phone.send({ type: "message.stop", id: "x", payload: { request_id: "m1" } });
    const stopped = [{ request_id: "m1", status: "stopping" }];
    const ack = await waitFor(() => phone.frames.find(({ type }) => type === "stop.ack"));
    expect(ack.payload).toEqual({ request_id: "x", stopped });
    const end = await waitFor(() => phone.frames.find(({ type }) => type === "answer.end"));
    expect(end.payload).toMatchObject({ request_id: "m1", outcome: "stopped" });
    expect(plain.frames.at(-1)).toMatchObject({
      type: "message.update",
      payload: { content: "so far", final: true },
    });
    phone.send({ type: "message.stop", id: "y", payload: { request_id: "m1" } });
    phone.send({ type: "message.stop", id: "z", payload: { request_id: "other" } });
    await waitFor(() => phone.frames.filter(({ type }) => type === "stop.ack").length === 3);
    const results = phone.frames.filter(({ type }) => type === "stop.ack").slice(1);
    expect(results.map(({ payload }) => payload?.["stopped"])).toEqual([
      [{ request_id: "m1", status: "over" }],
      [{ request_id: "other", status: "unknown" }],
    ]);
  });

  test("rejects unaccepted messages as stopped, also when repeated", async () => {
    const runs: Message[] = [];
    const app: Application = (message) => {
      runs.push(message);
      return new Promise((resolve) => message.signal.addEventListener("abort", () => resolve()));
    };
    await using service = await startPicoServer({ app });
    const phone = await join(service, both);
    const laptop = await join(service, both);
    phone.send(send("m1"));
    phone.send(send("m2"));
    await waitFor(() => runs.length === 1);
    await phone.settled();
    phone.send({ type: "message.stop", id: "x" });
    const ack = await waitFor(() => phone.frames.find(({ type }) => type === "stop.ack"));
    const removed = { request_id: "m2", status: "removed" };
    const stopping = { request_id: "m1", status: "stopping" };
    expect(ack.payload?.["stopped"]).toEqual([removed, stopping]);
    phone.send(send("m1"));
    await waitFor(() => phone.frames.filter(({ type }) => type === "error").length === 3);
    const errors = phone.frames.filter(({ type }) => type === "error");
    expect(errors.map(({ payload }) => payload?.["code"])).toEqual(Array(3).fill("stopped"));
    await laptop.settled();
    expect(laptop.frames.map(({ type }) => type)).not.toContain("message.user");
  });

  test("repeats the end of an answer after a resume", async () => {
    await using service = await startPicoServer({ app: repliesLater });
    const phone = await join(service, both);
    phone.send(send("m1"));
    const [ack] = await next(phone, 3);
    const again = await service.connect(
      `/pico?session_id=s1&pico_ext=1&resume=${ack!.epoch}:2${both}`,
    );
    expect(outline(await next(again, 2))).toEqual(["hello", "answer.end"]);
    const other = await service.connect(`/pico?session_id=other&pico_ext=1${both}`);
    await other.settled();
    expect(other.frames.map(({ type }) => type)).not.toContain("answer.end");
  });

  test("repeats the end of an answer to a new client", async () => {
    await using service = await startPicoServer({ app: repliesLater });
    const phone = await join(service, both);
    phone.send(send("m1"));
    await next(phone, 3);
    phone.ws.terminate();
    await phone.closed;
    const fresh = await service.connect(`/pico?session_id=s1&pico_ext=1${both}`);
    await fresh.settled();
    const types = fresh.frames.map(({ type }) => type);
    expect(types.slice(1)).toContain("message.create");
    expect(types.at(-1)).toBe("answer.end");
  });
});

describe("POST /pico/stop", () => {
  test("stops messages of the session", async () => {
    await using service = await startPicoServer({ app: endless });
    const phone = await join(service);
    phone.send(send("m1"));
    await waitFor(() => phone.frames.some(({ type }) => type === "message.ack"));
    const body = { session_id: "s1", request_id: "m1" };
    const response = await post(service, "/pico/stop", body);
    expect([response.status, await response.json()]).toEqual([
      200,
      { stopped: [{ request_id: "m1", status: "stopping" }] },
    ]);
    const all = await post(service, "/pico/stop", { session_id: "other" });
    expect(await all.json()).toEqual({ stopped: [] });
  });

  test("rejects bodies without a session, other methods and wrong tokens", async () => {
    await using service = await startPicoServer({ app: endless });
    expect((await post(service, "/pico/stop", {})).status).toBe(400);
    expect((await post(service, "/pico/stop", { session_id: 7 })).status).toBe(400);
    const address = `http://127.0.0.1:${service.port}/pico/stop`;
    expect((await fetch(address, { method: "POST" })).status).toBe(401);
    const headers = { Authorization: bearer.slice(15) };
    expect((await fetch(address, { headers })).status).toBe(405);
    expect((await fetch(address, { method: "POST", headers })).status).toBe(415);
  });

  test("shares the rate limit of messages", async () => {
    await using service = await startPicoServer({ config: { message_rate: 1, message_burst: 2 } });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1)
      statuses.push((await post(service, "/pico/stop", { session_id: "s1" })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});
