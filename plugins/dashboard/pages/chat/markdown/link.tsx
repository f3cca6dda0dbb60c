/** A link inside a text. @module */
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useContext } from "preact/hooks";
import { safeHref } from "./links.ts";

/** True where links are text, with their address behind their words. */
export const InertLinks = createContext(false);

interface LinkProps {
  readonly href: string;
  readonly children: ComponentChildren;
}

/** A link to another page opens a new tab. Other addresses are text. */
export function Link({ href, children }: LinkProps): JSX.Element {
  const isInert = useContext(InertLinks);
  const safe = safeHref(href);
  if (isInert)
    return (
      <span>
        {children} ({href})
      </span>
    );
  if (safe === undefined) return <span>{children}</span>;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
