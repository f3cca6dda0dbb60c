// Tests races between the tray and slow programs.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { createClipboard } from "../../../plugins/tray/clipboard.ts";
import { busDaemon, type Bus, type Message } from "../../../plugins/tray/dbus/index.ts";
import { openScript } from "../../../plugins/tray/platforms/script.ts";
import { createRegistration } from "../../../plugins/tray/status-notifier/registration.ts";
import { createView } from "../../../plugins/tray/view.ts";
import { after, waitFor } from "./bus.ts";
import { programs } from "../../support/tray-harness.ts";

describe("createClipboard", () => {
  /** A clipboard program that finishes a copy only after the file `go` exists. */
  const slow = `echo "$*" >> "$HERE/words"
    case "$*" in *-out*) cat "$HERE/clipboard"; exit ;; esac
    cat > "$HERE/next"; cp "$HERE/next" "$HERE/asked"
    while [ ! -e "$HERE/go" ]; do sleep 0.02; done
    mv "$HERE/next" "$HERE/clipboard"`;

  test("clears a token whose copy ended after close", async () => {
    await using tools = await programs({ xclip: slow });
    const env = { PATH: `${tools.folder}:${process.env["PATH"]}`, DISPLAY: ":none" };
    const clipboard = createClipboard({ env, platform: "linux", after: () => () => undefined });
    const copied = clipboard.copySecret("the-token");
    await waitFor(async () => expect(await tools.read("asked")).toBe("the-token"));
    const closed = clipboard.close();
    await writeFile(join(tools.folder, "go"), "");
    await Promise.all([copied, closed]);
    expect(await tools.read("clipboard")).toBe("");
  });

  test("keeps a token that is copied again as the first expires", async () => {
    await using tools = await programs({ xclip: slow });
    await writeFile(join(tools.folder, "go"), "");
    const ends: (() => void)[] = [];
    const env = { PATH: `${tools.folder}:${process.env["PATH"]}`, DISPLAY: ":none" };
    const clipboard = createClipboard({
      env,
      platform: "linux",
      after: (_, run) => (ends.push(run), () => undefined),
    });
    await clipboard.copySecret("the-token");
    const again = clipboard.copySecret("the-token");
    ends[0]?.();
    await again;
    // Runs after the expiry of the first copy, because operations run in order.
    await clipboard.copy("something else");
    expect(await tools.read("words")).not.toContain("-out");
    await clipboard.close();
    expect(await tools.read("clipboard")).toBe("something else");
  });
});

describe("createRegistration", () => {
  test("reports no icon if the panel closes during the registration", async () => {
    const shown: boolean[] = [];
    let refuse = (_: Error): void => undefined;
    let told = (): void => undefined;
    const asked = new Promise<void>((done) => {
      told = done;
    });
    const bus: Bus = {
      name: ":1.2",
      signal: () => undefined,
      call: (_, member) =>
        member === "Get"
          ? new Promise((__, reject) => {
              refuse = reject;
              told();
            })
          : Promise.resolve([1]),
    };
    const registration = createRegistration({
      bus,
      pid: 1,
      shown: (is) => void shown.push(is),
      after: () => () => undefined,
    });
    const result = registration.begin();
    await asked;
    const body = ["org.kde.StatusNotifierWatcher", ":1.1", ""];
    registration.onSignal({
      sender: busDaemon.destination,
      member: "NameOwnerChanged",
      body,
    } as unknown as Message);
    refuse(new Error("it has gone"));
    expect(await result).toBe("the panel has closed");
    expect(shown).toEqual([false]);
  });
});

describe("openScript", () => {
  test("stops waiting for a hung script when the tray closes", async () => {
    const closing = new AbortController();
    const known = { title: "Doorward", version: "", state: "running", hasLog: false } as const;
    const opening = openScript(
      { command: [process.execPath, "-e", "setInterval(() => {}, 1000)"], iconSize: 32 },
      {
        env: {},
        view: createView(known),
        choose: () => undefined,
        shown: () => undefined,
        required: false,
        log: createCapturedLog().log,
        after,
        closing: closing.signal,
      },
    );
    closing.abort();
    await expect(opening).rejects.toThrow("the tray was closed");
  });
});
