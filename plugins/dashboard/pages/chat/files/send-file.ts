/** Sends one file to the server, with its progress. @module */
import type { FilesView } from "../../../shared/file-views.ts";
import { base } from "../../live/base.ts";
import { requestAsOwner } from "../../live/owner.ts";

/** A failed upload. */
export interface UploadFailure {
  /** One sentence for the user. */
  readonly reason: string;
  /** The server did not respond. The upload may succeed with the next connection. */
  readonly isOffline: boolean;
}

type UploadResult =
  | { readonly file: FilesView["files"][number] }
  | { readonly failure: UploadFailure };

interface UploadRequest {
  readonly session: string;
  readonly content: File;
  /** Receives the share that has arrived: 0 to 1. */
  readonly onProgress: (share: number) => void;
  readonly signal: AbortSignal;
}

interface Response {
  /** 0 if there was none. */
  readonly status: number;
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

const pathOf = (session: string): string => `/api/media?${new URLSearchParams({ session })}`;

/** Sends the bytes. `fetch` does not report the progress of a request. */
function post({ session, content, onProgress, signal }: UploadRequest): Promise<Response> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const finish = (): void =>
      resolve({ status: request.status, body: parse(request.responseText) });
    for (const event of ["load", "error", "abort"]) request.addEventListener(event, finish);
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      if (total > 0) onProgress(loaded / total);
    });
    signal.addEventListener("abort", () => request.abort());
    request.open("POST", base() + pathOf(session));
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("content-type", content.type || "application/octet-stream");
    request.setRequestHeader("content-disposition", disposition(content.name));
    request.send(content);
  });
}

/** For responses of proxies, which have no sentence of Doorward. */
const sentences: Readonly<Record<number, string>> = {
  413: "The file is too large for the server, or for a proxy in front of it.",
  507: "There is no room for the file on the server.",
};

async function failureOf({ status, body }: Response, content: File): Promise<UploadFailure> {
  if (status !== 0) {
    const { message } = body;
    const known = sentences[status] ?? `The server rejected the file (${status}).`;
    return { reason: typeof message === "string" ? message : known, isOffline: false };
  }
  try {
    await content.slice(0, 1).arrayBuffer();
    return { reason: "The connection ended during the upload.", isOffline: true };
  } catch {
    // It was moved, deleted or changed after the user has chosen it, or it is a folder.
    return { reason: "The file can't be read. Attach it again.", isOffline: false };
  }
}

/** Uploads a file. If the sign-in has ended, asks for it and sends the file again. */
export async function sendFile(upload: UploadRequest): Promise<UploadResult> {
  for (;;) {
    const response = await post(upload);
    if (response.status === 201)
      return { file: response.body as unknown as FilesView["files"][number] };
    if (response.status === 401 && !upload.signal.aborted) {
      const answer = await requestAsOwner<FilesView>("GET", pathOf(upload.session));
      if (!("error" in answer)) continue;
    }
    return { failure: await failureOf(response, upload.content) };
  }
}
