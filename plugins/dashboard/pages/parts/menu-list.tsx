/** The open list of a menu. @module */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** An entry of a menu; `"-"` separates groups. Dangerous entries come last. */
export type MenuItem =
  | "-"
  | {
      readonly name: string;
      readonly icon: string;
      readonly danger?: boolean;
      /** A link with the base path, instead of `act`. */
      readonly href?: string;
      readonly act?: () => unknown;
    };

interface MenuListProps {
  readonly id: string;
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** The button and this list. */
  readonly anchor: RefObject<HTMLSpanElement | null>;
  readonly close: () => void;
}

const gap = 4;
const margin = 8;

export function MenuList({ id, label, items, anchor, close }: MenuListProps) {
  const box = useRef<HTMLDivElement>(null);
  const entries = (): HTMLElement[] => [
    ...(box.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? []),
  ];
  const returnToButton = (): void => {
    close();
    anchor.current?.querySelector("button")?.focus();
  };
  useLayoutEffect(() => {
    place(box.current!, anchor.current!.getBoundingClientRect());
    entries()[0]?.focus();
  }, []);
  useEffect(() => {
    const away = (event: Event): void => {
      if (!anchor.current?.contains(event.target as Node)) close();
    };
    const follow = (): void => {
      if (box.current && anchor.current) place(box.current, anchor.current.getBoundingClientRect());
    };
    addEventListener("pointerdown", away);
    addEventListener("scroll", follow, true);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("scroll", follow, true);
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Tab") return close();
    if (event.key === "Escape") {
      event.stopPropagation();
      event.preventDefault();
      return returnToButton();
    }
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    all[(next + all.length) % all.length]?.focus();
  };
  const choose = (act: (() => unknown) | undefined): void => {
    returnToButton();
    act?.();
  };
  return (
    <div class="menu" role="menu" id={id} aria-label={label} ref={box} onKeyDown={onKeyDown}>
      {items.map((item, at) => (
        <Entry key={at} item={item} choose={choose} />
      ))}
    </div>
  );
}

interface EntryProps {
  readonly item: MenuItem;
  readonly choose: (act: (() => unknown) | undefined) => void;
}

function Entry({ item, choose }: EntryProps) {
  if (item === "-") return <hr />;
  const kind = item.danger ? "danger" : "";
  const content = (
    <>
      <Icon name={item.icon} small />
      {item.name}
    </>
  );
  if (item.href !== undefined) {
    return (
      <a href={item.href} role="menuitem" class={kind}>
        {content}
      </a>
    );
  }
  return (
    <button type="button" role="menuitem" class={kind} onClick={() => choose(item.act)}>
      {content}
    </button>
  );
}

/** Places the menu in the window, since its parents may cut off what is outside them. */
function place(menu: HTMLElement, button: DOMRect): void {
  const { width, height } = menu.getBoundingClientRect();
  const isMirrored = getComputedStyle(menu).direction === "rtl";
  const below = button.bottom + gap;
  const top = below + height > innerHeight ? Math.max(margin, button.top - height - gap) : below;
  const left = isMirrored ? button.left : button.right - width;
  menu.style.top = `${top}px`;
  menu.style.left = `${Math.max(margin, Math.min(innerWidth - width - margin, left))}px`;
}
