/** Copies text, and says so on the button. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton } from "./button.tsx";

const feedbackMs = 1600;

/**
 * Copies text to the clipboard. Without clipboard access, as on plain HTTP, a hidden field is
 * copied instead.
 *
 * @returns False if the browser denies both.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyFromField(text);
  }
}

/**
 * Copies a text that is still on its way. Safari permits a copy only while it handles a click or a
 * key, so the clipboard receives the promise of the text. Call it in that handler.
 *
 * @param text - Rejects if there will be no text.
 * @returns False if the browser denies it, or there is no text.
 */
export async function copyPending(text: Promise<string>): Promise<boolean> {
  try {
    const content = text.then((known) => new Blob([known], { type: "text/plain" }));
    content.catch(() => undefined); // The clipboard may not await it.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": content })]);
    return true;
  } catch {
    return text.then(copyText, () => false);
  }
}

function copyFromField(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "unseen";
  (before?.closest("dialog") ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

interface CopyProps {
  /** The text, or a function that makes or fetches it. Undefined copies nothing. */
  readonly text: string | (() => Promise<string | undefined> | string | undefined);
  /** @defaultValue `"Copy"` */
  readonly label?: string;
  /** Shows only an icon. */
  readonly icon?: boolean;
  readonly kind?: "primary" | "plain" | "ghost";
  readonly compact?: boolean;
}

type State = "ready" | "done" | "failed";

/** A button that copies and then says "Copied". */
export function CopyButton({ text, label = "Copy", icon, kind, compact }: CopyProps) {
  const [state, setState] = useState<State>("ready");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const act = async (): Promise<void> => {
    const value = typeof text === "function" ? await text() : text;
    if (value === undefined) return;
    setState((await copyText(value)) ? "done" : "failed");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState("ready"), feedbackMs);
  };
  const said = state === "ready" ? "" : state === "done" ? "Copied" : "Can't copy";
  const picture = state === "done" ? "check" : "copy";
  return (
    <>
      {icon ? (
        <IconButton icon={picture} label={said || label} compact={compact ?? true} onClick={act} />
      ) : (
        <Button icon={picture} kind={kind} compact={compact} onClick={act}>
          {said || label}
        </Button>
      )}
      <span class="unseen" role="status">
        {said}
      </span>
    </>
  );
}

/** A value with a button that copies it. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="copyable">
      <code dir="ltr" title={text}>
        {text}
      </code>
      <CopyButton text={text} label={label} icon />
    </div>
  );
}
