import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startLauncher, type RunningLauncher } from "../e2e/launcher.ts";
import { hasDesktop, startDesktop, type Desktop } from "../desktop/desktop.ts";

const token = "a-launcher-token-for-the-real-panel";
const items = [
  "open",
  "copy token",
  "copy link",
  "rotate",
  "channel",
  "log",
  "version",
  "quit",
] as const;

/* Uses the built program in the panel of Xfce with mouse clicks and the clipboard. Tests run in
 * order. */
describe.skipIf(!hasDesktop)("tray in the Xfce panel", { timeout: 120_000 }, () => {
  let home: string;
  let desktop: Desktop;
  let launcher: RunningLauncher;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "doorward-tray-"));
    await writeFile(join(home, "launcher-config.json"), JSON.stringify({ launcher_token: token }), {
      mode: 0o600,
    });
    desktop = await startDesktop();
    const env = { ...desktop.env, SERVICE_HOME: home };
    launcher = await startLauncher({ args: ["-port", "0", "-no-browser"], env });
    await desktop.iconIsThere();
  });
  afterAll(async () => {
    await launcher?.[Symbol.asyncDispose]();
    await desktop?.[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });

  const choose = async (item: (typeof items)[number]): Promise<void> =>
    desktop.choose(await desktop.menu(items.length), items.indexOf(item));

  /** URLs that the browser received, and their targets. */
  async function opens(
    act: (isOpen: () => Promise<boolean>) => Promise<void>,
  ): Promise<string | null> {
    const before = (await desktop.opened()).length;
    await act(async () => (await desktop.opened()).length > before);
    const link = await vi.waitFor(
      async () => {
        const all = await desktop.opened();
        expect(all).toHaveLength(before + 1);
        return all.at(-1)!;
      },
      { timeout: 20_000 },
    );
    // Browsers resolve the private host name themselves, Node does not.
    const { hostname, pathname, search } = new URL(link);
    expect(hostname).toMatch(/^doorward-[0-9a-f]{20}\.localhost$/);
    const answer = await fetch(new URL(pathname + search, launcher.base), { redirect: "manual" });
    expect(answer.status).toBe(303);
    expect(answer.headers.get("set-cookie")).toContain("_session_");
    return answer.headers.get("location");
  }
  const clipboardHolds = (text: RegExp): Promise<void> =>
    vi.waitFor(async () => expect(await desktop.clipboard()).toMatch(text), { timeout: 20_000 });

  test("opens the dashboard signed in on a left click", async () => {
    expect(await opens((isOpen) => desktop.leftClick(isOpen))).toBe("/");
  });

  test("opens the pages of the menu items", async () => {
    expect(await opens(() => choose("open"))).toBe("/");
    expect(await opens(() => choose("rotate"))).toBe("/security");
    expect(await opens(() => choose("log"))).toBe("/activity");
  });

  test("copies the sign-in link and the token", async () => {
    await choose("copy link");
    await clipboardHolds(/^http:\/\/127\.0\.0\.1:\d+\/login\?link=ott_[\w-]{43}$/);
    await choose("copy token");
    await clipboardHolds(new RegExp(`^${token}$`));
    expect(launcher.stdout() + launcher.stderr()).not.toContain(token);
  });

  test("shows the icon again after a restart of the panel", async () => {
    await desktop.stopPanel();
    await desktop.iconIsGone();
    desktop.startPanel();
    await desktop.iconIsThere();
    expect(await opens(() => choose("channel"))).toBe("/");
  });

  test("stops the launcher and clears the clipboard on Quit", async () => {
    await choose("quit");
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
    await desktop.iconIsGone();
    await clipboardHolds(/^$/);
  });
});
