import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { createLog, type LauncherLog, type LogOptions } from "../../../bin/log/index.ts";

const folders: string[] = [];
const logs: LauncherLog[] = [];

afterEach(() => {
  for (const log of logs.splice(0)) log.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "doorward-log-"));
  folders.push(folder);
  return folder;
}

/** A stream that keeps what it gets. */
export function sink() {
  let text = "";
  return { write: (more: string) => (text += more), on() {}, text: () => text };
}

export async function openLog(options: Partial<LogOptions>) {
  const [stdout, stderr] = [sink(), sink()];
  const log = await createLog({ stdout, stderr, ...options });
  logs.push(log);
  return { ...log, stdout: stdout.text, stderr: stderr.text };
}
