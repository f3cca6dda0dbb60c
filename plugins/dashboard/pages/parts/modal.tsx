/** A modal dialog of the browser. @module */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface ModalProps {
  /** Name of the dialog. Its heading should say the same. */
  readonly label: string;
  readonly onClose: () => void;
  /** Class of the dialog, for example `wide`. */
  readonly kind?: string;
  /** True if Esc and a click outside the dialog do not close it. */
  readonly keep?: boolean | undefined;
  readonly children: ComponentChildren;
}

/** Opens when it is rendered. Afterwards the focus returns to the previous element. */
export function Modal({ label, onClose, kind = "", keep, children }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const isShown = useRef(true);
  useLayoutEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement;
    if (!dialog.open) dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => {
      isShown.current = false;
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={kind}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        if (!keep) onClose();
      }}
      onClose={() => {
        // Chromium closes a dialog at the second Esc, whatever the page says.
        if (!isShown.current) return;
        if (keep) ref.current?.showModal();
        else onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === ref.current && !keep) onClose();
      }}
    >
      {children}
    </dialog>
  );
}
