import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { vi } from "vitest";
import { startBus, type BusDaemon } from "../plugins/tray/bus.ts";
import { hasTools } from "../support/tools.ts";

const run = promisify(execFile);

export const hasDesktop = hasTools(
  "Xvfb",
  "xfce4-panel",
  "xclip",
  "xdotool",
  "import",
  "dbus-daemon",
);

/** Configuration of a panel at the upper edge that has only program icons, at its right end. */
const panelSettings = `<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="32"/>
      <property name="plugin-ids" type="array">
        <value type="int" value="1"/>
        <value type="int" value="2"/>
      </property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="separator">
      <property name="expand" type="bool" value="true"/>
      <property name="style" type="uint" value="0"/>
    </property>
    <property name="plugin-2" type="string" value="systray">
      <property name="square-icons" type="bool" value="true"/>
    </property>
  </property>
</channel>
`;
const WIDTH = 640;
const HEIGHT = 400;
const icon = { x: WIDTH - 16, y: 16 };

export interface Menu {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Vertical centres of the text lines in pixels. */
  readonly rows: readonly number[];
}
export interface Desktop extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** URLs that the browser was started with. */
  opened(): Promise<string[]>;
  /** Resolves when the icon is drawn in the panel. */
  iconIsThere(): Promise<void>;
  iconIsGone(): Promise<void>;
  /** Clicks the icon until `isDone`. */
  leftClick(isDone: () => Promise<boolean>): Promise<void>;
  /** Opens the menu; resolves when it has `count` lines. */
  menu(lines: number): Promise<Menu>;
  /** Clicks a line of the open menu, counted from 0. */
  choose(menu: Menu, line: number): Promise<void>;
  clipboard(): Promise<string>;
  startPanel(): void;
  stopPanel(): Promise<void>;
  /** Saves a screenshot of an area and replaces the black background by a colour. */
  shoot(file: string, area: string, behind: string): Promise<void>;
}

