import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/** A reverse proxy in front of a launcher with the documented configuration. */
export interface Proxy extends AsyncDisposable {
  /** HTTPS URL of the documented configuration. */
  readonly encrypted: URL;
  /** HTTP URL of the documented configuration. */
  readonly plain: URL;
  /** Port on which http is redirected to https. */
  readonly redirectPort: number;
}

/** Certificate and key as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Leaves a configuration as documented. */
export const same = (text: string): string => text;

/** Replaces a line and fails if it is missing, so that the tests follow the documentation. */
export function exchange(text: string, line: RegExp, by: string): string {
  if (!line.test(text)) throw new Error(`the documented configuration has no ${line}`);
  return text.replace(line, by);
}

/**
 * Starts a proxy with its files in `folder` and waits until it serves. Removes the folder when the
 * proxy stops. Rejects with the output if it exits or needs more than 40 s.
 */
export async function runProxy(
  [program, ...words]: readonly [string, ...string[]],
  folder: string,
  urls: readonly URL[],
): Promise<AsyncDisposable> {
  const child = spawn(program, words, {
    env: { PATH: process.env["PATH"] ?? "", HOME: folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  for (const deadline = Date.now() + 40_000; Date.now() < deadline && child.exitCode === null;) {
    if ((await Promise.all(urls.map(answers))).every(Boolean))
      return { [Symbol.asyncDispose]: stop };
  }
  await stop();
  throw new Error(`${program} does not start: ${said}`);
}

function answers(url: URL): Promise<boolean> {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    const ask = request(url, { rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume();
      resolve(true);
    });
    ask.on("error", () => resolve(false)).end();
  });
}
