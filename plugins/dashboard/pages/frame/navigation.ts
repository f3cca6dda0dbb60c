/** The pages of the navigation. @module */

/** An entry of the navigation. */
export interface PageLink {
  /** Path without the base path. */
  readonly path: string;
  readonly name: string;
  readonly icon: string;
  /** Second key of its shortcut, after `g`. */
  readonly key?: string;
}

/** Pages of the rail; phones show the first four in the bar at the bottom. */
export const mainPages: readonly PageLink[] = [
  { path: "/chat", name: "Chat", icon: "messages-square", key: "c" },
  { path: "/overview", name: "Overview", icon: "gauge", key: "o" },
  { path: "/clients", name: "Clients", icon: "plug", key: "l" },
  { path: "/activity", name: "Activity", icon: "scroll-text", key: "a" },
  { path: "/security", name: "Security", icon: "shield-check", key: "y" },
  { path: "/settings", name: "Settings", icon: "settings", key: "s" },
];

/** Pages below the heading "Help". */
export const helpPages: readonly PageLink[] = [
  { path: "/doctor", name: "Doctor", icon: "stethoscope", key: "d" },
  { path: "/docs", name: "Documentation", icon: "book-open" },
];

/** Number of pages in the bar at the bottom of phones. */
export const barPages = 4;