/** Starts a virtual screen with a session bus and the panel of Xfce. */
export async function startDesktop({ theme = "Adwaita" } = {}): Promise<Desktop> {
  const home = await mkdtemp(join(tmpdir(), "doorward-desktop-"));
  const settings = join(home, ".config", "xfce4", "xfconf", "xfce-perchannel-xml");
  await mkdir(settings, { recursive: true });
  await writeFile(join(settings, "xfce4-panel.xml"), panelSettings);
  // Requests the page like a browser.
  const page = '"$(echo "$1" | cut -c8-)"';
  const link = String.raw`s/.*content="0; url=\([^"]*\)".*/\1/p`;
  const follow = String.raw`sed -n '${link}' ${page} | sed 's/&amp;/\&/g'`;
  await writeFile(join(home, "opener"), `#!/bin/sh\n${follow} >> ${join(home, "opened")}\n`, {
    mode: 0o755,
  });
  await mkdir(join(home, "run"), { mode: 0o700 });

  const screen = spawn(
    "Xvfb",
    ["-displayfd", "3", "-screen", "0", `${WIDTH}x${HEIGHT}x24`, "-nolisten", "tcp"],
    {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    },
  );
  const number = await new Promise<string>((resolve, reject) => {
    (screen.stdio[3] as NodeJS.ReadableStream).once("data", (text) => resolve(String(text).trim()));
    screen.once("exit", () => reject(new Error("Xvfb does not start")));
  });
  const base = {
    PATH: process.env["PATH"]!,
    HOME: home,
    XDG_RUNTIME_DIR: join(home, "run"),
    DISPLAY: `:${number}`,
    NO_AT_BRIDGE: "1",
    GTK_A11Y: "none",
    GTK_THEME: theme,
    LANG: "C.UTF-8",
    BROWSER: join(home, "opener"),
  };
  const bus: BusDaemon = await startBus(undefined, base);
  const env = { ...base, DBUS_SESSION_BUS_ADDRESS: bus.env["DBUS_SESSION_BUS_ADDRESS"]! };
  let panel: ChildProcess | undefined;

  const ended = (child: ChildProcess): Promise<unknown> =>
    child.exitCode === null && child.signalCode === null
      ? new Promise((done) => child.once("exit", done))
      : Promise.resolve();
  const tool = async (name: string, ...words: string[]): Promise<string> =>
    (await run(name, words, { env, timeout: 10_000 })).stdout.trim();
  /** Bytes of red, green and blue. */
  const pixels = async (area: string): Promise<Buffer> => {
    const words = ["-window", "root", "-crop", area, "+repage", "-depth", "8", "rgb:-"];
    return (await run("import", words, { env, encoding: "buffer", timeout: 10_000 })).stdout;
  };
  const until = <T>(look: () => Promise<T>): Promise<T> =>
    vi.waitFor(look, { timeout: 40_000, interval: 50 });

  /** The colour of the arch, which is unique on this screen. */
  async function hasIcon(): Promise<boolean> {
    const seen = await pixels(`40x32+${WIDTH - 40}+0`);
    for (let at = 0; at < seen.length; at += 3) {
      const [red, green, blue] = seen.subarray(at, at + 3);
      if (Math.abs(red! - 0x0c) + Math.abs(green! - 0x6a) + Math.abs(blue! - 0x60) < 12)
        return true;
    }
    return false;
  }

  /** @returns The open menu, or undefined if there is none. */
  async function findMenu(): Promise<Menu | undefined> {
    const found = await tool(
      "xdotool",
      "search",
      "--onlyvisible",
      "--class",
      "wrapper-2.0",
      "getwindowgeometry",
      "%@",
    ).catch(() => "");
    for (const [, x, y, width, height] of found.matchAll(
      /Position: (-?\d+),(-?\d+)[^]*?Geometry: (\d+)x(\d+)/g,
    )) {
      const place = { x: Number(x), y: Number(y), width: Number(width), height: Number(height) };
      if (place.height > 60 && place.width > 60) return { ...place, rows: await rowsOf(place) };
    }
    return undefined;
  }

  /** Text lines are higher than separators. */
  async function rowsOf({ x, y, width, height }: Omit<Menu, "rows">): Promise<number[]> {
    const inside = width - 4;
    const seen = await pixels(`${inside}x${height}+${x + 2}+${y}`);
    const sum = (bytes: Buffer): number => bytes.reduce((total, byte) => total + byte, 0);
    const grey = Array.from(
      { length: height },
      (_, row) => sum(seen.subarray(row * inside * 3, (row + 1) * inside * 3)) / (inside * 3),
    );
    const background = grey.toSorted((a, b) => a - b)[Math.floor(height / 2)]!;
    const inked = grey.flatMap((value, row) => (Math.abs(value - background) > 1 ? [row] : []));
    const groups: number[][] = [];
    for (const row of inked) {
      const last = groups.at(-1);
      if (last && row - last.at(-1)! <= 3) last.push(row);
      else groups.push([row]);
    }
    const text = groups.filter((group) => group.at(-1)! - group[0]! >= 5);
    return text.map((group) => y + Math.round((group[0]! + group.at(-1)!) / 2));
  }

  const click = async (x: number, y: number, button: 1 | 3): Promise<void> =>
    void (await tool("xdotool", "mousemove", `${x}`, `${y}`, "click", `${button}`));

  /**
   * Clicks every ten seconds until `look` resolves, because a panel may miss a click right after
   * it has drawn an icon or a menu.
   */
  function clickUntil<T>(
    place: { x: number; y: number },
    button: 1 | 3,
    look: () => Promise<T>,
  ): Promise<T> {
    let patience = 0;
    return until(async () => {
      try {
        return await look();
      } catch (error) {
        if (Date.now() > patience) {
          patience = Date.now() + 10_000;
          await click(place.x, place.y, button);
        }
        throw error;
      }
    });
  }

  const desktop: Desktop = {
    env,
    opened: async () =>
      (await readFile(join(home, "opened"), "utf8").catch(() => ""))
        .split("\n")
        .filter((line) => line !== ""),
    iconIsThere: () =>
      until(async () => {
        if (!(await hasIcon())) throw new Error("the panel shows no icon");
      }),
    iconIsGone: () =>
      until(async () => {
        if (await hasIcon()) throw new Error("the panel still shows the icon");
      }),
    leftClick: (isDone) =>
      clickUntil(icon, 1, async () => {
        if (!(await isDone())) throw new Error("the click on the icon does nothing");
      }),
    async menu(lines) {
      await clickUntil(icon, 3, async () => {
        if (!(await findMenu())) throw new Error("no menu opens");
      });
      return until(async () => {
        const menu = await findMenu();
        const found = menu?.rows.length ?? "no";
        if (found !== lines) throw new Error(`the menu has ${found} lines, not ${lines}`);
        return menu!;
      });
    },
    choose: ({ x, width, rows }, line) =>
      clickUntil({ x: x + Math.round(width / 2), y: rows[line]! }, 1, async () => {
        if (await findMenu()) throw new Error("the menu stays");
      }),
    clipboard: () => tool("xclip", "-selection", "clipboard", "-out").catch(() => ""),
    startPanel() {
      panel = spawn("xfce4-panel", ["--disable-wm-check"], { env, stdio: "ignore" });
    },
    async stopPanel() {
      panel?.kill();
      if (panel) await ended(panel);
    },
    async shoot(file, area, behind) {
      const raw = join(home, "screen.png");
      await tool("import", "-window", "root", "-crop", area, "+repage", raw);
      await tool("convert", raw, "-fill", behind, "-opaque", "#000000", "-strip", file);
    },
    async [Symbol.asyncDispose]() {
      await desktop.stopPanel();
      await bus[Symbol.asyncDispose]();
      screen.kill();
      await ended(screen);
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  desktop.startPanel();
  return desktop;
}
