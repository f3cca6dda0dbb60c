/** Parts of the composer that load after the page: images, and the use of the context. @module */
import type { JSX } from "preact";
import { IconButton } from "../parts/button.tsx";
import { formatBytes } from "../text/format.ts";
import { sizeOf } from "./attachments.ts";
import type { ShownFile } from "./state/thread.ts";

export { readFiles } from "./attachments.ts";

interface ChosenProps {
  readonly files: readonly ShownFile[];
  readonly setFiles: (files: readonly ShownFile[]) => void;
}

/** The images of the unsent message. */
export function Chosen({ files, setFiles }: ChosenProps): JSX.Element {
  return (
    <div class="files">
      {files.map((file, at) => (
        <span key={at} class="chip">
          <img src={file.url} alt={`Preview of ${file.name}`} />
          <span class="cut">{file.name}</span>
          <span class="muted xs">{formatBytes(sizeOf(file))}</span>
          <IconButton
            icon="x"
            label={`Remove ${file.name}`}
            compact
            onClick={() => setFiles(files.filter((_, other) => other !== at))}
          />
        </span>
      ))}
    </div>
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
