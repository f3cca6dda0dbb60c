import { execFileSync } from "node:child_process";
import { link, mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { channels, type Media } from "../../../plugins/channels/index.ts";
import { media, type MediaFiles } from "../../../plugins/media/index.ts";
import { program } from "../../../plugins/program/index.ts";
import { openAnswerFile } from "../../../plugins/program/answer-files.ts";
import { findTool } from "../../support/tools.ts";
import { startProgram } from "../../support/program-harness.ts";
import { png } from "../../support/media-server.ts";

type Answer = { readonly attachments?: readonly Media[] };

const address = { channel: "sample", session: "s" };

/** Starts a program with files in a temporary folder. */
async function start(script: string, mediaDir?: string) {
  const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
  const options = mediaDir === undefined ? {} : { mediaDir };
  const started = await startProgram(script, options, {}, undefined, [media({ home })]);
  const services = started.kernel.services as unknown as { media: MediaFiles };
  return {
    ...started,
    files: services.media,
    put: async (content: string | Buffer, contentType: string, filename: string) => {
      const bytes = Readable.from([Buffer.from(content)]);
      const file = await services.media.put(address, bytes, { contentType, filename });
      const { id, size, sha256 } = file;
      return { id, type: contentType, size, sha256, filename } satisfies Media;
    },
    async [Symbol.asyncDispose]() {
      await started[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}

const ready = 'say({ type: "ready", payload: { can: ["media"] } });';
const showMedia = "each((m) => answer(m, JSON.stringify(m.payload.media)));";
const readFirst =
  'each((m) => answer(m, require("node:fs").readFileSync(m.payload.media[0].path, "utf8")));';

describe("message with a file", () => {
  test("names a path that the program reads", async () => {
    await using running = await start(readFirst);
    const file = await running.put("%PDF-1.7 text", "application/pdf", "a.pdf");
    await running.say("read", "s", "1", [file]);
    expect((await running.seen.next("a message")).message?.content).toBe("%PDF-1.7 text");
  });

  test("describes the file", async () => {
    await using running = await start(showMedia);
    const file = await running.put("a,b", "text/csv", "table.csv");
    await running.say("read", "s", "1", [file]);
    expect(JSON.parse((await running.seen.next("a message")).message!.content)).toEqual([
      {
        id: file.id,
        path: running.files.path((await running.files.get(file.id))!),
        content_type: "text/csv",
        filename: "table.csv",
        size: 3,
        sha256: file.sha256,
      },
    ]);
  });

  test("leaves out and names a file that this node does not have", async () => {
    await using running = await start(
      "each((m) => answer(m, JSON.stringify([m.payload.media, m.payload.media_missing])));",
    );
    const file = await running.put("a,b", "text/csv", "table.csv");
    const elsewhere = { ...file, id: `m_${"0".repeat(48)}`, filename: "b.csv" };
    await running.say("read", "s", "1", [file, elsewhere]);
    const [found, missing] = JSON.parse((await running.seen.next("a message")).message!.content);
    expect(found).toMatchObject([{ id: file.id, path: expect.any(String) }]);
    expect(missing).toMatchObject([{ id: elsewhere.id, filename: "b.csv" }]);
    expect(missing[0]).not.toHaveProperty("path");
  });

  test("carries a small image as a data URL for old programs", async () => {
    await using plain = await start(showMedia);
    const small = await plain.put(png(), "image/png", "a.png");
    const large = await plain.put(Buffer.alloc(300 * 1024), "image/png", "b.png");
    await plain.say("read", "s", "1", [small, large]);
    const [first, second] = JSON.parse(
      (await plain.seen.next("a message")).message!.content,
    ) as unknown[];
    expect(first).toBe(`data:image/png;base64,${png().toString("base64")}`);
    expect(second).toMatchObject({ id: large.id, path: expect.any(String) });
    await using reading = await start(ready + showMedia);
    await reading.facts.next("the start");
    await reading.facts.next("the ready line");
    await reading.say("read", "s", "1", [await reading.put(png(), "image/png", "a.png")]);
    const [item] = JSON.parse((await reading.seen.next("a message")).message!.content) as unknown[];
    expect(item).toMatchObject({ path: expect.any(String), content_type: "image/png" });
  });

  test("precedes the next message of its session", async () => {
    await using running = await start("each((m) => answer(m, m.payload.content));");
    const file = await running.put("text", "text/plain", "a.txt");
    void running.say("first", "s", "1", [file]);
    void running.say("second", "s", "2");
    expect((await running.seen.next("a message")).message?.content).toBe("first");
    expect((await running.seen.next("a message")).message?.content).toBe("second");
  });
});

describe("examples/programs/read_pdf.py", () => {
  test("counts the pages of a PDF", async ({ skip }) => {
    const python = findTool("python");
    skip(python === undefined, "needs python3");
    const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
    const command = [python!, "examples/programs/read_pdf.py"] as const;
    await using running = await startProgram("", { command, cwd: process.cwd() }, {}, undefined, [
      media({ home }),
    ]);
    const { media: files } = running.kernel.services as unknown as { media: MediaFiles };
    const pages = "<< /Type /Pages >> << /Type /Page >> << /Type/Page /Parent 1 0 R >>";
    const content = Readable.from([Buffer.from(`%PDF-1.7\n${pages}`)]);
    const { id } = await files.put(address, content, { filename: "a.pdf" });
    await running.say("How long is it?", "s", "1", [{ id, type: "application/pdf" }]);
    expect((await running.seen.next("an answer")).message?.content).toBe("2 pages");
    await rm(home, { recursive: true });
  });
});

describe("answer with a file", () => {
  const write = (name: string, attachment: string): string =>
    `const fs = require("node:fs"), dir = process.env.DOORWARD_MEDIA, path = dir + "/${name}";
     each((m) => { ${attachment} });`;

  test("sends a file of the folder once for all updates", async () => {
    const script = write(
      "out.csv",
      `fs.writeFileSync(path, "a,b");
       const attachments = [{ path, content_type: "text/csv" }];
       answer(m, "half", { message_id: "1", final: false, attachments });
       say({ type: "message.append", payload: { message_id: "1", content: " all", final: true } });`,
    );
    await using running = await start(script);
    await running.say("go", "s", "1");
    const first = (await running.seen.next("a message")).message as Answer;
    expect(first.attachments).toMatchObject([
      { type: "text/csv", filename: "out.csv", size: 3, id: expect.stringMatching(/^m_/) },
    ]);
    const last = (await running.seen.next("a message")).message as Answer;
    expect(last.attachments).toEqual(first.attachments);
    const files = await running.files.list(address);
    expect(files).toHaveLength(1);
    expect(await text(await running.files.open(files[0]!.id))).toBe("a,b");
  });

  test("sends a received file by its id", async () => {
    const script = "each((m) => answer(m, 'x', { attachments: [{ id: m.payload.media[0].id }] }));";
    await using running = await start(script);
    const file = await running.put("text", "text/plain", "a.txt");
    await running.say("go", "s", "1", [file]);
    const { attachments } = (await running.seen.next("a message")).message as Answer;
    expect(attachments).toEqual([file]);
  });

  test("fails the message with a sentence if the file cannot be sent", async () => {
    await using running = await start(
      'each((m) => answer(m, "x", { attachments: [{ path: "/etc/passwd" }] }));',
    );
    await expect(running.say("go", "s", "1")).rejects.toMatchObject({
      code: "bad_answer",
      message: expect.stringMatching(/^The program sent an invalid reply: the attachment "passwd"/),
    });
  });

  test("announces the feature and the folder to the program", async () => {
    await using running = await start(
      "each((m) => answer(m, process.env.DOORWARD_CAN + ' ' + process.env.DOORWARD_MEDIA));",
    );
    await running.say("go", "s", "1");
    const { content } = (await running.seen.next("a message")).message!;
    expect(content).toMatch(
      /^stop,append,parts,questions,tools,continue,order,status,media \/.*doorward-media-/,
    );
    expect(content).not.toContain(running.folder);
  });

  test("names a private folder that outlives the program", async () => {
    const root = await mkdtemp(join(tmpdir(), "doorward-state-"));
    const stateDir = join(root, "state", "program");
    const env = { PATH: process.env["PATH"] ?? "", DOORWARD_STATE: "/etc" };
    const script = `const file = process.env.DOORWARD_STATE + "/n";
      each((m) => {
        require("node:fs").appendFileSync(file, "x");
        answer(m, String(require("node:fs").readFileSync(file)));
      });`;
    for (const expected of ["x", "xx"]) {
      await using running = await startProgram(script, { env, stateDir });
      await running.say("go", "s", "1");
      expect((await running.seen.next("a message")).message?.content).toBe(expected);
    }
    if (process.platform !== "win32") expect((await stat(stateDir)).mode & 0o777).toBe(0o700);
    await rm(root, { recursive: true });
  });

  test("has no folder without the plugin media", async () => {
    const kernel = createKernel([
      channels(),
      program({ command: [process.execPath, "-e", ""], env: { DOORWARD_MEDIA: "/etc" } }),
    ]);
    await kernel.start();
    await kernel.stop();
    await using running = await startProgram(
      "each((m) => answer(m, String(process.env.DOORWARD_MEDIA)));",
      { env: { PATH: process.env["PATH"] ?? "", DOORWARD_MEDIA: "/etc" } },
    );
    await running.say("go", "s", "1");
    expect((await running.seen.next("a message")).message?.content).toBe("undefined");
  });
});

describe("openAnswerFile", () => {
  async function createFolder() {
    const root = await mkdtemp(join(tmpdir(), "doorward-hostile-"));
    const folder = join(root, "media");
    await mkdir(folder);
    await writeFile(join(root, "secret"), "token");
    await writeFile(join(folder, "good"), "text");
    return {
      root,
      folder,
      path: (name: string) => join(folder, name),
      open: (path: string) => openAnswerFile(path, folder),
      [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
    };
  }

  test("opens regular files in the folder", async () => {
    await using given = await createFolder();
    await mkdir(given.path("deep"));
    await writeFile(given.path("deep/er"), "text");
    for (const name of ["good", "deep/er", "deep/../good"])
      await (await given.open(`${given.folder}/${name}`)).close();
  });

  test.each([
    ["a path outside", "it is outside", async (root: string) => join(root, "secret")],
    ["a path with ..", "it is outside", async (_: string, at: string) => `${at}/../secret`],
    ["a relative path", "absolute path", async () => "good"],
    ["a path with NUL", "absolute path", async (_: string, at: string) => `${at}/good\0`],
    ["a missing file", "ENOENT", async (_: string, at: string) => `${at}/missing`],
    ["a folder", "not a regular file", async (_: string, at: string) => at],
    ["a device", "not a regular file", async () => "/dev/zero"],
    [
      "a link",
      "it is a link",
      async (root: string, at: string) => {
        await symlink(join(root, "secret"), `${at}/link`);
        return `${at}/link`;
      },
    ],
    [
      "a folder that is a link",
      "it is outside",
      async (root: string, at: string) => {
        await symlink(root, `${at}/up`);
        return `${at}/up/secret`;
      },
    ],
    [
      "a hard link",
      "more than one name",
      async (root: string, at: string) => {
        await link(join(root, "secret"), `${at}/hard`);
        return `${at}/hard`;
      },
    ],
    [
      "a pipe without a writer",
      "not a regular file",
      async (_: string, at: string) => {
        execFileSync("mkfifo", [`${at}/pipe`]);
        return `${at}/pipe`;
      },
    ],
  ])("rejects %s", async (_, problem, make) => {
    await using given = await createFolder();
    const path = await make(given.root, given.folder);
    await expect(given.open(path)).rejects.toMatchObject({
      code: "bad_answer",
      message: expect.stringContaining(problem),
    });
  });
});
