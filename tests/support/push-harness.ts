// A dashboard with notifications: a program that asks, a push service, and signed-in browsers.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin } from "../../kernel/index.ts";
import {
  application,
  channels,
  type Channels,
  type ChannelsEvents,
  type QuestionResult,
} from "../../plugins/channels/index.ts";
import { conversations, sqlite } from "../../plugins/conversations/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { push, type PushConfig } from "../../plugins/push/index.ts";
import { records } from "../../plugins/records/index.ts";
import { memory } from "../../plugins/token-store/index.ts";
import { signIn, startDashboard, TOKEN } from "./dashboard-server.ts";
import {
  deadline,
  startPushService,
  type Arrived,
  type PushService,
  type Subscription,
} from "./push-service.ts";

const channelToken = "another-horse-battery-staple-0123456789-abc";

export interface HarnessOptions {
  readonly push?: Partial<PushConfig>;
  readonly home?: string;
  readonly keepSignIns?: boolean;
  readonly service?: PushService;
  /** Keeps conversations in a file, so that answers can be read again. */
  readonly keepsConversations?: boolean;
  /** Keeps conversations in another store. */
  readonly store?: NonNullable<Parameters<typeof conversations>[0]>["store"];
}

export const newHome = (): Promise<string> => mkdtemp(join(tmpdir(), "doorward-push-"));

/** An application that asks, and answers the message `answer` when a test lets it. */
function createAsker() {
  const outcomes: QuestionResult[] = [];
  const ready: (() => void)[] = [];
  const app = application(async (message) => {
    message.accept();
    if (message.content === "answer") {
      await new Promise<void>((resolve) => void ready.push(resolve));
      return void (await message.reply({ content: "It is 21 degrees in the garden." }));
    }
    const result = await message.ask({
      kind: message.content === "choose" ? "choice" : "approval",
      content: "Delete 3 files?",
      title: "rm -r build",
      timeoutMs: 600_000,
      ...(message.content === "choose" && { options: [{ id: "a", label: "A" }] }),
    });
    outcomes.push(result);
    await message.reply({ content: result.outcome });
  });
  return { app, outcomes, ready };
}

/** Real time for one step of a server, after which a test has failed. */
const patienceMs = 20_000;
/** Time between two steps of the clock, while a notification has not arrived. */
const stepMs = 3_000;
const stepPatienceMs = 1_000;
const maxSteps = 20;

/** Notes the questions that every plugin before it has heard of, so that their timers run. */
function questionWatch() {
  const asked = new Set<string>();
  const waiting: (() => void)[] = [];
  const plugin: Plugin<{
    listens: Pick<ChannelsEvents, "channels:question-asked">;
    needs: { channels: Channels };
  }> = {
    name: "question-watch",
    api: 1,
    needs: { channels: true },
    start({ on }) {
      on("channels:question-asked", ({ id }) => {
        asked.add(id);
        for (const tell of waiting.splice(0)) tell();
      });
    },
  };
  return { plugin, asked, changed: () => new Promise<void>((next) => void waiting.push(next)) };
}

/** Starts the kernel. The clock moves only when a test moves it. */
export async function startPush(options: HarnessOptions = {}) {
  const service = options.service ?? (await startPushService());
  const home = options.home ?? (await newHome());
  const { app, outcomes, ready } = createAsker();
  const config = {
    push: { hosts: [service.host], ...options.push },
    // A stop waits for no person to answer.
    channels: { pico: { drain_timeout: 0 } },
  };
  await writeFile(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const file = options.keepsConversations && sqlite({ path: join(home, "conversations.db") });
  const store = options.store ?? file;
  const watch = questionWatch();
  const server = await startDashboard({
    home,
    form: memory({ launcher: TOKEN, pico: channelToken }),
    before: [
      conversations(store ? { store } : {}),
      records({ home }),
      channels(),
      picoServer(),
      app,
    ],
    plugins: [push({ ca: service.cert }), watch.plugin],
    ...(options.keepSignIns && {
      launcher: { keep_sign_ins: true },
      dashboard: { signInFile: join(home, "state", "sign-ins.json") },
    }),
  });
  const asPage = (session: { cookie: string }) => ({ ...session, origin: server.origin });
  return {
    server,
    service,
    home,
    outcomes,
    /** Ends the answers that wait. */
    finish: (): void => ready.splice(0).forEach((end) => end()),
    signIn: () => signIn(server),
    /** Turns notifications on, as the page does. */
    async turnOn(session: { cookie: string }, subscription: Subscription = service.subscribe()) {
      const response = await server.post(
        "/api/x/push/subscriptions",
        subscription,
        asPage(session),
      );
      const body = (await response.json()) as { id: string; error?: string; message?: string };
      return { status: response.status, path: new URL(subscription.endpoint).pathname, ...body };
    },
    see: (session: { cookie: string }, visible: boolean) =>
      server.post("/api/x/push/seen", { page: "page-0001", visible }, asPage(session)),
    async devices(session: { cookie: string }): Promise<readonly Record<string, unknown>[]> {
      const response = await server.get("/api/x/push/state", session);
      return ((await response.json()) as { devices: Record<string, unknown>[] }).devices;
    },
    /** Sends a message to the program, as a client or as the owner in the chat. */
    async send(content: string, by?: { cookie: string }, session_id = "s"): Promise<void> {
      const headers = by ? asPage(by) : { authorization: `Bearer ${channelToken}` };
      const body = { session_id, content };
      const response = await server.post("/pico/messages", body, headers);
      if (response.status !== 202) throw new Error(await response.text());
    },
    /** Resolves when this many questions are open, and the timer of their notification runs. */
    async open(count: number): Promise<void> {
      const { channels: asked } = server.kernel.services as unknown as { channels: Channels };
      const now = (): number => asked.questions().filter(({ id }) => watch.asked.has(id)).length;
      const text = (): string => `${count} questions were expected to be open, and ${now()} are.`;
      const limit = deadline(patienceMs, text);
      while (now() < count) await Promise.race([watch.changed(), limit.passed]);
      limit.cancel();
    },
    /** Moves the clock until this many notifications have arrived since the start. */
    async notified(count: number): Promise<Arrived> {
      for (let step = 1; step < maxSteps; step += 1) {
        server.clock.increment(stepMs);
        if (await service.arrives(count, stepPatienceMs)) break;
      }
      return service.until(count);
    },
    /** Answers by a button, as the worker does: without a cookie. */
    async press(ticket: string | undefined, option: string) {
      const response = await server.post(
        "/push/answer",
        { ticket, option },
        { "sec-fetch-site": "same-origin" },
      );
      return { http: response.status, ...((await response.json()) as Answered) };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await server[Symbol.asyncDispose]();
      if (!options.service) await service[Symbol.asyncDispose]();
    },
  };
}
export type PushHarness = Awaited<ReturnType<typeof startPush>>;

interface Answered {
  readonly status: string;
  readonly text: string;
}
