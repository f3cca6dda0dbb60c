import type { Release } from "../../kernel/index.ts";
import { runForOutput, runWithInput } from "./desktop.ts";

/** A program that reaches the clipboard. All words are fixed; the text comes by standard input. */
export interface ClipboardTool {
  readonly name: string;
  readonly write: readonly string[];
  readonly read: readonly string[];
  /** Given nothing on standard input. */
  readonly clear: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What this desktop may have, best first. */
export function clipboardTools(
  env: Environment,
  platform: NodeJS.Platform,
): readonly ClipboardTool[] {
  if (platform === "darwin")
    return [{ name: "pbcopy", write: ["pbcopy"], read: ["pbpaste"], clear: ["pbcopy"] }];
  if (platform === "win32") return [windows(env["SystemRoot"] ?? String.raw`C:\Windows`)];
  return [...(env["WAYLAND_DISPLAY"] ? [wayland] : []), ...(env["DISPLAY"] ? [xclip, xsel] : [])];
}

const wayland: ClipboardTool = {
  name: "wl-copy",
  write: ["wl-copy", "--type", "text/plain"],
  read: ["wl-paste", "--no-newline"],
  clear: ["wl-copy", "--clear"],
};
const xclip: ClipboardTool = {
  name: "xclip",
  write: ["xclip", "-selection", "clipboard", "-in"],
  read: ["xclip", "-selection", "clipboard", "-out"],
  clear: ["xclip", "-selection", "clipboard", "-in"],
};
const xsel: ClipboardTool = {
  name: "xsel",
  write: ["xsel", "--clipboard", "--input"],
  read: ["xsel", "--clipboard", "--output"],
  clear: ["xsel", "--clipboard", "--clear"],
};
/** By their full names: Windows looks for programs in the current folder first. */
const windows = (root: string): ClipboardTool => ({
  name: "clip.exe",
  write: [String.raw`${root}\System32\clip.exe`],
  read: [
    String.raw`${root}\System32\WindowsPowerShell\v1.0\powershell.exe`,
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    "Get-Clipboard -Raw",
  ],
  clear: [String.raw`${root}\System32\clip.exe`],
});

export interface ClipboardOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly after: (ms: number, run: () => void) => Release;
}
export interface Clipboard {
  /** Rejects with the programs that were tried, when none takes it. */
  copy(text: string): Promise<void>;
  /** As `copy`; takes it away again after a minute, when it still is what was copied. */
  copySecret(text: string): Promise<void>;
  /** Takes a secret away now, when it still is there. */
  close(): Promise<void>;
}

interface CopiedSecret {
  readonly text: string;
  readonly tool: ClipboardTool;
  readonly release: Release;
}

const secretLifetimeMs = 60_000;

export function createClipboard({ env, platform, after }: ClipboardOptions): Clipboard {
  let copiedSecret: CopiedSecret | undefined;

  async function write(text: string): Promise<ClipboardTool> {
    const tools = clipboardTools(env, platform);
    for (const tool of tools) {
      if (await runWithInput(tool.write, text, env)) return tool;
    }
    throw new Error(`none of ${tools.map(({ name }) => name).join(", ")} works`);
  }

  /** Whatever manager or program holds it by now: what counts is what a paste would give. */
  async function clear(): Promise<void> {
    if (!copiedSecret) return;
    const { text, tool, release } = copiedSecret;
    copiedSecret = undefined;
    release();
    if ((await runForOutput(tool.read, env)).trimEnd() === text)
      await runWithInput(tool.clear, "", env);
  }

  /** One after the other: what is taken away must not be what was copied meanwhile, and what is being copied when it
   *  closes is taken away too. */
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const mine = last.then(run);
    last = mine.catch(() => undefined);
    return mine;
  }

  const expire = (mine: CopiedSecret): Promise<void> =>
    inTurn(async () => {
      if (copiedSecret === mine) await clear();
    });

  return {
    copy: (text) => inTurn(async () => void (await write(text))),
    copySecret: (text) =>
      inTurn(async () => {
        const tool = await write(text);
        copiedSecret?.release();
        const mine: CopiedSecret = {
          text,
          tool,
          release: after(secretLifetimeMs, () => void expire(mine).catch(() => undefined)),
        };
        copiedSecret = mine;
      }),
    close: () => inTurn(clear),
  };
}
