/** The uploads of this page. They continue while another conversation is in front. @module */
import { signal, type Signal } from "@preact/signals";
import type { DraftFile } from "../state/drafts.ts";
import type { ShownFile } from "../state/thread.ts";
import { discardUpload, sendFile, type Begun, type UploadState } from "./send-file.ts";
import { fileAddress } from "./stored-file.ts";

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
  /** Continues after a failure where the connection was cut. */
  private readonly begun: Begun = {};
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
    discardUpload(this.begun);
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
    const ended = await sendFile({ session, content, begun: this.begun }, stop.signal, onProgress);
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
