import { describe, expect, test } from "vitest";
import { vapidClaims } from "../../support/push-service.ts";
import { startPush } from "../../support/push-harness.ts";

describe("notification about a question", () => {
  test("arrives after 3 seconds, without content, with a ticket", async () => {
    await using harness = await startPush();
    const { server, service } = harness;
    const session = await harness.signIn();
    expect(await harness.turnOn(session)).toMatchObject({ status: 200 });
    await harness.send("delete");
    await harness.open(1);
    server.clock.increment(2_999);
    expect(service.requests).toBe(0);
    server.clock.increment(1);
    const { headers, notification, d, web_push } = await service.until(1);
    expect(headers).toMatchObject({
      urgency: "high",
      "content-encoding": "aes128gcm",
      "content-type": "application/octet-stream",
    });
    expect(Number(headers["ttl"])).toBeLessThanOrEqual(597);
    expect(headers["topic"]).toMatch(/^[\w-]{32}$/);
    expect(vapidClaims(headers.authorization!)).toMatchObject({
      aud: `https://${service.host}`,
      sub: expect.stringMatching(/^https:/) as string,
    });
    expect([web_push, notification.title, notification.body]).toEqual([
      8030,
      "Doorward",
      "A question is waiting",
    ]);
    expect(notification.navigate).toMatch(new RegExp(`^${server.origin}/ask/s/[0-9a-f]{32}$`));
    expect(d.actions).toEqual([
      { action: "deny", title: "Deny" },
      { action: "open", title: "Open" },
    ]);
    expect(JSON.stringify({ notification, d })).not.toMatch(/Delete|rm -r/);
  });

  test("shows the first characters if the owner wants it", async () => {
    await using harness = await startPush({ push: { show_content: true, actions: "both" } });
    await harness.turnOn(await harness.signIn());
    await harness.send("delete");
    await harness.open(1);
    const { notification, d } = await harness.notified(1);
    expect(notification.body).toBe("rm -r build");
    expect(d.actions?.map(({ action }) => action)).toEqual(["allow", "deny"]);
  });

  test("has no button for a choice", async () => {
    await using harness = await startPush();
    await harness.turnOn(await harness.signIn());
    await harness.send("choose");
    await harness.open(1);
    expect((await harness.notified(1)).d).toEqual({});
  });

  test("waits while a page is in sight, and is sent afterwards", async () => {
    await using harness = await startPush();
    const { server, service } = harness;
    const session = await harness.signIn();
    await harness.turnOn(session);
    await harness.see(session, true);
    await harness.send("delete");
    await harness.open(1);
    server.clock.increment(3_000);
    await harness.devices(session);
    server.clock.increment(10_000);
    await harness.devices(session);
    expect(service.requests).toBe(0);
    await harness.see(session, false);
    expect((await harness.notified(1)).notification.body).toBe("A question is waiting");
  });

  test("stays away for a question that was answered at the desk", async () => {
    await using harness = await startPush();
    const session = await harness.signIn();
    await harness.turnOn(session);
    await harness.send("delete");
    await harness.open(1);
    harness.server.clock.increment(2_000);
    await answerAtDesk(harness, session);
    harness.server.clock.increment(20_000);
    await harness.devices(session);
    expect(harness.service.requests).toBe(0);
  });

  test("changes when the question is settled elsewhere", async () => {
    await using harness = await startPush();
    const session = await harness.signIn();
    await harness.turnOn(session);
    await harness.send("delete");
    await harness.open(1);
    const first = await harness.notified(1);
    await answerAtDesk(harness, session);
    const second = await harness.service.until(2);
    expect(second.notification).toMatchObject({ body: "Answered", silent: true });
    expect(second.notification.tag).toBe(first.notification.tag);
    expect(second.headers["topic"]).toBe(first.headers["topic"]);
    expect(second.d).toEqual({ isUpdate: true });
    expect(await harness.press(first.d.ticket, "deny")).toMatchObject({ http: 403 });
  });

  test("counts the questions of a session within ten seconds", async () => {
    await using harness = await startPush();
    const session = await harness.signIn();
    await harness.turnOn(session);
    for (const count of [1, 2]) {
      await harness.send("delete", undefined, "a");
      await harness.open(count);
      harness.server.clock.increment(0);
    }
    const { notification, d } = await harness.notified(1);
    expect(notification.body).toBe("2 questions are waiting");
    expect(notification.navigate).toBe(`${harness.server.origin}/chat/a`);
    expect(d).toEqual({});
  });
});

async function answerAtDesk(
  { server }: Awaited<ReturnType<typeof startPush>>,
  session: { cookie: string },
): Promise<void> {
  const headers = { ...session, origin: server.origin };
  const list = (await (await server.get("/api/questions", headers)).json()) as {
    questions: { id: string; channel: string; session: string }[];
  };
  const { id, channel, session: name } = list.questions[0]!;
  const body = { channel, session: name, option: "allow" };
  const response = await server.post(`/api/questions/${id}`, body, headers);
  expect(response.status).toBe(200);
}
