// Runs the programs of docs/programs.md in both languages, as the page has them.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Plugin } from "../../../kernel/index.ts";
import type { InboundMessage, Media, OutboundMessage } from "../../../plugins/channels/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { media, type MediaFiles } from "../../../plugins/media/index.ts";
import { python, startAgentProgram, type Language } from "../../support/agent-programs.ts";
import { waitFor } from "../../support/program-harness.ts";
import { createHistory, storeIn } from "../../support/sqlite-conversations.ts";
import { entry } from "../../support/sqlite-store.ts";

const page = await readFile(
  fileURLToPath(new URL("../../../docs/programs.md", import.meta.url)),
  "utf8",
);
const [, part = ""] = /\n## In Python and Node\n([^]*?)\n## /.exec(page) ?? [];
/** Heading -> language -> program. */
const programs = new Map(
  part
    .split(/^### /m)
    .slice(1)
    .map((section) => [
      section.slice(0, section.indexOf("\n")),
      new Map([...section.matchAll(/```(\w+)\n([^]*?)```/g)].map(([, name, code]) => [name, code])),
    ]),
);

const address = { channel: "sample", session: "s" };

/** Starts a program with files and a history, and keeps what it shows. */
async function start(language: Language, name: string) {
  const home = await mkdtemp(join(tmpdir(), "doorward-page-"));
  const history = await createHistory(
    entry("user", "q", "one", address),
    entry("create", "a", "two", address),
  );
  const shown = new Map<string, OutboundMessage>();
  const keep = (_: string, id: string, message: object) => {
    shown.set(id, message as OutboundMessage);
    return { id, status: "written" as const };
  };
  const running = await startAgentProgram(language, programs.get(name)!.get(language)!, {
    port: { send: keep, update: keep },
    before: [media({ home }), conversations({ store: storeIn(history) }) as unknown as Plugin],
  });
  onTestFinished(async () => {
    await running[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });
  const services = running.kernel.services as unknown as { media: MediaFiles };
  return {
    ...running,
    files: services.media,
    channels: running.kernel.services.channels,
    /** @returns The messages of the answer, in their latest state. */
    async ask(changes: Partial<InboundMessage>) {
      shown.clear();
      await running.deliver(changes);
      const { end } = await running.ends.next("the end of the answer");
      return { end, messages: [...shown.values()] };
    },
    shown: () => [...shown.values()],
  };
}
type Running = Awaited<ReturnType<typeof start>>;

const contents = (messages: readonly OutboundMessage[]): readonly string[] =>
  messages.map(({ content }) => content);

/** The behavior of each program. */
const checks: Readonly<Record<string, (running: Running) => Promise<void>>> = {
  async Answer({ ask }) {
    const { messages, end } = await ask({ content: "hello" });
    expect([contents(messages), end.outcome]).toEqual([["you said hello"], "completed"]);
  },

  async "Write word by word, until a person stops it"(running) {
    const { messages } = await running.ask({ content: "two words" });
    expect(contents(messages)).toEqual(["You asked: two words"]);
    const asked = running.ask({ content: "long ".repeat(1_000) });
    await waitFor(() => running.shown()[0]?.content.includes("long long"));
    await running.halt();
    expect((await asked).end.outcome).toBe("stopped");
  },

  async "Answer in several parts"({ ask }) {
    const { messages } = await ask({ content: "Tell me the time" });
    expect(messages.map(({ kind, content }) => [kind, content])).toEqual([
      ["thought", "The person wants to know the time."],
      [undefined, "Let me look."],
      ["tool_calls", "clock"],
      [undefined, "It is noon."],
    ]);
    expect(messages[2]?.toolCalls).toMatchObject([{ state: "completed", result: "12:00" }]);
  },

  async "Show steps and a plan"({ ask }) {
    const { messages } = await ask({ content: "hello" });
    const [plan, edit, run, said] = messages;
    expect(plan?.entries?.map(({ state }) => state)).toEqual(["completed", "completed"]);
    expect(edit?.toolCalls?.[0]).toMatchObject({
      kind: "edit",
      state: "completed",
      details: [{ type: "diff", old: "hello\n", new: "good day\n" }],
    });
    expect(run?.toolCalls?.[0]?.details).toMatchObject([{ type: "terminal", exit: 0 }]);
    expect(said?.content).toBe("The greeting is changed.");
  },

  async "Ask first"({ ask, channels }) {
    for (const [option, expected] of [
      ["allow", "Deleted."],
      ["deny", "Kept."],
    ] as const) {
      const asked = ask({ content: "delete" });
      const [question] = await waitFor(
        () => channels.questions().length > 0 && channels.questions(),
      );
      await channels.answer(address, question!.id, { option }, { id: "owner" }, "dashboard");
      expect(contents((await asked).messages)).toContain(expected);
    }
  },

  async "Read and send files"({ ask, files }) {
    const bytes = Readable.from([Buffer.from("hello")]);
    const type = "text/plain";
    const file = await files.put(address, bytes, { contentType: type, filename: "a.txt" });
    const medium: Media = { id: file.id, type, size: file.size, sha256: file.sha256 };
    const { messages } = await ask({ content: "", media: [medium] });
    const sent = messages.flatMap(({ attachments = [] }) => attachments);
    expect(sent).toMatchObject([{ filename: "loud.txt" }]);
    expect(await text(await files.open(sent[0]!.id!))).toBe("HELLO");
    expect(contents(messages)).toContain("1 files");
  },

  async "Read the history"({ ask }) {
    expect(contents((await ask({ content: "hello" })).messages)).toEqual(["Before: one, two"]);
  },

  async "Use a tool of the client"({ ask }) {
    const tools = [{ name: "weather", parameters: { type: "object" } }];
    const called = await ask({ content: "Rome", tools });
    expect(called.messages[0]?.toolCalls).toMatchObject([
      { name: "weather", arguments: expect.stringMatching(/^\{"city": ?"Rome"\}$/), for: "client" },
    ]);
    const toolResults = [{ id: "c", name: "weather", content: "sunny" }];
    const told = await ask({ content: "", tools, toolResults });
    expect(contents(told.messages)).toEqual(["The client says: sunny"]);
    const without = await ask({ content: "Rome" });
    expect(contents(without.messages)).toEqual(["There is no tool for the weather."]);
  },

  async "Say how the program is"({ ask, channels }) {
    await waitFor(() => channels.applicationStatus()?.state === "needs_action");
    await ask({ content: "sign in" });
    expect(channels.applicationStatus()).toMatchObject({
      state: "ready",
      counts: [{ label: "Signed in", value: 1 }],
    });
  },

  async "Write without a message"({ ask, shown }) {
    await ask({ content: "hello" });
    await waitFor(() => contents(shown()).includes("Time!"));
  },
};

describe("docs/programs.md", () => {
  test("has each program in both languages", () => {
    expect([...programs].map(([name, texts]) => [name, [...texts.keys()]])).toEqual(
      Object.keys(checks).map((name) => [name, ["python", "js"]]),
    );
  });

  test.skipIf(!python).each(Object.keys(checks))("Python: %s", async (name) => {
    await checks[name]!(await start("python", name));
  });

  test.each(Object.keys(checks))("Node: %s", async (name) => {
    await checks[name]!(await start("js", name));
  });
});
