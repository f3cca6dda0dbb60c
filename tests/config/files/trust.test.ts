import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { requireTrusted, withFolder } from "../../../config/files/index.ts";
import { temporaryFolder } from "./support.ts";

describe.skipIf(process.platform === "win32")("files that decide which program runs", () => {
  test("what only its owner can change is taken", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "agent.py"), "", { mode: 0o755 });
    await expect(requireTrusted([folder, join(folder, "agent.py"), "/"])).resolves.toBeUndefined();
  });

  test.each([[0o664, "0664"], [0o602, "0602"], [0o777, "0777"]])("mode %o is refused with the command that closes it", async (mode, text) => {
    const path = join(temporaryFolder(), "agent.py");
    writeFileSync(path, "");
    chmodSync(path, mode);
    await expect(requireTrusted([path])).rejects.toMatchObject({
      code: "FILE_WRITABLE_BY_OTHERS",
      message: `${path} decides which program runs as you, and it can be changed by others (mode ${text}); ` +
        `close it with: chmod go-w ${path}`,
    });
  });

  test("a shared folder is not to be closed but left", async () => {
    const folder = join(temporaryFolder(), "shared");
    mkdirSync(folder);
    chmodSync(folder, 0o1777);
    await expect(requireTrusted([folder])).rejects.toThrow("use a folder that only you can write to");
  });

  test.runIf(process.getuid?.() === 0)("a file of another user is refused whatever its mode", async () => {
    const path = join(temporaryFolder(), "agent.py");
    writeFileSync(path, "", { mode: 0o600 });
    chownSync(path, 12_345, 0);
    await expect(requireTrusted([path])).rejects.toThrow(/belongs to another user \(uid 12345\); make it yours: chown 0/);
  });

  test("behind a link both folders count", async () => {
    const folder = temporaryFolder();
    const [real, links] = [join(folder, "real"), join(folder, "links")];
    for (const each of [real, links]) mkdirSync(each, { mode: 0o755 });
    writeFileSync(join(real, "a"), "");
    symlinkSync(join(real, "a"), join(links, "a"));
    expect(await withFolder(join(links, "a"))).toEqual([join(real, "a"), real, links]);
    await expect(withFolder(join(links, "b"))).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
  });
});
