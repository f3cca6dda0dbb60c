// Tests notifications of nodes that share a store.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import type { OpenQuestion } from "../../../plugins/channels/index.ts";
import { pushSchema } from "../../../plugins/push/config.ts";
import { DeviceDelivery } from "../../../plugins/push/delivery.ts";
import { Devices, type StoredDevice } from "../../../plugins/push/devices.ts";
import { Notices, type SentNotice } from "../../../plugins/push/notices.ts";
import { Pushes } from "../../../plugins/push/pushes.ts";
import { Seen } from "../../../plugins/push/seen.ts";
import { redis } from "../../../plugins/redis/index.ts";
import { startPush } from "../../support/push-harness.ts";
import { startPushService } from "../../support/push-service.ts";
import { startRecords } from "../../support/records.ts";
import { redisSecret } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";

const address = { channel: "pico", session: "s" };
const toQuestion = (id: string): OpenQuestion => ({
  ...address,
  id,
  content: "Go on?",
  at: 0,
  question: { kind: "approval", state: "open", options: [] },
});

/**
 * A node that has sent a notification about two questions, and lost their session since.
 *
 * @param lists - The open questions of all nodes, one list after the other.
 */
async function startNode(...lists: OpenQuestion[][]) {
  const { open: openRecords } = await startRecords();
  const clock = createStoppedClock();
  const { log } = createCapturedLog();
  const after = (ms: number, run: () => void) => {
    const timer = clock.setTimeout(run, ms);
    return () => clock.clearTimeout(timer);
  };
  const stored = openRecords<StoredDevice>("devices");
  const keys = { p256dh: "", auth: "" };
  const of = { userAgent: "", base: "https://a.example/", createdAt: 0, signIn: "x", node: "here" };
  await stored.put("phone", { endpoint: "https://b.example/", keys, ...of });
  const common = { log, node: "here", isSignedIn: () => true, hosts: () => [] };
  const devices = new Devices({ ...common, records: stored });
  const sent: string[] = [];
  const delivery = new DeviceDelivery({
    ...{ clock, after, log },
    async send(_device, message) {
      const { notification } = JSON.parse(message.toString()) as { notification: { body: string } };
      sent.push(notification.body);
      return { outcome: "sent" };
    },
    remove: (id) => devices.remove(id),
    isOn: async () => true,
  });
  const notices = new Notices(openRecords<SentNotice>("notices"));
  const shown = [{ device: "phone" }];
  await notices.claim("a", { ...address, questions: ["a", "b"], shown, options: [], node: "here" });
  const channels = {
    questions: () => [],
    allQuestions: async () => lists.shift() ?? [],
    answer: async () => ({ status: "unknown" }) as const,
    history: async () => ({ items: [] }),
  };
  const seen = new Seen({ now: clock.now, shared: undefined });
  const config = () => pushSchema.parse({});
  const random = (bytes: number) => new Uint8Array(bytes);
  const parts = { clock, after, random, log, config, channels, devices, notices, delivery, seen };
  return { pushes: new Pushes({ ...parts, node: "here" }), notices, sent };
}

describe("notification of a node that has lost the session", () => {
  test("counts the questions that another node keeps open", async () => {
    const { pushes, notices, sent } = await startNode([toQuestion("b")]);
    pushes.settled(address, "a", { outcome: "answered" });
    await expect.poll(() => sent).toEqual(["A question is waiting"]);
    expect(await notices.list()).toMatchObject([{ questions: ["b"] }]);
  });

  test("stays while another node keeps all questions open", async () => {
    const [a, b] = ["a", "b"].map(toQuestion) as [OpenQuestion, OpenQuestion];
    const { pushes, notices, sent } = await startNode([a, b], [a]);
    pushes.settled(address, "a", { outcome: "lost" });
    pushes.settled(address, "b", { outcome: "answered" });
    await expect.poll(() => sent).toEqual(["A question is waiting"]);
    expect(await notices.list()).toMatchObject([{ questions: ["a"] }]);
  });
});

describe.skipIf(!hasRedis)("button of a notification", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  test("answers at a node that does not have the question", async () => {
    const shared = { url: server.url, prefix: randomUUID(), secret: redisSecret };
    await using service = await startPushService();
    await using one = await startPush({ service, store: redis(shared) });
    await using two = await startPush({ service, store: redis(shared) });
    await one.turnOn(await one.signIn());
    await one.send("delete");
    await one.open(1);
    const { ticket } = (await one.notified(1)).d;
    expect(await two.press(ticket, "deny")).toEqual({
      http: 200,
      status: "settled",
      text: "Denied",
    });
    await expect.poll(() => one.outcomes).toMatchObject([{ option: "deny", via: "push" }]);
  });
});
