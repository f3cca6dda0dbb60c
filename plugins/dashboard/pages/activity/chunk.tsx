/** Draws neighbouring lines only while they are near the visible part of the list. @module */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface ChunkProps {
  /** False draws the lines always. */
  readonly isVirtual: boolean;
  readonly count: number;
  /** True if a line in it is open. It then stays, so that its content is not drawn again. */
  readonly isKept: boolean;
  readonly children: () => ComponentChildren;
}

/** Height of a closed line on a wide page. */
const lineHeightPx = 31;
/** Distance to the visible part at which lines are drawn. */
const margin = "1200px 0px";

export function Chunk({ isVirtual, count, isKept, children }: ChunkProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(!isVirtual);
  const height = useRef(0);
  useLayoutEffect(() => {
    if (!isVirtual || !box.current) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry) return;
        if (!entry.isIntersecting) height.current = entry.boundingClientRect.height;
        setNear(entry.isIntersecting);
      },
      { root: box.current.closest(".lines"), rootMargin: margin },
    );
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isVirtual]);
  const isDrawn = !isVirtual || isNear || isKept;
  useLayoutEffect(() => {
    const reserved = height.current || count * lineHeightPx;
    box.current!.style.height = isDrawn ? "" : `${reserved}px`;
  }, [isDrawn, count]);
  return <div ref={box}>{isDrawn && children()}</div>;
}
