/** Sends files to the server, and continues where a connection was cut. @module */
import type { FilesView } from "../../../shared/file-views.ts";
import { base } from "../../live/base.ts";
import { requestAsOwner } from "../../live/owner.ts";

/** How far an upload got. */
export type UploadState =
  | { readonly kind: "waiting" | "canceled" }
  | { readonly kind: "sending"; readonly share: number }
  | { readonly kind: "stored"; readonly id: string }
  | {
      readonly kind: "failed";
      /** One sentence for the user. */
      readonly reason: string;
      /** The server did not respond. The upload may succeed with the next connection. */
      readonly isOffline: boolean;
    };

interface Response {
  /** 0 if there was none. */
  readonly status: number;
  /** @returns Undefined without the header. */
  readonly header: (name: string) => string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

function parse(text: string): Response["body"] {
  try {
    return JSON.parse(text) as Response["body"];
  } catch {
    return {};
  }
}

/** The value of `Content-Disposition` (RFC 6266). */
function disposition(name: string): string {
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}

interface Sent {
  readonly method: "POST" | "HEAD" | "PATCH" | "DELETE";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Blob;
}

/** `fetch` does not report the progress of a request. */
function exchange(
  { method, path, headers, body }: Sent,
  stop?: AbortSignal,
  onProgress?: (bytes: number) => void,
): Promise<Response> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const finish = (): void =>
      resolve({
        status: request.status,
        header: (name) => request.getResponseHeader(name) ?? undefined,
        body: parse(request.responseText),
      });
    for (const event of ["load", "error", "abort"]) request.addEventListener(event, finish);
    request.upload.addEventListener("progress", ({ loaded }) => onProgress?.(loaded));
    stop?.addEventListener("abort", () => request.abort());
    request.open(method, base() + path);
    request.setRequestHeader("accept", "application/json");
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.send(body ?? null);
  });
}

/** For responses of proxies, which have no sentence of Doorward. */
const sentences: Readonly<Record<number, string>> = {
  413: "The file is too large for the server, or for a proxy in front of it.",
  507: "There is no room for the file on the server.",
};

async function failureOf({ status, body }: Response, content: File): Promise<UploadState> {
  if (status !== 0) {
    const { message } = body;
    const known = sentences[status] ?? `The server rejected the file (${status}).`;
    const reason = typeof message === "string" ? message : known;
    return { kind: "failed", reason, isOffline: false };
  }
  try {
    await content.slice(0, 1).arrayBuffer();
    const reason = "The connection ended during the upload.";
    return { kind: "failed", reason, isOffline: true };
  } catch {
    // It was moved, deleted or changed after the user has chosen it, or it is a folder.
    const reason = "The file can't be read. Attach it again.";
    return { kind: "failed", reason, isOffline: false };
  }
}

/** An upload that the server knows. */
export interface Begun {
  id?: string;
}

interface Sending {
  readonly session: string;
  readonly content: File;
  readonly begun: Begun;
}

type OnProgress = (share: number) => void;

/** Larger files continue where a connection was cut (tus 1.0); smaller ones are sent again. */
const plainBytes = 1024 * 1024;
const tus = { "tus-resumable": "1.0.0" };
/** Waits before the next attempt without progress. The server ends a dead connection after 5 s. */
const retryDelaysMs = [500, 1_500, 4_000, 8_000];

const typeOf = (content: File): string => content.type || "application/octet-stream";
const addressOf = (id: string): string => `/api/media/${id}`;
const encode = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text.toWellFormed())));

const sendWhole = (
  { session, content }: Sending,
  stop: AbortSignal,
  onProgress: OnProgress,
): Promise<Response> =>
  exchange(
    {
      method: "POST",
      path: `/api/media?${new URLSearchParams({ session })}`,
      headers: {
        "content-type": typeOf(content),
        "content-disposition": disposition(content.name),
      },
      body: content,
    },
    stop,
    (bytes) => onProgress(Math.min(1, bytes / Math.max(1, content.size))),
  );

/** Begins the upload, or asks how far it is. @returns The place, or why there is none. */
async function placeOf(
  { session, content, begun }: Sending,
  stop: AbortSignal,
): Promise<{ readonly id: string; readonly offset: number } | Response> {
  if (begun.id !== undefined) {
    const head = await exchange({ method: "HEAD", path: addressOf(begun.id), headers: tus }, stop);
    if (head.status === 200)
      return { id: begun.id, offset: Number(head.header("upload-offset") ?? 0) };
    if (head.status !== 404) return head;
    delete begun.id; // it has ended with its day, or lives at another node
  }
  const name = encode(content.name);
  const created = await exchange(
    {
      method: "POST",
      path: `/api/media?${new URLSearchParams({ session })}`,
      headers: {
        ...tus,
        "upload-length": String(content.size),
        "upload-metadata": `filename ${name},filetype ${encode(typeOf(content))}`,
      },
    },
    stop,
  );
  const id = created.header("x-doorward-media");
  if (created.status !== 201 || id === undefined) return created;
  begun.id = id;
  return { id, offset: 0 };
}

/** Sends what the server does not have. */
async function sendRest(
  sending: Sending,
  stop: AbortSignal,
  onProgress: OnProgress,
): Promise<Response & { readonly offset?: number }> {
  const { content } = sending;
  const place = await placeOf(sending, stop);
  if (!("offset" in place)) return place;
  const { id, offset } = place;
  const stored = { status: 201, header: () => undefined, body: { id } };
  if (offset === content.size) return stored;
  onProgress(offset / content.size);
  const response = await exchange(
    {
      method: "PATCH",
      path: addressOf(id),
      headers: {
        ...tus,
        "content-type": "application/offset+octet-stream",
        "upload-offset": String(offset),
      },
      body: content.slice(offset),
    },
    stop,
    (bytes) => onProgress(Math.min(1, (offset + bytes) / content.size)),
  );
  return response.status === 204 ? stored : { ...response, offset };
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** The connection was cut, or the server still reads from an earlier one. */
const mayContinue = ({ status }: Response): boolean => [0, 409, 423, 502, 504].includes(status);

/** Continues while the upload advances. */
async function sendResumably(
  sending: Sending,
  stop: AbortSignal,
  onProgress: OnProgress,
): Promise<Response> {
  let furthest = -1;
  for (let attempt = 0; ; attempt += 1) {
    const response = await sendRest(sending, stop, onProgress);
    if (!mayContinue(response) || stop.aborted) return response;
    const { offset = -1 } = response;
    if (offset > furthest) attempt = 0;
    furthest = Math.max(furthest, offset);
    const delay = retryDelaysMs[attempt];
    if (delay === undefined) return response;
    await wait(delay);
  }
}

/** Sends one file. If the sign-in has ended, asks for it and continues. */
export async function sendFile(
  sending: Sending,
  stop: AbortSignal,
  onProgress: OnProgress,
): Promise<UploadState> {
  const { session, content } = sending;
  const send = content.size > plainBytes ? sendResumably : sendWhole;
  for (;;) {
    const response = await send(sending, stop, onProgress);
    if (response.status === 201) return { kind: "stored", id: String(response.body["id"]) };
    if (response.status === 401 && !stop.aborted) {
      const path = `/api/media?${new URLSearchParams({ session })}`;
      const answer = await requestAsOwner<FilesView>("GET", path);
      if (!("error" in answer)) continue;
    }
    return failureOf(response, content);
  }
}

/** The server deletes what has arrived. */
export function discardUpload({ id }: Begun): void {
  if (id !== undefined) void exchange({ method: "DELETE", path: addressOf(id), headers: tus });
}
