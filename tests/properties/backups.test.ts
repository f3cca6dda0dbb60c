// Laws of backups: every changed or missing byte is noticed, and every name and content comes back.
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scanBackup } from "../../config/backup/content.ts";
import { decrypt, encrypt } from "../../config/backup/secrets.ts";
import { header, writeByHand } from "../support/backups.ts";
import { runs } from "../support/runs.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "doorward-backups-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Reads a backup. @returns Its files, or undefined if it was rejected. */
async function filesOf(path: string): Promise<Record<string, string> | undefined> {
  const file = await open(path, "r");
  const files: Record<string, string> = {};
  try {
    await scanBackup(file, path, async (name, content) => {
      const parts: Buffer[] = [];
      for await (const part of content) parts.push(part);
      files[name] = Buffer.concat(parts).toString();
    });
    return files;
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^BACKUP_(BROKEN|NEWER)$/) });
    return undefined;
  } finally {
    await file.close();
  }
}

const part = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
  .filter((text) => !/[/\\\p{Cc}\p{Cs}]/u.test(text) && text !== "." && text !== "..");
const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const homeFiles = fc.dictionary(name, fc.string({ maxLength: 2_000 }), { maxKeys: 8 });

async function write(files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(folder, "law.tar");
  const entries = Object.entries(files).map(([own, text]) => [`home/${own}`, text] as const);
  await writeByHand(path, { files: Object.fromEntries(entries) });
  return path;
}

describe("scanBackup", () => {
  test("returns all names and contents", () =>
    fc.assert(
      fc.asyncProperty(homeFiles, async (files) => {
        expect(await filesOf(await write(files))).toEqual({ ...files });
      }),
      { numRuns: runs(300) },
    ));

  test("rejects a backup with a changed byte", () =>
    fc.assert(
      fc.asyncProperty(homeFiles, fc.nat(), fc.integer({ min: 1, max: 255 }), async (...drawn) => {
        const [files, place, bits] = drawn;
        const path = await write(files);
        const bytes = await readFile(path);
        bytes[place % bytes.length]! ^= bits;
        await writeFile(path, bytes);
        expect(await filesOf(path)).toBeUndefined();
      }),
      { numRuns: runs(600) },
    ));

  test("rejects a changed byte at each place of a small backup", async () => {
    const path = join(folder, "small.tar");
    await writeByHand(path, { header, files: { [`home/${"long ".repeat(30)}`]: "text" } });
    const bytes = await readFile(path);
    const step = runs(3) === 3 ? 1 : 7;
    for (let place = 0; place < bytes.length; place += step) {
      const changed = Buffer.from(bytes);
      changed[place]! ^= 1 << (place % 8);
      await writeFile(path, changed);
      expect(await filesOf(path), `byte ${place}`).toBeUndefined();
    }
  });

  test("rejects a backup that was cut or has more bytes", () =>
    fc.assert(
      fc.asyncProperty(homeFiles, fc.nat(), fc.uint8Array({ minLength: 1 }), async (...drawn) => {
        const [files, place, more] = drawn;
        const path = await write(files);
        const bytes = await readFile(path);
        await writeFile(path, bytes.subarray(0, place % bytes.length));
        expect(await filesOf(path)).toBeUndefined();
        await writeFile(path, Buffer.concat([bytes, more]));
        expect(await filesOf(path)).toBeUndefined();
      }),
      { numRuns: runs(300) },
    ));
});

describe("encrypt", () => {
  test("opens with its passphrase and the same files only", async () => {
    const plain = Buffer.from("launcher_token");
    const bound = Buffer.alloc(32, 1);
    const sealed = await encrypt(plain, bound, {
      passphrase: "a long passphrase",
      random: (bytes) => Buffer.alloc(bytes, 3),
    });
    expect(await decrypt(sealed, "a long passphrase", bound)).toEqual(plain);
    expect(await decrypt(sealed, "a long passphrasf", bound)).toBeUndefined();
    expect(await decrypt(sealed, "a long passphrase", Buffer.alloc(32, 2))).toBeUndefined();
    for (const place of [0, 20, 30, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[place]! ^= 1;
      expect(await decrypt(changed, "a long passphrase", bound)).toBeUndefined();
    }
    expect(await decrypt(sealed.subarray(0, 10), "a long passphrase", bound)).toBeUndefined();
  });
});
