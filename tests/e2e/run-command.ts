import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));

export interface EndedCommand {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the built program with a home, in its own process. */
export function runCommand(
  home: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<EndedCommand> {
  return new Promise((done) => {
    const child = spawn(process.execPath, [program, ...words], {
      env: { PATH: process.env["PATH"] ?? "", HOME: home, SERVICE_HOME: home, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("close", (code) => done({ code, stdout, stderr }));
  });
}
