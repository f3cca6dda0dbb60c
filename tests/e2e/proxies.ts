import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/** A reverse proxy in front of a launcher, set up as the documentation says. */
export interface Proxy extends AsyncDisposable {
  /** As documented: https. */
  readonly encrypted: URL;
  /** As documented, but http. */
  readonly plain: URL;
}

/** Replaces a line that must be there, so that the tests follow the documentation. */
export function exchange(text: string, line: RegExp, by: string): string {
  if (!line.test(text)) throw new Error(`the documented configuration has no ${line}`);
  return text.replace(line, by);
}

/** Runs a proxy with its files in `folder` until it serves; the folder is gone with it. Rejects with what it said when
 *  it ends, or takes longer than forty seconds. */
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
