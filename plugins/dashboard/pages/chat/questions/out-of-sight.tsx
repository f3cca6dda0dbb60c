/** Open questions that the reader does not see, and the bar that leads to them. @module */
import { signal } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";

/** The cards, oldest first. */
const hidden = signal<readonly HTMLElement[]>([]);
/** A card is in sight if this much of it is. */
const margin = "-48px 0px";

/** Notes whether an open card is in sight. */
export function useSight(box: RefObject<HTMLElement | null>, isOpen: boolean): void {
  useEffect(() => {
    const card = box.current;
    if (!card || !isOpen) return;
    const note = (isHidden: boolean): void => {
      const others = hidden.peek().filter((other) => other !== card);
      hidden.value = isHidden ? [...others, card] : others;
    };
    const observer = new IntersectionObserver(
      (entries) => note(entries.at(-1)?.isIntersecting === false),
      { root: card.closest(".log"), rootMargin: margin },
    );
    observer.observe(card);
    return () => {
      observer.disconnect();
      note(false);
    };
  }, [isOpen]);
}

/** Shows a card, and moves the keyboard to it, never to one of its buttons. */
export function showCard(card: HTMLElement | undefined): void {
  card?.scrollIntoView({ block: "nearest" });
  card?.focus({ preventScroll: true });
}

export function OutOfSightBar(): JSX.Element | null {
  const count = hidden.value.length;
  if (count === 0) return null;
  return (
    <div class="earlier asking">
      <Icon name="message-square" small />
      <span class="grow">
        {count === 1 ? "A question waits for your answer." : `${count} questions wait for you.`}
      </span>
      <Button compact onClick={() => showCard(hidden.peek()[0])}>
        Show
      </Button>
    </div>
  );
}
