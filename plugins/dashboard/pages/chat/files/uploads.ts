/** The uploads of this page. They continue while another conversation is in front. @module */
import { signal, type Signal } from "@preact/signals";
import type { FilesView } from "../../../shared/file-views.ts";
import { base } from "../../live/base.ts";
import { requestAsOwner } from "../../live/owner.ts";
import type { DraftFile } from "../state/drafts.ts";
import type { ShownFile } from "../state/thread.ts";
import { fileAddress } from "./stored-file.ts";

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

/** Sends the bytes. `fetch` does not report the progress of a request. */
function post(
  path: string,
  content: File,
  stop: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Response> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const finish = (): void =>
      resolve({ status: request.status, body: parse(request.responseText) });
    for (const event of ["load", "error", "abort"]) request.addEventListener(event, finish);
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      if (total > 0) onProgress(loaded / total);
    });
    stop.addEventListener("abort", () => request.abort());
    request.open("POST", base() + path);
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

/** Sends one file. If the sign-in has ended, asks for it and sends the file again. */
async function sendFile(
  session: string,
  content: File,
  stop: AbortSignal,
  onProgress: (share: number) => void,
): Promise<UploadState> {
  const path = `/api/media?${new URLSearchParams({ session })}`;
  for (;;) {
    const response = await post(path, content, stop, onProgress);
    if (response.status === 201) return { kind: "stored", id: String(response.body["id"]) };
    if (response.status === 401 && !stop.aborted) {
      const answer = await requestAsOwner<FilesView>("GET", path);
      if (!("error" in answer)) continue;
    }
    return failureOf(response, content);
  }
}

/** Further files wait: the server limits the uploads of one browser. */
const maxParallel = 2;
const queue: Upload[] = [];
let running = 0;

function startNext(): void {
  while (running < maxParallel) {
    const next = queue.shift();
    if (!next) return;
    running += 1;
    void next.send().finally(() => {
      running -= 1;
      startNext();
    });
  }
}

/** The upload of one file to one session. */
export class Upload {
  readonly state: Signal<UploadState> = signal({ kind: "waiting" });
  private readonly session: string;
  private readonly content: File;
  private stop = new AbortController();

  constructor(session: string, content: File) {
    this.session = session;
    this.content = content;
    this.start();
  }

  /** Sends the file again after a failure. */
  retry(): void {
    if (this.state.peek().kind === "failed") this.start();
  }

  cancel(): void {
    if (this.state.peek().kind === "stored") return;
    this.stop.abort();
    this.state.value = { kind: "canceled" };
  }

  /** Resolves when the upload has ended, however it ended. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      let end: (() => void) | undefined;
      end = this.state.subscribe(({ kind }) => {
        if (kind === "waiting" || kind === "sending") return;
        resolve();
        end?.();
      });
    });
  }

  /** Called when fewer than `maxParallel` uploads are in progress. */
  async send(): Promise<void> {
    const { session, content, stop } = this;
    if (stop.signal.aborted) return;
    const onProgress = (share: number): void => {
      if (!stop.signal.aborted) this.state.value = { kind: "sending", share };
    };
    onProgress(0);
    const ended = await sendFile(session, content, stop.signal, onProgress);
    if (!stop.signal.aborted) this.state.value = ended;
  }

  private start(): void {
    this.stop = new AbortController();
    this.state.value = { kind: "waiting" };
    queue.push(this);
    startNext();
  }
}

const uploads = new WeakMap<File, Map<string, Upload>>();

/** True if a message of this session can name the file, or contains it. */
export const isReady = (file: DraftFile, present: string): boolean =>
  file.state === "ready" || (file.state === "stored" && file.session === present);

/**
 * Finds or starts the upload of an unsent file.
 *
 * @returns Undefined for a file that needs none, and for one whose content is lost.
 */
export function uploadOf(file: DraftFile, session: string): Upload | undefined {
  const { blob } = file;
  if (isReady(file, session) || !blob) return undefined;
  const known = uploads.get(blob) ?? new Map<string, Upload>();
  uploads.set(blob, known);
  const upload = known.get(session) ?? new Upload(session, blob);
  known.set(session, upload);
  return upload;
}

/** The file after its upload to this session. */
export const stored = (file: DraftFile, id: string, session: string): DraftFile => ({
  ...file,
  state: "stored",
  id,
  session,
  url: fileAddress(id),
});

type UploadedFiles =
  | { readonly files: readonly ShownFile[] }
  /** Name of a file that could not be uploaded. */
  | { readonly failed: string };

/**
 * Waits for the uploads of an unsent message.
 *
 * @param present - Returns the files of the message, which may change in the meantime.
 * @param onWait - Called if an upload is in progress.
 */
export async function waitForUploads(
  session: string,
  present: () => readonly DraftFile[],
  onWait: () => void,
): Promise<UploadedFiles> {
  for (;;) {
    const files = present().map((file) => ({ file, upload: uploadOf(file, session) }));
    const open = files.flatMap(({ upload }) =>
      upload && ["waiting", "sending"].includes(upload.state.peek().kind) ? [upload] : [],
    );
    if (open.length > 0) {
      onWait();
      await Promise.all(open.map((upload) => upload.settled()));
      continue;
    }
    const ready = files.map(({ file, upload }) => {
      const state = upload?.state.peek();
      return state?.kind === "stored" ? stored(file, state.id, session) : file;
    });
    const failed = ready.find((file) => !isReady(file, session));
    if (failed) return { failed: failed.name };
    return { files: ready.map(({ state: _, blob: __, session: ___, ...file }) => file) };
  }
}
