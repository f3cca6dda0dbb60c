/** Addresses and facts of this dashboard that components need. @module */
import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** `system`: the page follows the theme of the browser. */
export type Theme = "system" | "light" | "dark";

/** Facts in every document. They contain no token. */
export interface SiteFacts {
  /** Base path, without a slash at its end. */
  readonly base: string;
  /** Path of the built files, with the base path. */
  readonly assets: string;
  readonly version: string;
  /** Name of the machine or site, shown below the product name. */
  readonly host: string;
  readonly theme: Theme;
  /** CSRF value of the sign-out form. */
  readonly csrf: string;
  /** Path of the current entry of the navigation. */
  readonly route: string;
  /** The page registers the worker, and browsers may install it. */
  readonly isInstallable?: boolean;
  /** The server sends notifications, unless a page is in sight. */
  readonly notifies?: boolean;
  /** Title of the page, without the product name. */
  readonly title: string;
}

/** Provides the facts to all components of a document. */
export const SiteContext = createContext<SiteFacts | undefined>(undefined);

interface Site extends SiteFacts {
  /** Adds the base path. Every link, form action and request path needs it. */
  url(path: string): string;
  /** @returns The address of a built file, for example `icon.svg`. */
  asset(name: string): string;
}

export function useSite(): Site {
  const facts = useContext(SiteContext)!;
  return {
    ...facts,
    url: (path) => facts.base + path,
    asset: (name) => `${facts.assets}/${name}`,
  };
}
