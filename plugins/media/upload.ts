// Reads the body of an upload within limits on rate and number.
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import { watchRate } from "../http/kit.ts";
import type { FileDetails } from "./contract.ts";
import { mediaErrors } from "./errors.ts";
import { parseDisposition } from "./filename.ts";

/** Uploads at one time, and those of one address. */
const maxUploads = 32;
const maxOfAddress = 8;

/** @throws upload_invalid */
export function readDetails({ headers }: IncomingMessage): FileDetails {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity")
    throw mediaErrors.upload_invalid("Content-Encoding", "absent");
  if (headers["content-range"] !== undefined)
    throw mediaErrors.upload_invalid("Content-Range", "absent: an upload is one request");
  const transfer = headers["transfer-encoding"];
  if (transfer !== undefined && transfer.toLowerCase() !== "chunked")
    throw mediaErrors.upload_invalid("Transfer-Encoding", "chunked alone");
  const contentType = headers["content-type"];
  if (/^\s*multipart\//i.test(contentType ?? ""))
    throw mediaErrors.upload_invalid("Content-Type", "the type of the file, which is the body");
  const sha256 = headers["x-doorward-sha256"]?.toString().toLowerCase();
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256))
    throw mediaErrors.upload_invalid("X-Doorward-SHA256", "64 hexadecimal digits");
  const length = headers["content-length"];
  return {
    contentType,
    filename: parseDisposition(headers["content-disposition"]),
    sha256,
    ...(length !== undefined && { size: Number(length) }),
  };
}

/**
 * Reads the body. Ends early if it is too slow, or with the reason of `stop`. A promise for each
 * part keeps no earlier part in memory.
 *
 * @throws upload_slow, upload_incomplete
 */
export async function* readUpload(
  request: IncomingMessage,
  clock: Clock,
  stop?: AbortSignal,
): AsyncIterable<Uint8Array> {
  const parts = request.iterator({ destroyOnReturn: false });
  let bytes = 0;
  let problem: Error | undefined;
  let fail: (error: Error) => void = () => undefined;
  const end = (error: Error): void => fail((problem ??= error));
  const tooSlow = (): void => end(mediaErrors.upload_slow());
  const stopped = (): void => end(stop!.reason as Error);
  stop?.addEventListener("abort", stopped);
  const stopWatch = watchRate(clock, () => bytes, tooSlow);
  const next = (): Promise<IteratorResult<Buffer>> =>
    new Promise((resolve, reject) => {
      fail = reject;
      if (problem) return reject(problem);
      parts.next().then(resolve, (cause: unknown) => {
        reject(mediaErrors.upload_incomplete({ cause }));
      });
    });
  try {
    for (let part = await next(); !part.done; part = await next()) {
      bytes += part.value.byteLength;
      yield part.value;
    }
  } finally {
    stopWatch();
    stop?.removeEventListener("abort", stopped);
    void parts.return?.();
  }
}

/** Counts the uploads that are arriving. */
export class UploadSlots {
  private readonly keys: string[] = [];

  /** @throws uploads_busy */
  take(key: string): () => void {
    const own = this.keys.filter((other) => other === key).length;
    if (own >= maxOfAddress || this.keys.length >= maxUploads) throw mediaErrors.uploads_busy();
    this.keys.push(key);
    return () => void this.keys.splice(this.keys.indexOf(key), 1);
  }
}
