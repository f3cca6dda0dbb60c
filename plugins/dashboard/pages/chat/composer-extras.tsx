/** Parts of the composer that load after the page: images, edits, use of the context. @module */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { formatBytes } from "../../shared/format.ts";
import { sizeOf } from "./attachments.ts";
import type { ShownFile } from "./state/thread.ts";

export { readFiles } from "./attachments.ts";

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

/** Adds images that are pasted or dropped. The whole conversation is the target. */
export function DropTarget({ add }: { readonly add: (files: File[]) => unknown }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [isOver, setOver] = useState(false);
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => {
    const target = place.current!.closest<HTMLElement>(".thread")!;
    const handlers = dropHandlers(target, setOver, (files) => latest.current(files));
    const stop = new AbortController();
    for (const [type, handle] of Object.entries(handlers))
      target.addEventListener(type, handle as EventListener, { signal: stop.signal });
    return () => stop.abort();
  }, []);
  return (
    <div class="drop" ref={place} hidden={!isOver}>
      <Icon name="paperclip" />
      Drop images to attach them
    </div>
  );
}

function dropHandlers(
  target: HTMLElement,
  setOver: (isOver: boolean) => void,
  add: (files: File[]) => unknown,
) {
  const take = (event: Event, data: DataTransfer | null): void => {
    const files = [...(data?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    add(files);
  };
  return {
    paste: (event: ClipboardEvent) => take(event, event.clipboardData),
    dragover: (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    },
    dragleave: ({ relatedTarget }: DragEvent) => {
      if (!target.contains(relatedTarget as Node | null)) setOver(false);
    },
    drop: (event: DragEvent) => {
      setOver(false);
      take(event, event.dataTransfer);
    },
  };
}
