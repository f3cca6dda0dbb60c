import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { assertTrusted, withParentFolders } from "../../../lib/files/index.ts";
import { temporaryFolder } from "./support.ts";

describe.skipIf(process.platform === "win32")("assertTrusted", () => {
  test("accepts files that only the owner can change", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "agent.py"), "", { mode: 0o755 });
    await expect(assertTrusted([folder, join(folder, "agent.py"), "/"])).resolves.toBeUndefined();
  });

  test.each([
    [0o664, "0664"],
    [0o602, "0602"],
    [0o777, "0777"],
  ])("mode %o is refused with the command that closes it", async (mode, text) => {
    const path = join(temporaryFolder(), "agent.py");
    writeFileSync(path, "");
    chmodSync(path, mode);
    await expect(assertTrusted([path])).rejects.toMatchObject({
      code: "FILE_WRITABLE_BY_OTHERS",
      message:
        `${path} decides which program runs as you, and it ` +
        `can be changed by others (mode ${text}); ` +
        `close it with: chmod go-w ${path}`,
    });
  });

  test("advises against a shared folder instead of closing it", async () => {
    const folder = join(temporaryFolder(), "shared");
    mkdirSync(folder);
    chmodSync(folder, 0o1777);
    await expect(assertTrusted([folder])).rejects.toThrow(
      "use a folder that only you can write to",
    );
  });

  test.runIf(process.getuid?.() === 0)(
    "rejects a file of another user, whatever its mode",
    async () => {
      const path = join(temporaryFolder(), "agent.py");
      writeFileSync(path, "", { mode: 0o600 });
      chownSync(path, 12_345, 0);
      await expect(assertTrusted([path])).rejects.toThrow(
        /belongs to another user \(uid 12345\); make it yours: chown 0/,
      );
    },
  );

  test("checks both folders of a link", async () => {
    const folder = temporaryFolder();
    const [real, links] = [join(folder, "real"), join(folder, "links")];
    for (const each of [real, links]) mkdirSync(each, { mode: 0o755 });
    writeFileSync(join(real, "a"), "");
    symlinkSync(join(real, "a"), join(links, "a"));
    expect(await withParentFolders(join(links, "a"))).toEqual([join(real, "a"), real, links]);
    await expect(withParentFolders(join(links, "b"))).rejects.toMatchObject({
      code: "FILE_UNREADABLE",
    });
  });

  test("rejects a writable folder on the path, also behind links", async () => {
    const folder = temporaryFolder();
    const [open, real, links] = ["open", "open/real", "links"].map((name) => join(folder, name));
    for (const each of [open, real, links]) mkdirSync(each!, { mode: 0o755 });
    writeFileSync(join(real!, "a"), "", { mode: 0o644 });
    symlinkSync(real!, join(links!, "to-real"));
    const paths = [join(real!, "a"), join(links!, "to-real", "a")];
    for (const path of paths) await expect(assertTrusted([path])).resolves.toBeUndefined();
    chmodSync(open!, 0o777);
    for (const path of paths)
      await expect(assertTrusted([path])).rejects.toThrow(`close it with: chmod go-w ${open}`);
    chmodSync(open!, 0o1777);
    for (const path of paths) await expect(assertTrusted([path])).resolves.toBeUndefined();
    // A link to itself must not cause an endless loop.
    symlinkSync(join(links!, "b"), join(links!, "b"));
    await expect(assertTrusted([join(links!, "b", "c")])).rejects.toMatchObject({
      code: "FILE_UNREADABLE",
    });
  });
});
