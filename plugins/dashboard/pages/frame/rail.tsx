/** The frame of every page: rail, bars of phones, live state. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon, Mark } from "../parts/icon.tsx";
import { Segment } from "../parts/segment.tsx";
import { liveState, pageStream } from "../live/stream.ts";
import { useSite, type Theme } from "../site.tsx";
import { counts } from "./counts.ts";
import { openLayer } from "./layer-state.ts";
import { barPages, helpPages, mainPages, type PageLink } from "./navigation.ts";
import { signOut } from "./sign-out.ts";
import { setTheme, theme } from "./theme.ts";

const themes: readonly { value: Theme; name: string; icon: string }[] = [
  { value: "system", name: "Same as the system", icon: "monitor" },
  { value: "light", name: "Light", icon: "sun" },
  { value: "dark", name: "Dark", icon: "moon" },
];

/** The choice among the themes. */
export function ThemeSegment(): JSX.Element {
  const site = useSite();
  const isServer = typeof document === "undefined";
  const value = isServer ? site.theme : theme.value;
  return <Segment label="Theme" value={value} options={themes} onChange={setTheme} icons />;
}

/** A form, so that it also works without JavaScript. */
export function SignOut({ full }: { readonly full?: boolean }): JSX.Element {
  const { url, csrf } = useSite();
  return (
    <form method="post" action={url("/logout")} onSubmit={signOut}>
      <input type="hidden" name="csrf" value={csrf} />
      {full ? (
        <Button type="submit" icon="log-out" block>
          Sign out
        </Button>
      ) : (
        <IconButton type="submit" icon="log-out" label="Sign out" compact flip />
      )}
    </form>
  );
}

const liveTexts = {
  connecting: ["Connecting…", "off"],
  live: ["Live", "ok"],
  reconnecting: ["Reconnecting…", "warn"],
  paused: ["Live updates paused", "warn"],
  "signed-out": ["Signed out", "warn"],
} as const;

/** State of the live updates, and the button that resumes them. */
function LiveState(): JSX.Element {
  const state = liveState.value;
  const [text, tone] = liveTexts[state];
  const action = state === "paused" ? "Resume" : state === "signed-out" ? "Sign in" : undefined;
  return (
    <div class="live" data-state={state}>
      <i class={`dot ${tone}`} />
      <span class="state" role="status">
        {text}
      </span>
      {action !== undefined && (
        <button type="button" class="link" onClick={() => pageStream.resume()}>
          {action}
        </button>
      )}
    </div>
  );
}

/** Path of a page -> what it counts, and the colour. */
const countTexts: Readonly<Record<string, readonly [keyof typeof counts.value, string, string]>> = {
  "/overview": ["questions", "open questions", "count warn"],
  "/chat": ["unread", "unread", "count"],
  "/doctor": ["findings", "findings", "count warn"],
};

function Count({ page }: { readonly page: PageLink }): JSX.Element | null {
  const [name, text, kind] = countTexts[page.path] ?? [];
  const count = name === undefined ? 0 : counts.value[name];
  if (count === 0) return null;
  return (
    <span class={kind}>
      <span class="unseen">, {text}: </span>
      {count > 99 ? "99+" : count}
    </span>
  );
}

function NavLink({ page }: { readonly page: PageLink }): JSX.Element {
  const { url, route } = useSite();
  return (
    <li>
      <a
        href={url(page.path)}
        aria-current={route === page.path ? "page" : undefined}
        title={page.name}
      >
        <Icon name={page.icon} />
        <span>{page.name}</span>
        <Count page={page} />
      </a>
    </li>
  );
}

/** "Ctrl" or "⌘", known once the page is in use. */
export function useModifier(): string {
  const [key, setKey] = useState("Ctrl");
  useEffect(() => setKey(/mac|iphone|ipad/i.test(navigator.platform) ? "⌘" : "Ctrl"), []);
  return key;
}

/** Navigation at the start side: a sidebar, or a rail of icons on narrow windows. */
export function Rail(): JSX.Element {
  const { url, host, version } = useSite();
  const modifier = useModifier();
  return (
    <>
      <a class="brand" href={url("/overview")}>
        <Mark />
        <span>
          Doorward <small>{host}</small>
        </span>
      </a>
      <button
        type="button"
        class="jump scripted"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => openLayer("palette")}
      >
        <Icon name="search" small />
        <span>Search</span>
        <kbd>{modifier} K</kbd>
      </button>
      <nav aria-label="Main">
        <ul>
          {mainPages.map((page) => (
            <NavLink key={page.path} page={page} />
          ))}
        </ul>
      </nav>
      <nav aria-label="Help">
        <h2>Help</h2>
        <ul>
          {helpPages.map((page) => (
            <NavLink key={page.path} page={page} />
          ))}
        </ul>
      </nav>
      <div class="rail-foot">
        <div class="status-line">
          <span class="scripted">
            <LiveState />
          </span>
          <span class="version">Doorward {version}</span>
        </div>
        <div class="row">
          <span class="scripted">
            <ThemeSegment />
          </span>
          <SignOut />
        </div>
      </div>
    </>
  );
}

/** Bar at the top of phones. It has the heading of the page. */
export function TopBar(): JSX.Element {
  const { title } = useSite();
  return (
    <>
      <Mark size={24} />
      <h1>{title}</h1>
      <NarrowLiveState />
      <span class="scripted">
        <IconButton icon="search" label="Search or jump to" onClick={() => openLayer("palette")} />
      </span>
    </>
  );
}

/** The live state where the rail is hidden, unless all is well. */
function NarrowLiveState(): JSX.Element | null {
  const [isNarrow, setNarrow] = useState(false);
  useEffect(() => {
    const query = matchMedia("(max-width: 47.99rem)");
    const change = (): void => setNarrow(query.matches);
    change();
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  const isWell = liveState.value === "live" || liveState.value === "connecting";
  return isNarrow && !isWell ? <LiveState /> : null;
}

/** Bar at the bottom of phones. */
export function BottomBar(): JSX.Element {
  const { route } = useSite();
  const inMore = !mainPages.slice(0, barPages).some(({ path }) => path === route);
  return (
    <ul>
      {mainPages.slice(0, barPages).map((page) => (
        <NavLink key={page.path} page={page} />
      ))}
      <li>
        <button
          type="button"
          aria-haspopup="dialog"
          aria-current={inMore ? "true" : undefined}
          onClick={() => openLayer("more")}
        >
          <Icon name="menu" />
          <span>More</span>
        </button>
      </li>
    </ul>
  );
}
