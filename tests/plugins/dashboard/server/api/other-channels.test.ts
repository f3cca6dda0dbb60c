import { describe, expect, test } from "vitest";
import {
  application,
  channels,
  type ChannelAdapter,
} from "../../../../../plugins/channels/index.ts";
import { conversations, type Conversations } from "../../../../../plugins/conversations/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { withApi, type ApiClient } from "../../../../support/api-client.ts";
import { createSampleChannel, type SampleChannel } from "../../../../support/sample-channel.ts";
import { storeIn } from "../../../../support/sqlite-conversations.ts";
import { createFolder } from "../../../../support/sqlite-store.ts";

/** Answers, rejects or waits for a stop, by the words of the message. */
const answer = application(async ({ content, signal, accept, reply }) => {
  if (content === "fail") throw new Error("a secret of the application");
  if (content === "wait") {
    accept();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  } else if (content === "never")
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  else await reply({ content });
});

async function withChannel(
  adapter: Partial<ChannelAdapter>,
  visit: (api: ApiClient, path: string, channel: SampleChannel) => Promise<void>,
): Promise<void> {
  const channel = createSampleChannel(adapter);
  const store = conversations({ store: storeIn(createFolder()) });
  const before = [
    store,
    channels(),
    picoServer({ enabled: false }),
    channel.plugin,
  ] as unknown as AnyPlugin[];
  await withApi(
    async (api) => {
      await channel.inlet().deliver({ session: "s", id: "m1", content: "hello" });
      const { services } = api.kernel as unknown as { services: { conversations: Conversations } };
      const found = await services.conversations.find({ channel: "sample", session: "s" });
      await visit(api, `/api/conversations/${found?.id ?? "none"}`, channel);
    },
    { before, plugins: [answer] },
  );
}

describe("POST /api/conversations/:id/messages", () => {
  test("delivers a message of the owner once", async () => {
    await withChannel({ accepts: "console" }, async ({ ask }, path, { sent }) => {
      const message = { id: "c1", content: "from the console" };
      expect(await ask("POST", `${path}/messages`, message)).toMatchObject({
        status: 200,
        body: { status: "accepted" },
      });
      expect((await ask("POST", `${path}/messages`, message)).body.status).toBe("duplicate");
      const { body } = await ask("GET", path);
      expect(body).toMatchObject({ acceptsConsole: true });
      expect(body.turns).toMatchObject([
        { role: "user", content: "hello" },
        { role: "assistant", content: "hello" },
        { role: "user", content: "from the console", sender: { id: "owner" }, door: "dashboard" },
        { role: "assistant", content: "from the console" },
      ]);
      expect(sent).toHaveLength(2);
    });
  });

  test("rejects messages to other channels, and malformed ones", async () => {
    await withChannel({}, async ({ ask, request }, path) => {
      const { status, body } = await ask("POST", `${path}/messages`, { id: "c1", content: "x" });
      expect([status, body.error]).toEqual([409, "message_rejected"]);
      expect((await ask("GET", path)).body.acceptsConsole).toBeUndefined();
      for (const wrong of [{ id: "c 1", content: "x" }, { id: "c1", content: " " }, { id: "c1" }])
        expect((await ask("POST", `${path}/messages`, wrong)).status).toBe(400);
      const long = { id: "c1", content: "x".repeat(600_000) };
      expect((await ask("POST", `${path}/messages`, long)).status).toBe(413);
      const missing = await ask("POST", "/api/conversations/none/messages", {
        id: "c",
        content: "x",
      });
      expect(missing.status).toBe(404);
      const post = { method: "POST", headers: { "content-type": "application/json" } };
      expect((await request(`${path}/messages`, { ...post, body: "{}" })).status).toBe(401);
    });
  });

  test("says that the application failed, without its error", async () => {
    await withChannel({ accepts: "console" }, async ({ ask }, path) => {
      const { status, body } = await ask("POST", `${path}/messages`, { id: "c1", content: "fail" });
      expect([status, body.error]).toEqual([409, "message_rejected"]);
      expect(JSON.stringify(body)).not.toContain("secret");
    });
  });

  test("responds after 5 s, while the application has not accepted", async () => {
    await withChannel({ accepts: "console" }, async ({ ask, clock }, path, channel) => {
      const asking = ask("POST", `${path}/messages`, { id: "c1", content: "never" });
      await expect.poll(() => channel.inlet().isBusy("s")).toBe(true);
      clock.increment(5_000);
      expect((await asking).body).toEqual({ status: "pending" });
    });
  });
});

describe("POST /api/conversations/:id/stop", () => {
  test("stops the answers of a session", async () => {
    await withChannel({}, async ({ ask }, path, channel) => {
      await channel.inlet().deliver({ session: "s", id: "m2", content: "wait" });
      expect((await ask("GET", path)).body.isBusy).toBe(true);
      const { body } = await ask("POST", `${path}/stop`);
      expect(body).toEqual({ stopped: [{ id: "m2", status: "stopping" }] });
      await expect.poll(async () => (await ask("GET", path)).body.isBusy).toBeUndefined();
    });
  });
});

describe("a channel that is not kept", () => {
  test("has its name in list, channels, status and metrics", async () => {
    await withChannel({ keeps: false }, async ({ ask, request, session }) => {
      const { body } = await ask("GET", "/api/conversations");
      expect([body.conversations, body.notKept]).toEqual([[], ["sample"]]);
      const other = { name: "sample", isKept: false, received: 1, sent: 1, sessions: 0 };
      expect((await ask("GET", "/api/channels")).body.others).toMatchObject([other]);
      expect((await ask("GET", "/api/status")).body.otherChannels).toMatchObject([other]);
      const metrics = await request("/metrics", { headers: session });
      expect(await metrics.text()).toContain(
        'doorward_channel_messages_total{channel="sample",direction="out"} 1',
      );
    });
  });
});
