/** Keeps a growing list at its end until the reader moves away. @module */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** A reader who moves down to this distance wants the end. */
const nearEnd = 60;
/** Frames until an input has moved the content, if it moves it at all. */
const inputFrames = 3;

/** Positions by conversation; undefined is the end. */
const positions = new Map<string, number | undefined>();

const upKeys: readonly string[] = ["ArrowUp", "PageUp", "Home"];

/** The content of the list. */
interface ScrollShape {
  /** The conversation. */
  readonly name: string;
  /** Key of the first row, which changes when rows are added above. */
  readonly first: string | undefined;
  /** Messages that this page has sent: the reader wants to see a new one. */
  readonly sent: number;
}

const distanceOf = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement): number =>
  scrollHeight - scrollTop - clientHeight;

/**
 * Calls `hold` while the reader presses or moves something in the element, and `release` when the
 * content has had the time to move.
 */
function watchInput(element: HTMLElement, hold: () => void, release: () => void): () => void {
  const stop = new AbortController();
  const listen = <K extends keyof HTMLElementEventMap>(
    target: HTMLElement | Window,
    types: readonly K[],
    act: (event: HTMLElementEventMap[K]) => void,
  ): void => {
    const options = { signal: stop.signal, passive: true };
    for (const type of types) target.addEventListener(type, act as EventListener, options);
  };
  let frame = 0;
  let isPressed = false;
  const releaseAfter = (frames: number): void => {
    cancelAnimationFrame(frame);
    if (stop.signal.aborted || isPressed) return;
    if (frames === 0) release();
    else frame = requestAnimationFrame(() => releaseAfter(frames - 1));
  };
  const press = (): void => {
    isPressed = true;
    hold();
  };
  const lift = (): void => {
    if (!isPressed) return;
    isPressed = false;
    releaseAfter(inputFrames);
  };
  const move = (): void => {
    hold();
    releaseAfter(inputFrames);
  };
  listen(element, ["mousedown", "touchstart"], press);
  listen(window, ["mouseup", "touchend", "touchcancel", "dragend", "blur"], lift);
  listen(element, ["wheel"], ({ deltaY }) => deltaY < 0 && move());
  listen(element, ["keydown"], ({ key, shiftKey }) => {
    if (upKeys.includes(key) || (key === " " && shiftKey)) move();
  });
  return () => stop.abort();
}

/**
 * Follows the end of the content, keeps what is visible in place when older content is added above,
 * and returns to the last position of each conversation. Only a movement that the page did not make
 * ends the following, however short it is.
 */
export function useStickyScroll({ name, first, sent }: ScrollShape) {
  /** The scrolling element. */
  const box = useRef<HTMLDivElement>(null);
  /** Its content, whose growth is followed. */
  const content = useRef<HTMLDivElement>(null);
  const isStuck = useRef(true);
  /** True while an input of the reader may be about to move the content. */
  const isHeld = useRef(false);
  /** The last known position. */
  const top = useRef(0);
  const shape = useRef({ name, first, sent, height: 0 });
  /** True if the reader has scrolled away from the end. */
  const [isAway, setAway] = useState(false);

  const moveTo = (position: number): void => {
    const element = box.current!;
    element.scrollTop = position;
    top.current = element.scrollTop;
  };
  const follow = (): void => {
    if (box.current && isStuck.current && !isHeld.current) moveTo(box.current.scrollHeight);
  };
  const stick = (isAtEnd: boolean): void => {
    isStuck.current = isAtEnd;
    setAway(!isAtEnd);
  };
  const onScroll = (): void => {
    const element = box.current!;
    const { scrollTop } = element;
    const distance = distanceOf(element);
    // A shorter content or a higher window moves the content, and its end stays in view.
    if (scrollTop < top.current && distance > 1) stick(false);
    else if (scrollTop > top.current && distance < nearEnd) stick(true);
    top.current = scrollTop;
    positions.set(name, isStuck.current ? undefined : scrollTop);
  };

  useLayoutEffect(() => {
    const element = box.current!;
    const before = shape.current;
    const position = positions.get(name);
    if (before.name !== name) {
      stick(position === undefined);
      if (position !== undefined) moveTo(position);
    } else if (before.sent !== sent) stick(true);
    else if (before.first !== first && before.first !== undefined && !isStuck.current)
      moveTo(element.scrollTop + element.scrollHeight - before.height);
    follow();
    shape.current = { name, first, sent, height: element.scrollHeight };
  });
  useEffect(() => {
    // Images and folded parts grow without a new drawing.
    const observer = new ResizeObserver(() => {
      follow();
      shape.current.height = box.current?.scrollHeight ?? 0;
    });
    for (const element of [box.current, content.current]) if (element) observer.observe(element);
    const release = (): void => {
      isHeld.current = false;
      follow();
    };
    const stop = watchInput(box.current!, () => (isHeld.current = true), release);
    return () => {
      observer.disconnect();
      stop();
    };
  }, []);
  return {
    box,
    content,
    isAway,
    onScroll,
    toEnd(): void {
      stick(true);
      follow();
    },
  };
}
