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
