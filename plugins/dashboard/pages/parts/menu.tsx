/** A menu that a button opens. @module */
import { useId, useRef, useState } from "preact/hooks";
import { onDemand } from "../live/on-demand.ts";
import { IconButton } from "./button.tsx";
import type { MenuItem } from "./menu-list.tsx";

interface MenuProps {
  readonly label: string;
  /** @defaultValue `"ellipsis"` */
  readonly icon?: string;
  readonly compact?: boolean;
  readonly items: readonly MenuItem[];
}

const useList = onDemand(() => import("./menu-list.tsx"));

/** Opens below its button, or above it where the window ends. Arrow keys move, Esc returns. */
export function Menu({ label, icon = "ellipsis", compact, items }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const anchor = useRef<HTMLSpanElement>(null);
  const list = useList();
  const found = isOpen ? list : undefined;
  return (
    <span class="anchor" ref={anchor}>
      <IconButton
        icon={icon}
        label={label}
        compact={compact}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={found ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      />
      {found && (
        <found.MenuList
          id={id}
          label={label}
          items={items}
          anchor={anchor}
          close={() => setOpen(false)}
        />
      )}
    </span>
  );
}
