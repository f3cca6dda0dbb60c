/** The layers above the page: toasts, and dialogs, whose code loads after the page. @module */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { onDemand } from "../live/on-demand.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { toasts, type Toast } from "./toasts.ts";

const useDialogs = onDemand(() => import("./dialog-layers.tsx"));

export function Layers(): JSX.Element {
  const dialogs = useDialogs();
  return (
    <>
      <Toasts />
      {dialogs && <dialogs.DialogLayers />}
    </>
  );
}

const shownMs = 4000;
const shownWithActionMs = 8000;

function dismissToast(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** @returns Milliseconds until a toast goes, or undefined if it stays. */
function toastTime({ tone, action }: Toast): number | undefined {
  if (tone === "bad") return undefined;
  return action ? shownWithActionMs : shownMs;
}

function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((one) => (
        <ToastRow key={one.id} toast={one} />
      ))}
    </div>
  );
}

/** A toast whose time stops while the pointer or the focus is on it. */
function ToastRow({ toast: shown }: { readonly toast: Toast }): JSX.Element {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const stop = (): void => clearTimeout(timer.current);
  const start = (): void => {
    stop();
    const time = toastTime(shown);
    if (time !== undefined) timer.current = setTimeout(() => dismissToast(shown.id), time);
  };
  useEffect(() => {
    start();
    return stop;
  }, []);
  const { text, tone = "ok", action, id } = shown;
  return (
    <div
      class="toast"
      onPointerEnter={stop}
      onPointerLeave={start}
      onFocusIn={stop}
      onFocusOut={start}
    >
      <Icon name={tone === "ok" ? "circle-check" : "circle-x"} tone={tone} />
      <span class="grow">{text}</span>
      {action && (
        <Button
          compact
          onClick={() => {
            dismissToast(id);
            action.act();
          }}
        >
          {action.name}
        </Button>
      )}
      <IconButton icon="x" label="Dismiss" compact onClick={() => dismissToast(id)} />
    </div>
  );
}
