import { describe, expect, test } from "vitest";
import { isInspected } from "../../bin/inspector.ts";
import { spawnLauncher, startLauncher } from "./launcher.ts";

describe("isInspected", () => {
  test("finds the options that start the debugger, and no others", () => {
    const by = (...words: string[]): boolean => isInspected(words, {});
    expect([by("--inspect"), by("--inspect=0"), by("--inspect-brk"), by("--inspect-wait")]).toEqual(
      [true, true, true, true],
    );
    expect([by(), by("--inspect-port=0"), by("--inspector"), by("--import", "x")]).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(isInspected([], { NODE_OPTIONS: "--max-old-space-size=64 --inspect=0" })).toBe(true);
    expect(isInspected([], { NODE_OPTIONS: "" })).toBe(false);
  });
});

describe.skipIf(process.platform === "win32")("SIGUSR1", () => {
  test("opens no debugger in a running launcher", async () => {
    await using launcher = await startLauncher({ nodeArgs: ["--inspect-port=0"] });
    launcher.child.kill("SIGUSR1");
    // Node announces its debugger on stderr. The response proves that the signal was handled.
    for (let round = 0; round < 20; round += 1)
      expect((await fetch(new URL("/healthz", launcher.base))).status).toBe(200);
    launcher.child.kill("SIGTERM");
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
    expect(launcher.stderr()).not.toContain("Debugger listening");
  });

  test("opens no debugger in a running client", async () => {
    await using client = await spawnLauncher({
      args: ["client", "-url", "ws://127.0.0.1:9/pico", "-debug"],
      nodeArgs: ["--inspect-port=0"],
      env: { SERVICE_CHANNELS_PICO_CLIENT_TOKEN: "client-token-0123456789-abcdef" },
    });
    await new Promise((heard) => client.child.stderr!.once("data", heard));
    client.child.kill("SIGUSR1");
    await client.ended;
    expect(client.stderr()).not.toContain("Debugger listening");
  });

  test("leaves the debugger of a launcher that was started with it", async () => {
    await using launcher = await startLauncher({ nodeArgs: ["--inspect=127.0.0.1:0"] });
    expect(launcher.stderr()).toContain("Debugger listening");
  });
});
