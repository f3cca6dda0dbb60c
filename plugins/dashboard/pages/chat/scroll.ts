/** Keeps a growing list at its end while the reader is there. @module */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The reader is at the end within this many pixels. */
const nearEnd = 60;

/** Positions by conversation; undefined is the end. */
const positions = new Map<string, number | undefined>();

/**
 * Follows the end of the content, keeps what is visible in place when older content is added above,
 * and returns to the last position of each conversation.
 *
 * @param name - The conversation.
 * @param first - Key of the first row, which changes when rows are added above.
 */
export function useStickyScroll(name: string, first: string | undefined) {
  /** The scrolling element. */
  const box = useRef<HTMLDivElement>(null);
  /** Its content, whose growth is followed. */
  const content = useRef<HTMLDivElement>(null);
  const isStuck = useRef(true);
  const shape = useRef({ name, first, height: 0 });
  /** True if the reader has scrolled away from the end. */
  const [isAway, setAway] = useState(false);

  const toEnd = (): void => {
    const element = box.current;
    // A button that is being pressed must not move.
    if (element && !element.querySelector(".question button:active"))
      element.scrollTop = element.scrollHeight;
  };
  const onScroll = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = box.current!;
    isStuck.current = scrollHeight - scrollTop - clientHeight < nearEnd;
    positions.set(name, isStuck.current ? undefined : scrollTop);
    setAway(!isStuck.current);
  };

  useLayoutEffect(() => {
    const element = box.current!;
    const before = shape.current;
    const position = positions.get(name);
    if (before.name !== name) {
      isStuck.current = position === undefined;
      setAway(!isStuck.current);
      if (position !== undefined) element.scrollTop = position;
    } else if (before.first !== first && before.first !== undefined && !isStuck.current)
      element.scrollTop += element.scrollHeight - before.height;
    if (isStuck.current) toEnd();
    shape.current = { name, first, height: element.scrollHeight };
  });
  useEffect(() => {
    // Images and folded parts grow without a new drawing.
    const observer = new ResizeObserver(() => {
      if (isStuck.current) toEnd();
      shape.current.height = box.current?.scrollHeight ?? 0;
    });
    for (const element of [box.current, content.current]) if (element) observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return {
    box,
    content,
    isAway,
    onScroll,
    toEnd(): void {
      isStuck.current = true;
      setAway(false);
      toEnd();
    },
  };
}
