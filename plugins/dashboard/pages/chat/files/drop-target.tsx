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

/**
 * True for a text of a spreadsheet or word processor, which is on the clipboard as an image, too.
 * A copied file has its name as the text, and a copied image has none.
 */
const isTextWithImage = (data: DataTransfer): boolean =>
  data.getData("text/html") !== "" &&
  data.getData("text/plain").trim() !== "" &&
  [...data.files].every(({ type }) => type.startsWith("image/"));

const isField = (target: EventTarget | null): boolean => target instanceof HTMLTextAreaElement;

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
      paste: (event: ClipboardEvent) => {
        const { clipboardData: data, target: pastedIn } = event;
        // The field takes the text.
        if (data && isField(pastedIn) && isTextWithImage(data)) return;
        take(event, data);
      },
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

interface PastedProps {
  /** The unsent text. */
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly add: (files: File[]) => unknown;
  /** True if the server stores files that are not images. */
  readonly canAttach: boolean;
}

/** The text that the user has pasted last, and the image of it that some programs add. */
interface PastedText {
  readonly text: string;
  readonly images: File[];
}

/**
 * Offers to attach a long text that the user has just pasted as a file, or the image of a text from
 * a spreadsheet or word processor. The text stays until then.
 */
export function Pasted({ text, setText, add, canAttach }: PastedProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [pasted, setPasted] = useState<PastedText>();
  useEffect(() => {
    const stop = new AbortController();
    const onPaste = ({ clipboardData }: ClipboardEvent): void => {
      if (!clipboardData) return;
      // The field changes the ends of lines.
      const found = clipboardData.getData("text/plain").replace(/\r\n?/g, "\n");
      const images = isTextWithImage(clipboardData) ? [...clipboardData.files] : [];
      const isLong = canAttach && found.length > minLongPaste;
      if (isLong || images.length > 0) setPasted({ text: found, images });
    };
    const field = place.current!.closest("form")!;
    field.addEventListener("paste", onPaste, { signal: stop.signal });
    return () => stop.abort();
  }, [canAttach]);
  const isOffered = pasted !== undefined && text.includes(pasted.text.trim());
  const attachText = (): void => {
    setText(text.replace(pasted!.text, () => ""));
    add([new File([pasted!.text], "pasted.txt", { type: "text/plain" })]);
    setPasted(undefined);
  };
  const attachImage = (): void => {
    add(pasted!.images);
    setPasted(undefined);
  };
  return (
    <div ref={place} role="status">
      {isOffered && (
        <p class="earlier">
          <span class="grow">You pasted {formatCount(pasted.text.length)} characters.</span>
          {pasted.images.length > 0 && (
            <Button compact icon="image" onClick={attachImage}>
              Attach its image
            </Button>
          )}
          {canAttach && pasted.text.length > minLongPaste && (
            <Button compact icon="paperclip" onClick={attachText}>
              Attach as file
            </Button>
          )}
          <Button kind="ghost" compact onClick={() => setPasted(undefined)}>
            Keep as text
          </Button>
        </p>
      )}
    </div>
  );
}
