/** Adds files that are pasted or dropped, and offers long pasted text as a file. @module */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { formatCount } from "../../../shared/format.ts";

interface DropProps {
  readonly add: (files: File[]) => unknown;
  /** Attachable content: images, or files. */
  readonly what: string;
}

/** The whole conversation is the target. */
export function DropTarget({ add, what }: DropProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [isOver, setOver] = useState(false);
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => {
    const target = place.current!.closest<HTMLElement>(".thread")!;
    const take = (event: Event, data: DataTransfer | null): void => {
      const files = [...(data?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      latest.current(files);
    };
    const handlers = {
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
    const stop = new AbortController();
    for (const [type, handle] of Object.entries(handlers))
      target.addEventListener(type, handle as EventListener, { signal: stop.signal });
    return () => stop.abort();
  }, []);
  return (
    <div class="drop" ref={place} hidden={!isOver}>
      <Icon name="paperclip" />
      Drop {what} to attach them
    </div>
  );
}

/** Characters of a pasted text that is offered as a file. */
const minLongPaste = 8_000;

interface LongPasteProps {
  /** The unsent text. */
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly add: (files: File[]) => unknown;
}

/** Offers to attach a long text that the user has just pasted. The text stays until then. */
export function LongPaste({ text, setText, add }: LongPasteProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [pasted, setPasted] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    const onPaste = ({ clipboardData }: ClipboardEvent): void => {
      // The field changes the ends of lines.
      const found = (clipboardData?.getData("text/plain") ?? "").replace(/\r\n?/g, "\n");
      if (found.length > minLongPaste) setPasted(found);
    };
    const field = place.current!.closest("form")!;
    field.addEventListener("paste", onPaste, { signal: stop.signal });
    return () => stop.abort();
  }, []);
  const isOffered = pasted !== "" && text.includes(pasted);
  const attach = (): void => {
    setText(text.replace(pasted, () => ""));
    add([new File([pasted], "pasted.txt", { type: "text/plain" })]);
    setPasted("");
  };
  return (
    <div ref={place} role="status">
      {isOffered && (
        <p class="earlier">
          <span class="grow">You pasted {formatCount(pasted.length)} characters.</span>
          <Button compact icon="paperclip" onClick={attach}>
            Attach as file
          </Button>
          <Button kind="ghost" compact onClick={() => setPasted("")}>
            Keep as text
          </Button>
        </p>
      )}
    </div>
  );
}
