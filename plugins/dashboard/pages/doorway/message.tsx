/** Shows an error of the server as a page. @module */
import type { JSX } from "preact";
import { useSite } from "../site.tsx";
import { Doorway } from "./parts.tsx";

export interface MessageData {
  readonly text: string;
  /** Command or setting that fixes the problem. */
  readonly hint?: string;
}

/**
 * The page is readable without its style sheets, since the server sends no files to an unknown host
 * name.
 */
export function MessagePage({ data: { text, hint } }: { readonly data: MessageData }): JSX.Element {
  const { url } = useSite();
  return (
    <Doorway>
      <p class="lead">{text}</p>
      {hint !== undefined && <p class="fix">{hint}</p>}
      <p class="aside">
        <a href={url("/")}>Go to the dashboard</a>
      </p>
    </Doorway>
  );
}
