import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { application, channels } from "../../../plugins/channels/index.ts";
import { conversations, sqlite, type Conversations } from "../../../plugins/conversations/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { mediaSchema, type MediaConfig } from "../../../plugins/media/config.ts";
import { FolderStore } from "../../../plugins/media/folder-store.ts";
import { media } from "../../../plugins/media/index.ts";
import { MediaService } from "../../../plugins/media/service.ts";
import { Upkeep } from "../../../plugins/media/upkeep.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { filesBelow } from "../../support/media-server.ts";
import { connectClient, token, waitFor } from "../../support/pico-server-harness.ts";

const day = 86_400_000;
const address = { channel: "pico", session: "s" };

/** Time that passes, and a system clock that is set by `system.wrongMs`. */
function createWrongClock(at: number) {
  const clock = createStoppedClock();
  clock.set(at);
  const system = {
    wrongMs: 0,
    now: (): number => clock.now() + system.wrongMs,
    monotonic: () => clock.monotonic(),
    setTimeout: clock.setTimeout.bind(clock),
    clearTimeout: clock.clearTimeout.bind(clock),
  };
  return { clock, system };
}

async function start() {
  const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
  const { clock, system } = createWrongClock(Date.now());
  const { log, lines } = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(memory({ pico: token })),
      conversations({ store: sqlite({ path: join(home, "conversations.db") }) }),
      media({ home }),
      channels(),
      http({ port: 0 }),
      picoServer(),
      application((message) => void message.reply({ content: "ok" })),
    ],
    { clock: system, log, config: { "channels.pico": { enabled: true, drain_timeout: 0 } } },
  );
  await kernel.start();
  const { services } = kernel;
  const port = Number(services.http.addresses()[0]!.port);
  const client = await connectClient(port, "/pico?session_id=s&pico_ext=1");
  const folder = join(home, "state", "media");
  return {
    clock,
    system,
    lines,
    kernel,
    files: services.media,
    history: services.conversations as Conversations,
    /** Stores a file as a client of this session does. */
    upload: (content: string, session = "s") =>
      services.media.put({ channel: "pico", session }, Readable.from([Buffer.from(content)]), {
        sender: "owner",
      }),
    /** Sends a message with a file and waits for the answer. */
    async say(id: string): Promise<void> {
      client.send({ type: "message.send", id, payload: { content: "x", media: [{ id }] } });
      await waitFor(() => client.frames.some(({ type }) => type === "message.create"));
      client.frames.length = 0;
    },
    find: () => services.conversations.find(address),
    stored: () => filesBelow(folder),
    async [Symbol.asyncDispose]() {
      await kernel.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

const hour = 3_600_000;

describe("Upkeep", () => {
  test("deletes uploads that no message has used for a day", async () => {
    await using run = await start();
    const unused = await run.upload("unused");
    const used = await run.upload("used");
    await run.say(used.id);
    let hours = 0;
    const later = () => {
      run.clock.increment(hour);
      hours += 1;
      return run.files.get(unused.id);
    };
    await expect.poll(later).toBeUndefined();
    expect(hours).toBeGreaterThan(23);
    expect(await run.files.get(used.id)).toBeDefined();
  });

  test("deletes the files of a conversation that is forgotten", async () => {
    await using run = await start();
    const file = await run.upload("used");
    await run.say(file.id);
    const other = await run.upload("used", "other");
    run.clock.increment(1_000);
    await run.history.forget((await run.find())!.id);
    await expect.poll(() => run.files.get(file.id)).toBeUndefined();
    expect(await run.files.get(other.id)).toBeDefined();
    expect((await run.stored()).filter((path) => path.includes(file.sha256))).toHaveLength(2);
  });

  test("keeps files of a conversation that began with a wrong clock", async () => {
    await using run = await start();
    run.system.wrongMs = 400 * day;
    const first = await run.upload("first");
    await run.say(first.id);
    run.system.wrongMs = 0;
    const second = await run.upload("second");
    await run.say(second.id);
    const unused = await run.upload("unused");
    const later = () => {
      run.clock.increment(hour);
      return run.files.get(unused.id);
    };
    await expect.poll(later).toBeUndefined();
    expect(await run.files.get(first.id)).toBeDefined();
    expect(await run.files.get(second.id)).toBeDefined();
  });

  test("deletes files from the future with their conversation", async () => {
    await using run = await start();
    run.system.wrongMs = 400 * day;
    const file = await run.upload("used");
    await run.say(file.id);
    run.system.wrongMs = 0;
    run.clock.increment(1_000);
    await run.history.forget((await run.find())!.id);
    await expect.poll(() => run.files.get(file.id)).toBeUndefined();
  });

  test("stores the conversation with each file that a message names", async () => {
    await using run = await start();
    await run.say((await run.upload("first")).id);
    const file = await run.upload("second");
    await run.say(file.id);
    const { id } = (await run.find())!;
    expect(await run.files.get(file.id)).toMatchObject({ conversation: id });
  });

  test("keeps the files if the deletion fails", async () => {
    await using run = await start();
    const file = await run.upload("used");
    await run.say(file.id);
    run.clock.increment(1_000);
    await expect(run.history.forget("unknown")).rejects.toMatchObject({ code: "not_found" });
    expect(await run.files.get(file.id)).toBeDefined();
  });
});

describe("Upkeep.sweep", () => {
  async function sweepWith(conversations: Pick<Conversations, "find"> | undefined) {
    const folder = await mkdtemp(join(tmpdir(), "doorward-files-"));
    const { clock, system } = createWrongClock(100 * day);
    const store = new FolderStore(folder, randomBytes);
    await store.prepare();
    const config = (): MediaConfig => mediaSchema.parse({});
    const service = new MediaService({
      store,
      clock: system,
      random: randomBytes,
      config,
      conversations,
      node: () => "only",
      searchPath: "",
    });
    const { log, lines } = createCapturedLog();
    const upkeep = new Upkeep({
      usage: service.usage,
      fileClock: service.fileClock,
      parts: service.parts,
      store,
      conversations,
      clock: system,
      log,
      after: () => () => undefined,
    });
    const file = await service.put(address, Readable.from([Buffer.from("text")]));
    const isKeptAfter = async (ms: number): Promise<boolean> => {
      clock.increment(ms);
      await upkeep.sweep();
      return (await service.get(file.id)) !== undefined;
    };
    return {
      isKeptAfter,
      system,
      store,
      service,
      file,
      lines,
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
    };
  }
  const conversation = (id = "c1") =>
    ({ find: async () => ({ id }) }) as unknown as Pick<Conversations, "find">;

  test("keeps the files of a conversation that exists", async () => {
    await using run = await sweepWith(conversation());
    expect(await run.isKeptAfter(90 * day)).toBe(true);
  });

  test.each([400 * day, -90 * day])(
    "keeps recent files if the clock is wrong by %d",
    async (ms) => {
      await using run = await sweepWith(undefined);
      run.system.wrongMs = ms;
      expect(await run.isKeptAfter(hour / 2)).toBe(true);
      expect(await run.isKeptAfter(2 * day)).toBe(false);
    },
  );

  test("keeps files of earlier versions for a day", async () => {
    await using run = await sweepWith(undefined);
    const { agedAt: _, ...earlier } = run.file;
    await run.store.link({ ...earlier, at: 9_000 * day, usedAt: 9_000 * day });
    expect(await run.isKeptAfter(2 * day)).toBe(true);
    expect(await run.isKeptAfter(day + 1)).toBe(false);
  });

  test("continues the time of the files after a restart", async () => {
    await using run = await sweepWith(undefined);
    await run.store.link({ ...run.file, agedAt: 300 * day });
    expect(await run.isKeptAfter(day - 1)).toBe(true);
    expect(await run.isKeptAfter(day - 1)).toBe(true);
    expect(await run.isKeptAfter(2)).toBe(false);
  });

  test("deletes the files of a conversation that retention has deleted", async () => {
    await using run = await sweepWith({ find: async () => undefined });
    expect(await run.isKeptAfter(day - 1)).toBe(true);
    expect(await run.isKeptAfter(2)).toBe(false);
  });

  test("deletes the files of an earlier conversation of the session", async () => {
    const found = { id: "c1" };
    await using run = await sweepWith({ find: async () => found } as never);
    expect(await run.isKeptAfter(2 * day)).toBe(true);
    found.id = "c2";
    expect(await run.isKeptAfter(2 * day)).toBe(false);
  });

  test("deletes nothing while the conversations cannot be read", async () => {
    const find = (): Promise<never> => Promise.reject(new Error("store_unavailable"));
    await using run = await sweepWith({ find });
    await expect(run.isKeptAfter(3 * day)).rejects.toThrow("store_unavailable");
  });
});

describe("history and export", () => {
  test("show the file, and the document contains it", async () => {
    await using run = await start();
    const file = await run.upload("content of it");
    await run.say(file.id);
    const { id } = (await run.find())!;
    const page = await run.history.read(id);
    expect(page.items[0]!.attachments).toEqual([
      {
        id: file.id,
        type: "application/octet-stream",
        url: `/pico/media/${file.id}`,
        filename: "file",
        size: 13,
      },
    ]);
    let document = "";
    for await (const piece of run.files.exportWith(run.history.export(id, "json"), address))
      document += piece;
    const exported = JSON.parse(document) as { turns: unknown[]; files: { base64: string }[] };
    expect(exported.turns).toHaveLength(2);
    expect(exported.files).toMatchObject([
      { id: file.id, filename: "file", base64: Buffer.from("content of it").toString("base64") },
    ]);
  });
});
