import type { ChildProcess } from "node:child_process";
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

/** `false`: it ended, or took longer than forty seconds. */
export async function untilServing(urls: readonly URL[], child: ChildProcess): Promise<boolean> {
  for (const deadline = Date.now() + 40_000; Date.now() < deadline && child.exitCode === null;) {
    if ((await Promise.all(urls.map(answers))).every(Boolean)) return true;
  }
  return false;
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
