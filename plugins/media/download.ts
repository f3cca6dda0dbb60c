// Sends a file, or a part of it, with headers that keep a browser from running it.
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { isShown } from "./content-type.ts";
import type { ByteRange, DownloadOptions, MediaStore, StoredFile } from "./contract.ts";
import { mediaErrors } from "./errors.ts";
import { formatDisposition } from "./filename.ts";

/** Memory of one download: the buffers of its stream and its socket. */
const downloadBytes = 256 * 1024;

/**
 * Reads `Range` (RFC 9110 §14). Several ranges are answered with the whole file.
 *
 * @returns Undefined for the whole file.
 */
function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return undefined; // not a valid range
  return start < size ? { start, end } : "unsatisfiable";
}

const etagOf = ({ sha256 }: StoredFile): string => `"${sha256}"`;

const matchesEtag = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  header.split(",", 100).some((item) => ["*", etag, `W/${etag}`].includes(item.trim()));

/** The headers of every response with this file. */
const fileHeaders = (file: StoredFile): Record<string, string> => ({
  "Accept-Ranges": "bytes",
  "Cache-Control": "private, immutable",
  "Content-Disposition": formatDisposition(
    isShown(file.inline) ? "inline" : "attachment",
    file.filename,
  ),
  "Content-Security-Policy": "sandbox; default-src 'none'",
  "Content-Type": file.inline ?? "application/octet-stream",
  "Cross-Origin-Resource-Policy": "same-origin",
  ETag: etagOf(file),
  "X-Content-Type-Options": "nosniff",
});

/** The part that a request names. `If-Range` with another version selects the whole file. */
function requestedRange({ headers }: IncomingMessage, file: StoredFile) {
  const condition = headers["if-range"];
  if (condition !== undefined && condition !== etagOf(file)) return undefined;
  return parseRange(headers.range, file.size);
}

/** @throws downloads_busy, unknown_media */
export async function sendFile(
  store: MediaStore,
  file: StoredFile,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  { hold, headers = {} }: DownloadOptions,
): Promise<void> {
  const all = { ...fileHeaders(file), ...headers };
  if (matchesEtag(request.headers["if-none-match"], etagOf(file)))
    return void response.writeHead(304, all).end();
  const range = requestedRange(request, file);
  if (range === "unsatisfiable") {
    const rangeHeaders = { "Content-Range": `bytes */${file.size}`, "Content-Length": "0" };
    return void response.writeHead(416, { ...all, ...rangeHeaders }).end();
  }
  const length = range ? range.end - range.start + 1 : file.size;
  const sized = {
    ...all,
    "Content-Length": String(length),
    ...(range && { "Content-Range": `bytes ${range.start}-${range.end}/${file.size}` }),
  };
  const status = range ? 206 : 200;
  if (request.method === "HEAD" || length === 0)
    return void response.writeHead(status, sized).end();
  const release = hold(Math.min(length, downloadBytes));
  if (!release) throw mediaErrors.downloads_busy();
  try {
    const content = await store.open(file, range);
    response.writeHead(status, sized);
    // The client may leave at any time.
    await pipeline(content, response).catch(() => undefined);
  } finally {
    release();
  }
}
