// Runs Open WebUI, as installed from PyPI, in front of the OpenAI protocol.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { hasBrowser, launchBrowser } from "../browser/browser.ts";
import { freePort } from "../e2e/free-port.ts";
import { startProtocols, tokens, type ProtocolService } from "../support/protocol-service.ts";
import { findExecutables } from "../support/tools.ts";

const [program] = [process.env["TEST_OPEN_WEBUI"], ...findExecutables("open-webui")].flatMap(
  (path) => path ?? [],
);
const conversations = 100;
const startMs = 300_000;

/** A message as Open WebUI stores it. */
interface StoredMessage {
  readonly content: string;
  readonly done?: boolean;
  readonly output?: readonly { readonly type: string }[];
  readonly followUps?: readonly string[];
}
interface StoredChat {
  readonly title: string;
  readonly meta?: { readonly tags?: readonly string[] };
  readonly chat: { readonly history: { readonly messages: Record<string, StoredMessage> } };
}

/** Calls the API of Open WebUI as its page does. */
class WebUi {
  private readonly base: string;
  private authorization = "";

  constructor(base: string) {
    this.base = base;
  }

  async signIn(): Promise<void> {
    const { token } = await this.call<{ token: string }>("/api/v1/auths/signin", {
      email: "",
      password: "",
    });
    this.authorization = `Bearer ${token}`;
    await this.call("/api/models");
  }

