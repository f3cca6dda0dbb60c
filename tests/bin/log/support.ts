import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createLog, type LogOptions } from "../../../bin/log/index.ts";

/** Makes a directory that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "doorward-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a stream that stores its input. */
export function sink() {
  let text = "";
  return { write: (more: string) => (text += more), on() {}, text: () => text };
}

export async function openLog(options: Partial<LogOptions>) {
  const [stdout, stderr] = [sink(), sink()];
  const log = await createLog({ stdout, stderr, ...options });
  onTestFinished(() => log.close());
  return { ...log, stdout: stdout.text, stderr: stderr.text };
}
