import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { StoredFile } from "../../../plugins/media/index.ts";
import { createFileId } from "../../../plugins/media/file-id.ts";
import { FolderStore } from "../../../plugins/media/folder-store.ts";
import { filesBelow } from "../../support/media-server.ts";

const address = { channel: "pico", session: "s" };
const day = 86_400_000;

let count = 0;
const random = (bytes: number): Uint8Array =>
  Buffer.from((count += 1).toString(16).padStart(2 * bytes, "0"), "hex");

async function open() {
  const folder = await mkdtemp(join(tmpdir(), "doorward-store-"));
  const store = new FolderStore(folder, random);
  await store.prepare();
  const put = async (content: string, to = address, at = 0): Promise<StoredFile> => {
    const id = createFileId(to, random);
    await store.begin(id);
    await store.append(id, 0, Readable.from([Buffer.from(content)]));
    return store.finish(id, ({ sha256, size }) => ({
      ...to,
      id,
      sha256,
      size,
      contentType: "text/plain",
      filename: "a.txt",
      sender: "owner",
      at,
    }));
  };
  return {
    folder,
    store,
    put,
    all: async (): Promise<StoredFile[]> => {
      const files: StoredFile[] = [];
      for await (const file of store.find({})) files.push(file);
      return files;
    },
    stored: () => filesBelow(folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

const drop = (files: readonly StoredFile[]) => (file: StoredFile) =>
  !files.some(({ id }) => id === file.id);

describe("part of a FolderStore", () => {
  test("stores bytes that another store of the same folder reads", async () => {
    await using node = await open();
    const file = await node.put("content");
    const other = new FolderStore(node.folder, random);
    expect(await text(await other.open(file))).toBe("content");
    expect(await text(await other.open(file, { start: 2, end: 4 }))).toBe("nte");
    for await (const found of other.find({ id: file.id })) expect(found).toEqual(file);
  });

  test("keeps what has arrived, and continues in another process", async () => {
    await using node = await open();
    async function* broken(): AsyncIterable<Uint8Array> {
      yield Buffer.from("half ");
      throw new Error("gone");
    }
    const id = createFileId(address, random);
    const size = 9;
    const upload = { ...address, id, size, sender: "owner", node: "a", agedAt: 1, ranMs: 0 };
    await node.store.begin(id, upload);
    await expect(node.store.append(id, 0, broken())).rejects.toThrow("gone");
    const other = new FolderStore(node.folder, random);
    for await (const part of other.parts()) expect(part).toEqual({ upload, offset: 5 });
    await other.append(id, 5, Readable.from([Buffer.from("more")]));
    await expect(other.finish(id, () => Promise.reject(new Error("not yet")))).rejects.toThrow();
    const about = { contentType: "text/plain", filename: "a.txt", sender: "owner", at: 0 };
    const file = await other.finish(id, ({ sha256, size: all }) => ({
      ...{ ...address, id, sha256, size: all },
      ...about,
    }));
    expect(file.sha256).toBe(createHash("sha256").update("half more").digest("hex"));
    expect(await text(await node.store.open(file))).toBe("half more");
    for await (const part of other.parts()) throw new Error(`left: ${part.upload.id}`);
    await expect(other.append(id, 9, Readable.from([]))).rejects.toMatchObject({
      code: "unknown_media",
    });
  });

  test("leaves nothing behind when it is discarded", async () => {
    await using node = await open();
    const id = createFileId(address, random);
    await node.store.begin(id);
    await node.store.append(id, 0, Readable.from([Buffer.from("all")]));
    await node.store.discard(id);
    await node.store.discard(id);
    expect(await node.stored()).toEqual([]);
  });

  test("protects content and folders from other users", async () => {
    if (process.platform === "win32") return;
    await using node = await open();
    const { stat } = await import("node:fs/promises");
    const path = node.store.path(await node.put("content"));
    expect((await stat(path)).mode & 0o777).toBe(0o400);
    expect((await stat(join(path, ".."))).mode & 0o777).toBe(0o700);
  });
});

describe("FolderStore.sweep", () => {
  test("deletes content with its last file", async () => {
    await using node = await open();
    const [one, other] = [await node.put("same"), await node.put("same")];
    await node.store.sweep(drop([one]), { before: 0 });
    expect(await text(await node.store.open(other))).toBe("same");
    await node.store.sweep(drop([other]), { before: 0 });
    expect(await node.stored()).toEqual([]);
    await expect(node.store.open(other)).rejects.toMatchObject({ code: "unknown_media" });
  });

  test("examines the files of one session only", async () => {
    await using node = await open();
    await node.put("a");
    const kept = await node.put("b", { channel: "pico", session: "t" });
    await node.store.sweep(() => false, { address, before: 0 });
    expect(await node.all()).toEqual([kept]);
    expect(await readdir(join(node.folder, "sessions"))).toHaveLength(1);
  });

  test("deletes what killed processes left, once it is old", async () => {
    await using node = await open();
    const kept = await node.put("kept");
    const lost = await node.put("lost");
    const { sha256 } = lost;
    const record = (await node.stored()).find((path) => path.endsWith(`${lost.id}.json`))!;
    await rm(join(node.folder, record)); // killed before the record was written
    await writeFile(join(node.folder, "parts", "1.part"), "half");
    const leaving = `${"0".repeat(64)}.leaving-0123456789abcdef0123456789abcdef`;
    await mkdir(join(node.folder, "00"), { recursive: true });
    await writeFile(join(node.folder, "00", leaving), "content");
    const before = await node.stored();
    await node.store.sweep(() => true, { before: Date.now() - day });
    expect(await node.stored()).toEqual(before);
    const old = new Date(Date.now() - 2 * day);
    for (const path of before) await utimes(join(node.folder, path), old, old);
    await node.store.sweep(() => true, { before: Date.now() - day });
    expect(await text(await node.store.open(kept))).toBe("kept");
    const left = await node.stored();
    expect(left.some((path) => path.includes(sha256))).toBe(false);
    expect(left).toHaveLength(3);
  });

  test("restores content that another node has named again", async () => {
    await using node = await open();
    const file = await node.put("content");
    const path = node.store.path(file);
    const { rename } = await import("node:fs/promises");
    const leaving = `${path}.leaving-0123456789abcdef0123456789abcdef`;
    await rename(path, leaving); // a node was killed while it deleted the last file
    await utimes(leaving, 0, 0);
    await node.store.sweep(() => true, { before: Date.now() - day });
    expect(await text(await node.store.open(file))).toBe("content");
  });

  test("keeps content that is stored again at the same time", async () => {
    await using node = await open();
    for (let round = 0; round < 40; round++) {
      const old = await node.put("same");
      const [kept] = await Promise.all([
        node.put("same"),
        node.store.sweep(drop([old]), { before: 0 }),
      ]);
      expect(await text(await node.store.open(kept))).toBe("same");
      await node.store.sweep(() => false, { before: 0 });
    }
    expect(await node.stored()).toEqual([]);
  });
});

describe("FolderStore.link", () => {
  test("rejects a file whose content is gone", async () => {
    await using node = await open();
    const file = await node.put("content");
    await node.store.sweep(() => false, { before: 0 });
    await expect(node.store.link(file)).rejects.toMatchObject({ code: "unknown_media" });
    expect(await node.stored()).toEqual([]);
  });
});

describe("FolderStore.find", () => {
  test("ignores documents that are not its own", async () => {
    await using node = await open();
    const file = await node.put("content");
    const folder = join(node.folder, "sessions", file.id.slice(2, 18));
    const forged = `${file.id.slice(0, -4)}ffff`;
    await writeFile(join(folder, `${forged}.json`), JSON.stringify({ ...file, session: "t" }));
    await writeFile(join(folder, "notes.txt"), "x");
    await writeFile(join(node.folder, "sessions", "stray"), "x");
    expect(await node.all()).toEqual([file]);
    for (const id of [forged, "../../etc/passwd", "m_1", ""])
      for await (const found of node.store.find({ id })) expect.fail(JSON.stringify(found));
  });
});
