// Copies text to the clipboard of the desktop and removes copied secrets after a minute.
import type { Release } from "../../kernel/index.ts";
import { runForOutput, runWithInput } from "./desktop.ts";
import type { Environment, TrayBackendOptions } from "./service.ts";

/**
 * A program that accesses the clipboard. All arguments are fixed; the text is passed on standard
 * input.
 */
interface ClipboardTool {
  readonly name: string;
  readonly write: readonly string[];
  readonly read: readonly string[];
  /** Run with empty standard input. */
  readonly clear: readonly string[];
}

/** @returns The programs that this desktop may have, best first. */
function clipboardTools(env: Environment, platform: NodeJS.Platform): readonly ClipboardTool[] {
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
/** Full paths, because Windows looks for programs in the current folder first. */
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

interface ClipboardOptions extends Pick<TrayBackendOptions, "env" | "after"> {
  readonly platform: NodeJS.Platform;
}
export interface Clipboard {
  /** Rejects with the names of the programs if none of them works. */
  copy(text: string): Promise<void>;
  /** Copies like `copy`, and clears the clipboard after a minute if it still has this text. */
  copySecret(text: string): Promise<void>;
  /** Clears the clipboard now if it still has the last secret. */
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

  /** Compares with what a paste would return, no matter which program owns the clipboard now. */
  async function clear(): Promise<void> {
    if (!copiedSecret) return;
    const { text, tool, release } = copiedSecret;
    copiedSecret = undefined;
    release();
    if ((await runForOutput(tool.read, env)).trimEnd() === text)
      await runWithInput(tool.clear, "", env);
  }

  /**
   * Operations run one after the other. So `clear` cannot remove a newer text, and `close` also
   * removes a secret whose copy is still running.
   */
  let last: Promise<unknown> = Promise.resolve();
  function enqueue<T>(run: () => Promise<T>): Promise<T> {
    const result = last.then(run);
    last = result.catch(() => undefined);
    return result;
  }

  const expire = (expired: CopiedSecret): Promise<void> =>
    enqueue(async () => {
      if (copiedSecret === expired) await clear();
    });

  return {
    copy: (text) => enqueue(async () => void (await write(text))),
    copySecret: (text) =>
      enqueue(async () => {
        const tool = await write(text);
        copiedSecret?.release();
        const newSecret: CopiedSecret = {
          text,
          tool,
          release: after(secretLifetimeMs, () => void expire(newSecret).catch(() => undefined)),
        };
        copiedSecret = newSecret;
      }),
    close: () => enqueue(clear),
  };
}
