/** Searches of the command palette: pages, actions, conversations, settings, headings. @module */
import { useEffect, useState } from "preact/hooks";
import type {
  ConversationsView,
  ConversationSummary,
  SearchView,
} from "../../shared/conversation-views.ts";
import type { SettingsView } from "../../shared/views.ts";
import { findSections, type SearchEntry, wordsOf } from "../docs/search.ts";
import { sendRequest, type ApiResult } from "../live/api.ts";
import { base } from "../live/base.ts";
import { settingsOf } from "../settings/form.ts";
import { openLayer } from "./layer-state.ts";
import { helpPages, mainPages } from "./navigation.ts";
import { setTheme } from "./theme.ts";

/** A result of the palette. */
export interface Choice {
  readonly group: string;
  readonly name: string;
  /** More about it, for example the page of a heading. */
  readonly detail?: string;
  readonly icon: string;
  /** Path with the base path, or what the choice does. */
  readonly to: string | (() => unknown);
}

const searchDelayMs = 200;
/** Results of each kind that a request finds. */
const maxFound = 6;

/** @returns Every page and action. */
export function fixedChoices(): readonly Choice[] {
  const go = (path: string): string => base() + path;
  return [
    ...[...mainPages, ...helpPages].map(({ name, icon, path }) => ({
      group: "Go to",
      name,
      icon,
      to: go(path),
    })),
    { group: "Actions", name: "New conversation", icon: "plus", to: go("/chat/new") },
    { group: "Actions", name: "Connect a client", icon: "plug", to: go("/clients") },
    ...(["light", "dark", "system"] as const).map((theme) => ({
      group: "Actions",
      name: theme === "system" ? "Use the theme of the system" : `Use the ${theme} theme`,
      icon: theme === "light" ? "sun" : theme === "dark" ? "moon" : "monitor",
      to: () => setTheme(theme),
    })),
    {
      group: "Actions",
      name: "Keyboard shortcuts",
      icon: "keyboard",
      to: () => openLayer("shortcuts"),
    },
  ];
}

/** @returns True if each word is in the text. */
export function containsWords(text: string, query: string): boolean {
  const whole = text.toLowerCase();
  return wordsOf(query).every((word) => whole.includes(word));
}

type Found = readonly Choice[] | undefined;
const bodyOf = <T>(answer: ApiResult<T>): T | undefined =>
  "body" in answer ? answer.body : undefined;

/** True unless the service lacks what was asked for, as a store without a search. */
const hasFailed = <T>(answer: ApiResult<T>): boolean =>
  "error" in answer && (answer.error.status === 0 || answer.error.status >= 500);

/** @returns Conversations by title, then by text. Undefined if a request fails. */
async function findConversations(query: string): Promise<Found> {
  const words = encodeURIComponent(query);
  const [listed, searched] = await Promise.all([
    sendRequest<ConversationsView>("GET", `/api/conversations?limit=5&query=${words}`),
    sendRequest<SearchView>("GET", `/api/conversations/search?limit=5&q=${words}`),
  ]);
  if (hasFailed(listed) || hasFailed(searched)) return undefined;
  const all: readonly ConversationSummary[] = [
    ...(bodyOf(listed)?.conversations ?? []),
    ...(bodyOf(searched)?.hits ?? []).map(({ conversation }) => conversation),
  ];
  return [...new Map(all.map((one) => [one.id, one])).values()]
    .slice(0, maxFound)
    .map(({ id, title }) => ({
      group: "Conversations",
      name: title || "Untitled conversation",
      icon: "message-square",
      to: `${base()}/chat/${encodeURIComponent(id)}`,
    }));
}

/** Loads something with the first search; after a failure again with the next one. */
function once<T>(path: string): () => Promise<T | undefined> {
  let loaded: T | undefined;
  return async () => (loaded ??= bodyOf(await sendRequest<T>("GET", path)));
}

const loadSettings = once<SettingsView>("/api/settings");
const loadHeadings = once<readonly SearchEntry[]>("/docs/search.json");

/** @returns Settings whose name or key contains the words. */
async function findSettings(query: string): Promise<Found> {
  const view = await loadSettings();
  return (
    view &&
    settingsOf(view.sections)
      .filter(({ name, key }) => containsWords(`${name} ${key}`, query))
      .slice(0, maxFound)
      .map(({ name, key, id, group }) => ({
        group: "Settings",
        name,
        detail: key,
        icon: "settings",
        to: `${base()}/settings/${group}#${id}`,
      }))
  );
}

/** @returns Headings of the documentation that contain the words. */
async function findHeadings(query: string): Promise<Found> {
  const index = await loadHeadings();
  if (!index) return undefined;
  return findSections(index, query)
    .filter(({ heading }) => containsWords(heading, query))
    .slice(0, maxFound)
    .map(({ page, id, heading, title }) => ({
      group: "Documentation",
      name: heading,
      ...(title !== undefined && { detail: title }),
      icon: "book-open",
      to: `${base()}/docs/${page}${id === "" ? "" : `#${id}`}`,
    }));
}

interface Search {
  readonly found: readonly Choice[];
  /** True if a request has failed. */
  readonly isPartial: boolean;
  /** True until the results of the latest words are there. */
  readonly isBusy: boolean;
}

const nothing: Search = { found: [], isPartial: false, isBusy: false };

/** Searches what the page does not contain. Without words it finds nothing. */
export function useSearch(query: string): Search {
  const [search, setSearch] = useState(nothing);
  useEffect(() => {
    let isCurrent = true;
    if (query === "") {
      setSearch(nothing);
      return;
    }
    setSearch((before) => ({ ...before, isBusy: true }));
    const timer = setTimeout(async () => {
      const all = await Promise.all([
        findConversations(query),
        findSettings(query),
        findHeadings(query),
      ]);
      if (!isCurrent) return;
      setSearch({
        found: all.flatMap((one) => one ?? []),
        isPartial: all.includes(undefined),
        isBusy: false,
      });
    }, searchDelayMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [query]);
  return search;
}