  async call<T>(path: string, body?: object): Promise<T> {
    const response = await fetch(this.base + path, {
      method: body ? "POST" : "GET",
      headers: { "Content-Type": "application/json", Authorization: this.authorization },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Sends the first message of a chat, with the background tasks of the page. */
  async send(content: string) {
    const id = crypto.randomUUID();
    const message = { id: crypto.randomUUID(), role: "user", content };
    const sent = await this.call<{ chat_id: string; task_ids: readonly [string] }>(
      "/api/chat/completions",
      {
        model: "doorward",
        stream: true,
        parent_id: null,
        user_message: { ...message, parentId: null, childrenIds: [], models: ["doorward"] },
        messages: [{ role: "user", content }],
        id,
        session_id: "test",
        background_tasks: {
          title_generation: true,
          tags_generation: true,
          follow_up_generation: true,
        },
      },
    );
    const { chat_id: chat, task_ids: taskIds } = sent;
    const read = (): Promise<StoredChat> => this.call(`/api/v1/chats/${chat}`);
    return {
      chat,
      read,
      answer: async () => (await read()).chat.history.messages[id]!,
      stop: () => this.call(`/api/tasks/stop/${taskIds[0]}`, {}),
    };
  }
}

describe("Open WebUI", () => {
  let home: string;
  let service: ProtocolService;
  let child: ChildProcess;
  let ui: WebUi;
  let base: string;
  const aborted: string[] = [];

  beforeEach(({ skip }) => {
    const reason =
      "needs Open WebUI: pip install open-webui, and TEST_OPEN_WEBUI=/path/to/open-webui";
    skip(program === undefined, reason);
  });
  beforeAll(async () => {
    if (program === undefined) return;
    service = await startProtocols();
    home = await mkdtemp(join(tmpdir(), "doorward-open-webui-"));
    const port = await freePort();
    base = `http://127.0.0.1:${port}`;
    child = spawn(program, ["serve", "--host", "127.0.0.1", "--port", String(port)], {
      stdio: "ignore",
      cwd: home,
      env: {
        PATH: process.env["PATH"],
        HOME: home,
        DATA_DIR: home,
        WEBUI_AUTH: "False",
        WEBUI_SECRET_KEY: "secret",
        OFFLINE_MODE: "True",
        HF_HUB_OFFLINE: "1",
        ENABLE_OLLAMA_API: "False",
        RAG_EMBEDDING_ENGINE: "openai",
        ENABLE_FORWARD_USER_INFO_HEADERS: "True",
        OPENAI_API_BASE_URL: service.kernel.services.openai.status().url!,
        OPENAI_API_KEY: tokens.openai,
      },
    });
    const isUp = async (): Promise<boolean> =>
      fetch(`${base}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    await vi.waitUntil(isUp, { timeout: startMs, interval: 500 });
    ui = new WebUi(base);
    await ui.signIn();
  }, startMs);
  afterAll(async () => {
    if (program === undefined) return;
    child.kill("SIGKILL");
    await once(child, "close");
    await service[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });

  /** Thinks, then grows until `end` or a stop. */
  function growing() {
    const parts: ((end: boolean) => void)[] = [];
    service.state.handler = async (message) => {
      const thought = message.stream({ kind: "thought" });
      thought.write("Let me think.");
      await thought.end();
      const answer = message.stream();
      message.accept();
      message.signal.addEventListener("abort", () => {
        aborted.push(message.session);
        parts.shift()?.(true);
      });
      for (let count = 1; ; count += 1) {
        answer.write(`part ${count}. `);
        if (await new Promise<boolean>((done) => parts.push(done))) break;
      }
      await answer.end();
    };
    const step = async (end: boolean): Promise<void> => {
      await expect.poll(() => parts.length).toBe(1);
      parts.shift()!(end);
    };
    return { grow: () => step(false), end: () => step(true) };
  }

  test("shows a growing answer with its reasoning", async () => {
    const control = growing();
    const { answer } = await ui.send("grow, please");
    const content = async (): Promise<string> => (await answer()).content;
    await expect.poll(content).toContain("part 1.");
    expect(await content()).not.toContain("part 2.");
    await control.grow();
    await expect.poll(content).toContain("part 2.");
    await control.end();
    await expect.poll(async () => (await answer()).done).toBe(true);
    const { content: text, output = [] } = await answer();
    expect(text).toContain("part 1. part 2.");
    expect(output.map(({ type }) => type)).toContain("reasoning");
    expect(JSON.stringify(output)).toContain("Let me think.");
  });

  test("stops the application", async () => {
    growing();
    const { answer, stop, chat } = await ui.send("stop, please");
    await expect.poll(async () => (await answer()).content).toContain("part 1.");
    await stop();
    await expect.poll(() => aborted).toContain(`openai/${chat}`);
    expect((await answer()).content).toContain("part 1.");
  });

  test("sends no request for titles, tags and follow-ups to the application", async () => {
    service.state.handler = ({ content, reply }) => reply({ content: `you said ${content}` });
    const before = service.received.length;
    const { tasks } = service.kernel.services.openai.status();
    const chats: Awaited<ReturnType<WebUi["send"]>>[] = [];
    for (let count = 1; count <= conversations; count += 1) {
      const sent = await ui.send(`question ${count} about the garden in spring`);
      chats.push(sent);
      await expect.poll(async () => (await sent.answer()).followUps).toEqual([]);
    }
    for (const [index, { read, chat }] of chats.entries()) {
      await expect.poll(async () => (await read()).meta?.tags).toEqual([]);
      expect((await read()).title).toBe(`question ${index + 1} about the garden in`);
      expect(service.received[before + index]!.session).toBe(`openai/${chat}`);
    }
    expect(service.received.length - before).toBe(conversations);
    const after = service.kernel.services.openai.status().tasks;
    for (const kind of ["title", "tags", "follow_ups"] as const)
      expect(after[kind] - tasks[kind], kind).toBe(conversations);
  });

  test("needs no known template with the headers of the documentation", async () => {
    service.state.handler = ({ content, reply }) => reply({ content: `you said ${content}` });
    const docs = await readFile(new URL("../../docs/doors.md", import.meta.url), "utf8");
    const [, headers = ""] = /^### Open WebUI$[^]*?```json\n([^]*?)```/m.exec(docs) ?? [];
    const connection = await ui.call<object>("/openai/config");
    await ui.call("/openai/config/update", {
      ...connection,
      OPENAI_API_CONFIGS: { "0": { enable: true, headers: JSON.parse(headers) as object } },
    });
    const tasks = await ui.call<object>("/api/v1/tasks/config");
    const TITLE_GENERATION_PROMPT_TEMPLATE = "Name this: {{MESSAGES:END:2}}";
    await ui.call("/api/v1/tasks/config/update", { ...tasks, TITLE_GENERATION_PROMPT_TEMPLATE });
    const before = service.received.length;
    const titles = service.kernel.services.openai.status().tasks.title;
    const { answer, chat } = await ui.send("where is the teapot?");
    await expect.poll(async () => (await answer()).followUps).toEqual([]);
    await expect.poll(() => service.kernel.services.openai.status().tasks.title).toBe(titles + 1);
    expect(service.received.slice(before).map(({ session }) => session)).toEqual([
      `openai/${chat}`,
    ]);
  });

  test("shows the answer on its page, and stops it by its button", async ({ skip }) => {
    skip(!hasBrowser, "needs a browser");
    const control = growing();
    const browser = await launchBrowser([], "complete");
    try {
      const page = await browser.newPage();
      await page.goto(base);
      // The news of the version cover the page at first.
      await page.getByRole("button", { name: /Let's Go/i }).click();
      await page.locator("#chat-input").click();
      await page.keyboard.type("show me");
      await page.keyboard.press("Enter");
      await page.getByText("part 1.").first().waitFor();
      await control.grow();
      await page.getByText("part 2.").first().waitFor();
      const before = aborted.length;
      await page.getByRole("button", { name: "Stop" }).click();
      await expect.poll(() => aborted.length).toBe(before + 1);
      await expect.poll(() => page.getByText("part 2.").first().isVisible()).toBe(true);
    } finally {
      await browser.close();
    }
  });
});
