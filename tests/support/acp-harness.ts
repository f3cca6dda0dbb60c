import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createKernel, type AnyPlugin, type Clock } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { acp, type AcpOptions } from "../../plugins/acp/index.ts";
import { channels, type AnswerEnd, type ChannelAdapter } from "../../plugins/channels/index.ts";
import { createQueue } from "../../testkit/client.ts";
import { waitFor } from "./program-harness.ts";
import { createSampleChannel } from "./sample-channel.ts";

const script = fileURLToPath(new URL("acp-agent.mjs", import.meta.url));
const to = { channel: "sample", session: "s" };
const by = { id: "owner", name: "Ann" };

/** A step of the scripted agent. */
export const step = (word: string, value: unknown): string => `${word} ${JSON.stringify(value)}`;

/** A message of the agent in its latest state. */
export interface Shown {
  readonly kind?: string;
  readonly content: string;
  readonly final?: boolean;
  readonly toolCalls?: readonly Record<string, unknown>[];
  readonly entries?: readonly unknown[];
  readonly attachments?: readonly unknown[];
}

/** Starts the scripted agent with the channels service and a sample channel. */
export async function startAgent(
  agent: Readonly<Record<string, unknown>> = {},
  options: Partial<AcpOptions> = {},
  before: readonly AnyPlugin[] = [],
  port: Partial<ChannelAdapter> = {},
  clock?: Clock,
) {
  const folder = await mkdtemp(join(tmpdir(), "doorward-acp-"));
  const shown = new Map<string, Shown>();
  const keep = (_: string, id: string, message: object) => {
    shown.set(id, message as Shown);
    return { id, status: "written" as const };
  };
  const ends = createQueue<{ id: string; end: AnswerEnd }>();
  const failures = createQueue<{ id: string; error: Error & { code: string } }>();
  const channel = createSampleChannel({
    send: keep,
    update: keep,
    ended: (_, id, end) => ends.push({ id, end }),
    failed: (_, id, error) => failures.push({ id, error: error as Error & { code: string } }),
    ...port,
  });
  const { log, lines } = createCapturedLog();
  const plugin = acp({
    command: [process.execPath, script],
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", AGENT: JSON.stringify(agent) },
    ...options,
  });
  const own = [channels(), channel.plugin, plugin] as const;
  const kernel = createKernel([...before, ...own] as unknown as typeof own, {
    log,
    ...(clock && { clock }),
  });
  await kernel.start();
  const { services } = kernel;
  const say = (content: string, session = "s", id?: string) =>
    channel
      .inlet()
      .deliver(channel.message({ content, session, ...(id === undefined ? {} : { id }) }));
  return {
    kernel,
    channel,
    lines,
    ends,
    failures,
    say,
    /** Sends the steps, and resolves with the end of the answer. */
    async run(...steps: readonly string[]): Promise<AnswerEnd> {
      shown.clear();
      await say(steps.join("\n"));
      return (await ends.next("the end of the answer")).end;
    },
    /** All messages without questions, in their latest state. */
    shown: (): Shown[] => [...shown.values()].filter((message) => !("question" in message)),
    /** The text of the answer. */
    text: (): string =>
      [...shown.values()]
        .filter((message) => message.kind === undefined && !("question" in message))
        .map(({ content }) => content)
        .join("|"),
    /** @returns The one open question. */
    question: () =>
      waitFor(() => {
        const open = services.channels.questions();
        return open.length === 1 && open[0];
      }),
    answer: (id: string, answer: object) =>
      services.channels.answer(to, id, answer, by, "dashboard"),
    halt: () => channel.inlet().stop("s"),
    /** Lines of the agent about what it received. */
    got: (): string[] => services.program.status().stderr.map(({ text }) => text),
    status: () => services.agent.status(),
    process: () => services.program.status(),
    async [Symbol.asyncDispose]() {
      await kernel.stop({ timeoutMs: 2_000 });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
