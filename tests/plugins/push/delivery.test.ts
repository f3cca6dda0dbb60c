import { describe, expect, test } from "vitest";
import { startPush, type PushHarness } from "../../support/push-harness.ts";

/** Sends a test to the only device, as its page does. */
async function sendTest({ server }: PushHarness, session: { cookie: string }, id: string) {
  const path = `/api/x/push/subscriptions/${id}/test`;
  const response = await server.post(path, {}, { ...session, origin: server.origin });
  return (await response.json()) as { outcome: string; problem?: string };
}

async function turnOn(harness: PushHarness) {
  const session = await harness.signIn();
  const { id } = await harness.turnOn(session);
  return { session, id };
}

describe("delivery of notifications", () => {
  test.each([404, 410])("removes the device after %i", async (status) => {
    await using harness = await startPush();
    const { session, id } = await turnOn(harness);
    harness.service.respond = (_request, response) => response.writeHead(status).end();
    expect(await sendTest(harness, session, id)).toMatchObject({ outcome: "gone" });
    expect(await harness.devices(session)).toEqual([]);
  });

  test("sends less after 413", async () => {
    await using harness = await startPush();
    const { session, id } = await turnOn(harness);
    const sizes: number[] = [];
    harness.service.respond = (_request, response, body) => {
      sizes.push(body.length);
      response.writeHead(sizes.length === 1 ? 413 : 201).end();
    };
    expect(await sendTest(harness, session, id)).toEqual({ outcome: "sent" });
    expect(sizes).toHaveLength(2);
    expect(sizes[1]!).toBeLessThan(sizes[0]!);
  });

  test.each([
    [429, "7", 7_000],
    [503, undefined, 5_000],
    [429, "86400", 60_000],
  ])("repeats after %i with Retry-After %s", async (status, after, ms) => {
    await using harness = await startPush();
    const { session, id } = await turnOn(harness);
    const { server, service } = harness;
    const refused = new Promise<void>((resolve) => {
      service.respond = (_request, response) => {
        response.on("close", resolve);
        response.writeHead(status, after === undefined ? {} : { "retry-after": after }).end();
      };
    });
    const sending = sendTest(harness, session, id);
    await refused;
    await harness.devices(session);
    service.respond = (_request, response) => response.writeHead(201).end();
    server.clock.increment(ms - 1);
    await harness.devices(session);
    expect(service.requests).toBe(1);
    server.clock.increment(1);
    expect(await sending).toEqual({ outcome: "sent" });
    expect(service.requests).toBe(2);
  });

  test("closes the connection of a service whose response never ends", async () => {
    await using harness = await startPush();
    const { session, id } = await turnOn(harness);
    const closed = new Promise<void>((resolve) => {
      harness.service.respond = (request, response) => {
        request.socket.on("close", () => resolve());
        response.writeHead(201).write("x");
      };
    });
    expect(await sendTest(harness, session, id)).toEqual({ outcome: "sent" });
    await closed;
  });

  test("does not repeat for a device that was turned off", async () => {
    await using harness = await startPush();
    const { session, id } = await turnOn(harness);
    const { server, service } = harness;
    const refused = new Promise<void>((resolve) => {
      service.respond = (_request, response) => {
        response.on("close", resolve);
        response.writeHead(503).end();
      };
    });
    const sending = sendTest(harness, session, id);
    await refused;
    await server.request(`/api/x/push/subscriptions/${id}`, {
      method: "DELETE",
      headers: { ...session, origin: server.origin },
    });
    server.clock.increment(5_000);
    expect(await sending).toMatchObject({ outcome: "gone" });
    expect(service.requests).toBe(1);
  });

  test.each([
    [301, "a redirect to another host"],
    [400, "a refused request"],
  ])("does not repeat after %i: %s", async (status) => {
    await using harness = await startPush();
    const { session, id } = await turnOn(harness);
    harness.service.respond = (_request, response) =>
      response.writeHead(status, { location: `https://${harness.service.host}/other` }).end();
    const sent = await sendTest(harness, session, id);
    expect(sent).toEqual({ outcome: "failed", problem: `it responded with ${status}` });
    expect(harness.service.requests).toBe(1);
    expect(await harness.devices(session)).toMatchObject([
      { problem: `it responded with ${status}` },
    ]);
    expect(harness.server.logged()).not.toContain("/push/");
  });

  test("accepts no device at an address that the owner has not named", async () => {
    await using harness = await startPush();
    const session = await harness.signIn();
    const { keys } = harness.service.subscribe();
    for (const endpoint of [
      "https://127.0.0.1/a",
      "http://fcm.googleapis.com/a",
      "https://evil.example/a",
      "https://fcm.googleapis.com:444/a",
    ]) {
      const { server } = harness;
      const headers = { ...session, origin: server.origin };
      const response = await server.post("/api/x/push/subscriptions", { endpoint, keys }, headers);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: "subscription_invalid" });
    }
  });

  test("keeps at most 20 devices", async () => {
    await using harness = await startPush();
    const session = await harness.signIn();
    for (let count = 0; count < 20; count += 1) await harness.turnOn(session);
    expect(await harness.turnOn(session)).toMatchObject({
      status: 409,
      error: "too_many_devices",
    });
  });

  test("says that a long answer is ready, to its author only", async () => {
    await using harness = await startPush({
      push: { show_content: true },
      keepsConversations: true,
    });
    const { session } = await turnOn(harness);
    const { server, service } = harness;
    for (const by of [undefined, session]) {
      await harness.send("answer", by, by ? "mine" : "of-a-program");
      await expect.poll(() => server.kernel.services.http.addresses().length).toBe(1);
    }
    server.clock.increment(29_000);
    server.clock.increment(1_000);
    harness.finish();
    await expect.poll(() => (server.clock.increment(0), service.arrived.length)).toBe(1);
    const { notification, headers } = await service.until(1);
    expect(notification.body).toBe("It is 21 degrees in the garden.");
    expect(notification.navigate).toBe(`${server.origin}/chat/mine`);
    expect(headers.urgency).toBe("normal");
  });
});
