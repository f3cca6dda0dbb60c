/** Short confirmations at the end corner of the page. @module */
import { signal } from "@preact/signals";

interface ToastText {
  readonly text: string;
  /** Failures stay until they are dismissed. @defaultValue `"ok"` */
  readonly tone?: "ok" | "bad";
  readonly action?: { readonly name: string; readonly act: () => unknown };
}
export interface Toast extends ToastText {
  readonly id: number;
}

let count = 0;

/** The toasts on the page, oldest first. */
export const toasts = signal<readonly Toast[]>([]);

/** Shows a toast. It is never the only place of an error. */
export function toast(text: ToastText): void {
  toasts.value = [...toasts.value.slice(-3), { ...text, id: ++count }];
}
