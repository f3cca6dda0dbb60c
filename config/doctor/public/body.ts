// Checks which size of body the proxy passes.
import type { ClientRequest } from "node:http";
import type { CheckView } from "../../../plugins/dashboard/index.ts";
import { nameOf, wayCheck } from "./reporter.ts";
import { openProbe, type Way } from "./way.ts";

const mebibyte = 1_048_576;
const answerTimeoutMs = 3_000;
const quickMb = 8;
const wholeTimeMs = 60_000;
const partBytes = 65_536;

/** Status that a proxy sent before the whole body had arrived; undefined if it accepts the size. */
type Rejected = number | undefined;

function openBody(way: Way, bytes: number) {
  return openProbe(way, {
    action: "body",
    method: "POST",
    isOfChannel: true,
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(bytes),
      // Servers that check the size answer before the body.
      expect: "100-continue",
    },
  });
}

/** Announces a size and sends nothing. */
function announce(way: Way, bytes: number): Promise<Rejected> {
  const { request, isProven } = openBody(way, bytes);
  return new Promise((resolve) => {
    const finish = (status: Rejected): void => {
      clearTimeout(timer);
      resolve(status);
      request.destroy();
    };
    // Some proxies say nothing before the first byte.
    const timer = setTimeout(finish, answerTimeoutMs, undefined);
    request.once("continue", () => finish(undefined));
    request.once("response", ({ statusCode = 0, headers }) =>
      finish(isProven(headers) ? undefined : statusCode),
    );
    request.on("error", () => finish(0));
    request.flushHeaders();
  });
}

/** @returns The largest size in MiB that is accepted when it is announced. */
async function largestAnnounced(way: Way, rejectedMb: number): Promise<number> {
  let [low, high] = [0, rejectedMb];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if ((await announce(way, middle * mebibyte)) === undefined) low = middle;
    else high = middle;
  }
  return low;
}

interface Sent {
  /** Status of a response that the launcher did not send; 0 after a reset. */
  readonly rejected?: number;
  readonly sentBytes: number;
  readonly isWhole: boolean;
}

/** Sends a body until it has arrived, is rejected, or the time is over. */
function sendBody(way: Way, bytes: number, say: (step: string) => void): Promise<Sent> {
  const { request, isProven } = openBody(way, bytes);
  let sentBytes = 0;
  return new Promise((resolve) => {
    const finish = (end: Omit<Sent, "sentBytes">): void => {
      clearTimeout(timer);
      clearInterval(progress);
      resolve({ ...end, sentBytes });
      request.destroy();
    };
    const timer = setTimeout(() => finish({ isWhole: false }), wholeTimeMs);
    const progress = setInterval(() => say(`Body: ${toMb(sentBytes)} MiB sent…`), 5_000);
    request.once("response", ({ statusCode = 0, headers }) => {
      const isDone = isProven(headers) && statusCode === 200;
      finish(isDone ? { isWhole: true } : { rejected: statusCode, isWhole: false });
    });
    request.on("error", () => setImmediate(() => finish({ rejected: 0, isWhole: false })));
    const part = Buffer.from(way.random(partBytes));
    writeParts(request, part, bytes, (written) => {
      sentBytes = written;
    });
  });
}

const toMb = (bytes: number): number => Math.floor(bytes / mebibyte);

function writeParts(
  request: ClientRequest,
  part: Buffer,
  bytes: number,
  onWritten: (bytes: number) => void,
): void {
  let left = bytes;
  const write = (): void => {
    while (left > 0 && !request.destroyed) {
      const length = Math.min(left, part.length);
      left -= length;
      onWritten(bytes - left);
      if (!request.write(part.subarray(0, length))) return void request.once("drain", write);
    }
    if (left === 0 && !request.destroyed) request.end();
  };
  // A server that sends no 100 gets the body after a second (RFC 9110 section 10.1.1).
  const timer = setTimeout(write, 1_000);
  request.once("continue", () => {
    clearTimeout(timer);
    write();
  });
  request.once("close", () => clearTimeout(timer));
  request.flushHeaders();
}

/** A body of `media.max_file_mb` passes. */
export const bodyCheck = wayCheck(
  "public-body",
  "Files of the permitted size can be sent",
  async (own, way, { fix, proxy }, isQuick: boolean, say: (step: string) => void) => {
    const { maxFileMb } = way.grant;
    if (maxFileMb === undefined) return undefined;
    const failed = (stopsAt: number, status: number): CheckView =>
      own.failed(
        `media.max_file_mb permits ${maxFileMb} MiB, but ${nameOf(proxy)} stops at ` +
          `${stopsAt} MiB (${status === 0 ? "it closed the connection" : `status ${status}`}).`,
        fix("body"),
      );
    const rejected = await announce(way, maxFileMb * mebibyte);
    if (rejected !== undefined) return failed(await largestAnnounced(way, maxFileMb), rejected);
    const wanted = isQuick ? Math.min(quickMb, maxFileMb) : maxFileMb;
    const sent = await sendBody(way, wanted * mebibyte, say);
    if (sent.rejected !== undefined) return failed(toMb(sent.sentBytes), sent.rejected);
    if (sent.isWhole && wanted === maxFileMb) return own.ok(`A body of ${maxFileMb} MiB arrived.`);
    return own.ok(
      `${maxFileMb} MiB may be announced, and ${toMb(sent.sentBytes)} MiB were sent in this check.`,
    );
  },
);
