/** The layers above the page: toasts, and dialogs, whose code loads after the page. @module */
import type { ComponentType, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { dismissToast, toasts, toastTime, type Toast } from "./toasts.ts";

const retryMs = 2000;

/** Draws all layers. */
export function Layers(): JSX.Element {
  const [found, setFound] = useState<{ readonly Dialogs: ComponentType }>();
  useEffect(() => {
    // Loaded now and not with the first dialog: by then, the server may have newer files.
    const load = (): void =>
      void import("./dialog-layers.tsx").then(
        ({ DialogLayers }) => setFound({ Dialogs: DialogLayers }),
        () => setTimeout(load, retryMs),
      );
    load();
  }, []);
  return (
    <>
      <Toasts />
      {found && <found.Dialogs />}
    </>
  );
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
