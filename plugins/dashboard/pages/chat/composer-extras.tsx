/** Parts of the composer that load after the page: files, edits, use of the context. @module */
import type { JSX } from "preact";
import { Button } from "../parts/button.tsx";

export { readFiles } from "./files/attachments.ts";
export { Chosen } from "./files/chosen.tsx";
export { DropTarget, LongPaste } from "./files/drop-target.tsx";
export { waitForUploads } from "./files/uploads.ts";

interface EditNoteProps {
  /** The message that is being changed stays as an earlier version. */
  readonly isKept: boolean;
  readonly cancel: () => void;
}

/** Shown while the composer has a sent message. */
export function EditNote({ isKept, cancel }: EditNoteProps): JSX.Element {
  return (
    <p class="earlier">
      <span class="grow">Editing a message.{isKept && " Its earlier version is kept."}</span>
      <Button kind="ghost" compact onClick={cancel}>
        Cancel
      </Button>
    </p>
  );
}

/** Shown while a message waits for its uploads. */
export function WaitNote({ cancel }: { readonly cancel: () => void }): JSX.Element {
  return (
    <p class="earlier" role="status">
      <span class="grow">The message is sent when the upload is complete.</span>
      <Button kind="ghost" compact onClick={cancel}>
        Don't send yet
      </Button>
    </p>
  );
}

const circumference = 2 * Math.PI * 7;
/** From here on, the application may soon forget the beginning. */
const nearlyFull = 0.8;

/** How much of its context the application uses, if it says so. */
export function ContextUse({ share }: { readonly share: number }): JSX.Element {
  const text = `${Math.round(share * 100)}% of context`;
  return (
    <span class={`meter${share >= nearlyFull ? " warn" : ""}`}>
      <svg width="16" height="16" viewBox="0 0 20 20" aria-hidden="true">
        <circle class="track" cx="10" cy="10" r="7" />
        <circle
          class="value"
          cx="10"
          cy="10"
          r="7"
          stroke-dasharray={`${share * circumference} ${circumference}`}
          stroke-dashoffset={circumference / 4}
        />
      </svg>
      <span class="num">{text}</span>
    </span>
  );
}
