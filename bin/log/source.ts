// Reads and follows the log file for the dashboard.
import type { FileHandle } from "node:fs/promises";
import type { LogLevel, LogLineView, LogSource } from "../../plugins/dashboard/index.ts";
import { openRegularFile } from "../../lib/files/index.ts";
import { splitLines } from "../client/lines.ts";
import type { Redactor } from "./redact.ts";

/** Bytes read from the end of the file, about ten thousand lines. */
const maxTailBytes = 2 * 1024 * 1024;
const levels = ["debug", "info", "warn", "error"] as const;

interface LogSourceOptions {
  readonly file: string;
  readonly redactor: Redactor;
  readonly follow: (onLine: (line: string) => void) => () => void;
}

/** Creates the source of the page Activity. Redacts each line again, also of earlier starts. */
export function logSource({ file, redactor, follow }: LogSourceOptions): LogSource {
  return {
    async read({ level, text, limit }) {
      const { content, isWhole } = await tail(file);
      const wanted = text.toLowerCase();
      const found: LogLineView[] = [];
      let at = 0;
      for (const line of content.split("\n")) {
        if (line === "") continue;
        const clean = redactor.redact(line);
        const view = parse(clean, at);
        at = view.at;
        if (levels.indexOf(view.level) < levels.indexOf(level)) continue;
        if (wanted === "" || clean.toLowerCase().includes(wanted)) found.push(view);
      }
      return {
        lines: limit === 0 ? [] : found.slice(-limit),
        truncated: !isWhole || found.length > limit,
      };
    },
    async *lines() {
      const handle = await openIfThere(file);
      if (!handle) return;
      const input = handle.createReadStream({ encoding: "utf8" });
      try {
        for await (const line of splitLines(input)) yield `${redactor.redact(line)}\n`;
      } finally {
        input.destroy(); // the consumer may stop early
      }
    },
    follow: (onLine) => follow((line) => onLine(parse(line.trimEnd(), Date.now()))),
  };
}

/** Resolves with undefined if the file was deleted. */
const openIfThere = (file: string): Promise<FileHandle | undefined> =>
  openRegularFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });

/** Reads the end of the file, starting with a complete line. */
async function tail(file: string): Promise<{ content: string; isWhole: boolean }> {
  const handle = await openIfThere(file);
  if (!handle) return { content: "", isWhole: true };
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - maxTailBytes);
    const bytes = Buffer.alloc(size - from);
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, from);
    const content = bytes.toString("utf8", 0, bytesRead);
    return {
      content: from === 0 ? content : content.slice(content.indexOf("\n") + 1),
      isWhole: from === 0,
    };
  } finally {
    await handle.close();
  }
}

function levelOf(number: unknown): LogLevel {
  const value = typeof number === "number" ? number : 30;
  return value >= 50 ? "error" : value >= 40 ? "warn" : value >= 30 ? "info" : "debug";
}

/** A line that is not JSON keeps its text and takes the time of the previous line. */
function parse(line: string, previousAt: number): LogLineView {
  try {
    const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const at = Date.parse(String(time));
    return {
      at: Number.isNaN(at) ? previousAt : at,
      level: levelOf(level),
      text: String(msg ?? ""),
      fields,
    };
  } catch {
    return { at: previousAt, level: "info", text: line, fields: {} };
  }
}
