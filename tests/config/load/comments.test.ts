// Tests that comments in the files are ignored.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createLauncher } from "../../../config/presets/launcher.ts";
import { withoutComments } from "../../../config/load/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";

const comment = { _comment: "why" };

describe("withoutComments", () => {
  test("ignores comments in any file and at any depth", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-comments-"));
    const { log, lines } = createCapturedLog();
    const config = {
      ...comment,
      gateway: { ...comment, host: "127.0.0.1" },
      channels: { ...comment, pico: { ...comment, enabled: true }, pico_client: comment },
      handler: { ...comment, command: [process.execPath, "-e", "0"], env: comment },
      plugins: [],
      store: { ...comment, kind: "memory" },
    };
    const launcher = { ...comment, port: 0, host: "127.0.0.1", launcher_token: "a".repeat(43) };
    const security = `_comment: why\nchannels:\n  _comment: why\n  pico:\n    _comment: why\n    token: ${"b".repeat(43)}\n`;
    await writeFile(join(home, "config.json"), JSON.stringify(config));
    await writeFile(join(home, "launcher-config.json"), JSON.stringify(launcher), { mode: 0o600 });
    await writeFile(join(home, ".security.yml"), security, { mode: 0o600 });
    const kernel = await createLauncher({ home, env: {}, log, version: "0" });
    await kernel.start();
    await kernel.stop();
    expect(JSON.stringify(lines)).not.toContain("_comment");
    expect(await readFile(join(home, "config.json"), "utf8")).toContain("_comment");
    await rm(home, { recursive: true });
  });

  test("keeps everything else", () => {
    const value = { a: [{ _comment: 1, b: "_comment" }], _comment: {}, c: { _comments: 1 } };
    expect(withoutComments(value)).toEqual({ a: [{ b: "_comment" }], c: { _comments: 1 } });
    for (const plain of ["_comment", 1, null, undefined, true])
      expect(withoutComments(plain)).toBe(plain);
  });
});
