/** Parts of a page that the server draws and the browser loads after the page. @module */
import { options, type ComponentChildren, type ComponentType, type JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { hydration } from "./hydration.ts";
import type { Later } from "./later.ts";
import { reportReady, waitingAttribute } from "./readiness.ts";

interface PartProps<P> {
  /** A component that draws one element. */
  readonly of: Pick<Later<ComponentType<P>>, "module">;
  readonly props: P;
}

/**
 * Draws a part of the page. Until its code is loaded, the part of the server stays; clicks on it
 * are repeated afterwards. A part that the server has not drawn appears once its code is loaded.
 */
export function Part<P extends object>(part: PartProps<P>): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const end = (): void => {
    box.current!.removeAttribute(waitingAttribute);
    reportReady();
  };
  return (
    <div class="part" ref={box} {...{ [waitingAttribute]: "" }}>
      <Drawing {...part} onDrawn={end} />
    </div>
  );
}

/**
 * Thrown instead of drawing. While hydrating, Preact keeps the elements of a component that throws
 * an object with `then`, and takes them over when the component draws again.
 */
const unloaded = { then: () => undefined };

type HandleError = (error: unknown, ...details: unknown[]) => void;

/** Name of the error hook in the built package. `Suspense` of Preact uses it too. */
const errorHook = "__e";
const hooks = options as Record<typeof errorHook, HandleError>;
const handleError = hooks[errorHook];
hooks[errorHook] = (error, ...details) => {
  if (error !== unloaded) handleError(error, ...details);
};

type DrawingProps<P> = PartProps<P> & { readonly onDrawn: () => void };

function Drawing<P extends object>({ of, props, onDrawn }: DrawingProps<P>): JSX.Element | null {
  const [isDrawn] = useState(hydration.isRunning);
  const Loaded = of.module.value;
  if (Loaded)
    return (
      <Drawn onDrawn={onDrawn}>
        <Loaded {...props} />
      </Drawn>
    );
  if (isDrawn) throw unloaded;
  return null;
}

interface DrawnProps {
  readonly onDrawn: () => void;
  readonly children: ComponentChildren;
}

/** Reports the drawing before the next event: a click must not count as early and as handled. */
function Drawn({ onDrawn, children }: DrawnProps): JSX.Element {
  useLayoutEffect(onDrawn, []);
  return <>{children}</>;
}
