import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive as isThere } from "../../lib/files/lock.ts";
import { createKernel, type AnyPlugin, type Clock } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import {
  channels,
  type AnswerEnd,
  type ChannelAdapter,
  type InboundMessage,
  type Media,
  type Sender,
} from "../../plugins/channels/index.ts";
import { program, type ProgramEvents, type ProgramOptions } from "../../plugins/program/index.ts";
import { createQueue, type Queue } from "../../testkit/client.ts";
import { createSampleChannel, type Sent } from "./sample-channel.ts";

export type SeenMessage = Sent & {
  readonly message?: { readonly content: string; readonly final?: boolean };
};

/** Preamble of JavaScript programs: `answer(m, text)` for each message, `say(line)` for anything. */
const prelude = `
const say = (line) => process.stdout.write((typeof line === "string" ? line : JSON.stringify(line)) + "\\n");
const answer = (m, content, more = {}) =>
  say({ type: "message.create", payload: { request_id: m.id, content, ...more } });
const each = (take) => require("node:readline").createInterface({ input: process.stdin })
  .on("line", (line) => take(JSON.parse(line)));
`;

/** Starts a program in its own process with the channels service and a sample channel. */
export async function startProgram(
  script: string,
  options: Partial<ProgramOptions> = {},
  port: Partial<ChannelAdapter> = {},
  clock?: Clock,
  /** Started before `channels`. */
  before: readonly AnyPlugin[] = [],
) {
  const folder = await mkdtemp(join(tmpdir(), "doorward-command-"));
  const file = join(folder, "agent.cjs");
  await writeFile(file, prelude + script);
  const seen: Queue<SeenMessage> = createQueue();
  const keep = (what: Sent["what"]) => (session: string, id: string, message: object) => {
    seen.push({ what, session, id, message } as SeenMessage);
    return { id, status: "written" as const };
  };
  const failures = createQueue<{ id: string; error: Error & { code: string } }>();
  const ends = createQueue<{ id: string; end: AnswerEnd }>();
  const channel = createSampleChannel({
    ended: (_, id, end) => ends.push({ id, end }),
    send: keep("send"),
    update: keep("update"),
    remove(session, id) {
      seen.push({ what: "remove", session, id });
      return { id, status: "written" };
    },
    typing: (session, on) => seen.push({ what: "typing", session, on }),
    failed: (_, id, error) => failures.push({ id, error: error as Error & { code: string } }),
    ...port,
  });
  const { log, lines } = createCapturedLog();
  const PATH = process.env["PATH"] ?? "";
  const plugin = program({
    command: [process.execPath, file],
    cwd: folder,
    env: { PATH },
    ...options,
  });
  const own = [channels(), channel.plugin, plugin] as const;
  const kernel = createKernel([...before, ...own] as unknown as typeof own, {
    log,
    ...(clock && { clock }),
  });
  const facts = createQueue<ProgramEvents["program:state-changed"]>();
  kernel.on("program:state-changed", (fact) => facts.push(fact));
  await kernel.start();
  let isStopped = false;
  const stop = async (): Promise<void> => {
    // An answer that never ends would take most of the usual 10 s.
    if (!isStopped) await kernel.stop({ timeoutMs: 2_000 });
    isStopped = true;
  };
  const status = () => kernel.services.program.status();
  const say = (content: string, session = "s", id?: string, media: readonly Media[] = []) =>
    channel
      .inlet()
      .deliver(channel.message({ content, session, media, ...(id === undefined ? {} : { id }) }));
  return {
    folder,
    kernel,
    lines,
    seen,
    facts,
    failures,
    ends,
    /** Delivers a message with these fields. */
    deliver: (changes: Partial<InboundMessage>) =>
      channel.inlet().deliver(channel.message(changes), { dedupe: true }),
    /** Stops a message as a client of the channel would. */
    halt: (id?: string, by?: Sender, session = "s") => channel.inlet().stop(session, id, by),
    stop,
    status,
    channel,
    /** Resolves when the application has accepted the message. */
    say,
    /** Sends messages to a program that does not read until its pipe is full. */
    async fill(content: string): Promise<ReturnType<typeof say>[]> {
      const said: ReturnType<typeof say>[] = [];
      for (let full = 0; full < 5;) {
        if (full === 0) said.push(say(content, `s${said.length}`));
        await new Promise((done) => setTimeout(done, 2));
        full = status().queued > 0 ? full + 1 : 0;
      }
      return said;
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether a process with this id runs. */
export const isAlive = (pid: number): boolean => isThere(pid);

/** Polls until the condition is true. */
export async function waitFor<T>(look: () => T | undefined | false): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await new Promise((done) => setTimeout(done, 10));
  }
}
