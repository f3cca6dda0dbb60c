/** The command palette: finds pages, conversations and actions. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type {
  ConversationsView,
  ConversationSummary,
  SearchView,
} from "../../api/conversation-views.ts";
import { Icon } from "../parts/icon.tsx";
import { Modal } from "../parts/modal.tsx";
import { sendRequest } from "../live/api.ts";
import { useSite } from "../site.tsx";
import { closeLayer, openLayer } from "./layer-state.ts";
import { helpPages, mainPages } from "./navigation.ts";
import { readRecent, rememberChoice } from "./palette-recent.ts";
import { setTheme } from "./theme.ts";

interface Choice {
  readonly group: string;
  readonly name: string;
  readonly icon: string;
  /** Path with the base path, or what the choice does. */
  readonly to: string | (() => unknown);
}

const searchDelayMs = 200;
const maxRecent = 5;

/** Every page and action. */
function useChoices(): readonly Choice[] {
  const { url } = useSite();
  const pages = [...mainPages, ...helpPages].map(({ name, icon, path }) => ({
    group: "Go to",
    name,
    icon,
    to: url(path),
  }));
  return [
    ...pages,
    { group: "Actions", name: "New conversation", icon: "plus", to: url("/chat/new") },
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

/** @returns Conversations by title, then by text. Empty if there are none or a request fails. */
async function findConversations(query: string): Promise<readonly ConversationSummary[]> {
  const words = encodeURIComponent(query);
  const [listed, searched] = await Promise.all([
    sendRequest<ConversationsView>("GET", `/api/conversations?limit=5&query=${words}`),
    sendRequest<SearchView>("GET", `/api/conversations/search?limit=5&q=${words}`),
  ]);
  const byTitle = "body" in listed ? (listed.body.conversations ?? []) : [];
  const hits = "body" in searched ? (searched.body.hits ?? []) : [];
  const all = [...byTitle, ...hits.map(({ conversation }) => conversation)];
  return [...new Map(all.map((one) => [one.id, one])).values()];
}

/** Conversations whose title or text contains the words; none without words. */
function useConversations(query: string): readonly Choice[] {
  const { url } = useSite();
  const [found, setFound] = useState<readonly Choice[]>([]);
  useEffect(() => {
    let isCurrent = true;
    if (query === "") {
      setFound([]);
      return;
    }
    const timer = setTimeout(async () => {
      const conversations = await findConversations(query);
      if (!isCurrent) return;
      setFound(
        conversations.map(({ id, title }) => ({
          group: "Conversations",
          name: title || "Untitled conversation",
          icon: "message-square",
          to: url(`/chat/${encodeURIComponent(id)}`),
        })),
      );
    }, searchDelayMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [query]);
  return found;
}

/** @returns The choices for the words; without words the recent ones come first. */
function matching(choices: readonly Choice[], query: string): readonly Choice[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length > 0)
    return choices.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const recent = readRecent().flatMap((name) => choices.find((one) => one.name === name) ?? []);
  const latest = recent.slice(0, maxRecent).map((choice) => ({ ...choice, group: "Recent" }));
  return [...latest, ...choices.filter(({ name }) => !latest.some((one) => one.name === name))];
}

/** A field with a list of results. Arrow keys choose, Enter opens, Esc closes. */
export function Palette(): JSX.Element {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const results = [...matching(useChoices(), query), ...useConversations(query.trim())];
  const at = Math.min(chosen, results.length - 1);
  useEffect(() => {
    document.getElementById(`palette-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const open = ({ name, to }: Choice): void => {
    rememberChoice(name);
    closeLayer();
    if (typeof to === "string") location.assign(to);
    else to();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = results.length - 1;
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: at === last ? 0 : at + 1,
      ArrowUp: at <= 0 ? last : at - 1,
    };
    const next = moves[event.key];
    const result = results[at];
    if (next !== undefined) setChosen(next);
    else if (event.key === "Enter" && result) open(result);
    else return;
    event.preventDefault();
  };
  return (
    <Modal label="Search and commands" kind="palette" onClose={closeLayer}>
      <label class="ask">
        <Icon name="search" />
        <span class="unseen">Search pages, conversations and actions</span>
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-results"
          aria-activedescendant={results.length > 0 ? `palette-${at}` : undefined}
          placeholder="Search pages, conversations and actions"
          autocomplete="off"
          value={query}
          data-autofocus
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>Esc</kbd>
      </label>
      <Results results={results} at={at} query={query} open={open} choose={setChosen} />
      <div class="keys hide-phone">
        <span>
          <kbd>↑</kbd>
          <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
        <span>
          <kbd>?</kbd> all shortcuts
        </span>
      </div>
    </Modal>
  );
}

interface ResultsProps {
  readonly results: readonly Choice[];
  readonly at: number;
  readonly query: string;
  readonly open: (choice: Choice) => void;
  readonly choose: (at: number) => void;
}

function Results({ results, at, query, open, choose }: ResultsProps): JSX.Element {
  const groups = [...new Set(results.map(({ group }) => group))];
  return (
    <div class="found" role="listbox" id="palette-results" aria-label="Results" tabIndex={0}>
      {groups.map((group) => (
        <div key={group} role="group" aria-label={group}>
          <h3 aria-hidden="true">{group}</h3>
          {results.map((result, index) =>
            result.group === group ? (
              <div
                key={`${index} ${result.name}`}
                role="option"
                id={`palette-${index}`}
                aria-selected={index === at}
                onClick={() => open(result)}
                onPointerMove={() => index !== at && choose(index)}
              >
                <Icon name={result.icon} small />
                {result.name}
              </div>
            ) : null,
          )}
        </div>
      ))}
      {results.length === 0 && (
        <div role="option" aria-selected="false" aria-disabled="true" class="muted">
          No results for “{query}”
        </div>
      )}
    </div>
  );
}
