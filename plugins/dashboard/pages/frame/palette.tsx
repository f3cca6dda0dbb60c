/** The command palette: a field with a list of what it finds. @module */
import { isComposing } from "../live/composition.ts";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { Modal } from "../parts/modal.tsx";
import { closeLayer } from "./layer-state.ts";
import { type Choice, containsWords, fixedChoices, useSearch } from "./palette-choices.ts";
import { base } from "../live/base.ts";
import { keep, readStored, storageKeys } from "../live/storage.ts";

const label = "Search pages, conversations, settings and documentation";

/** @returns Pages and actions with the words; without words the recent choices come first. */
function useMatching(query: string): readonly Choice[] {
  const fixed = useMemo(fixedChoices, []);
  const recent = useMemo(() => recentChoices(fixed), [fixed]);
  if (query !== "") return fixed.filter(({ name }) => containsWords(name, query));
  return [...recent, ...fixed.filter(({ name }) => !recent.some((one) => one.name === name))];
}

/** Arrow keys choose, Enter opens, Esc closes. */
export function Palette(): JSX.Element {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const words = query.trim();
  const { found, isBusy, isPartial } = useSearch(words);
  const results = [...useMatching(words), ...found];
  const at = Math.min(chosen, results.length - 1);
  useEffect(() => {
    document.getElementById(`palette-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const open = (choice: Choice): void => {
    rememberChoice(choice);
    closeLayer();
    if (typeof choice.to === "string") location.assign(choice.to);
    else choice.to();
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
    else if (event.key === "Enter" && !isComposing(event) && result) open(result);
    else return;
    event.preventDefault();
  };
  return (
    <Modal label="Search and commands" kind="palette" onClose={closeLayer}>
      <label class="ask">
        <Icon name="search" />
        <span class="unseen">{label}</span>
        <input
          role="combobox"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls="palette-results"
          aria-activedescendant={results.length > 0 ? `palette-${at}` : undefined}
          placeholder={label}
          autocomplete="off"
          spellcheck={false}
          value={query}
          data-autofocus
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
        <kbd class="hide-phone">Esc</kbd>
      </label>
      <Results results={results} at={at} open={open} choose={setChosen}>
        {results.length === 0 && !isBusy && !isPartial && `No results for “${query}”`}
        {results.length === 0 && isBusy && "Searching…"}
        {isPartial && "Not everything could be searched: the service did not respond."}
      </Results>
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
  readonly open: (choice: Choice) => void;
  readonly choose: (at: number) => void;
  /** A sentence below the results. */
  readonly children: readonly (string | false)[];
}

function Results({ results, at, open, choose, children }: ResultsProps): JSX.Element {
  const groups = [...new Set(results.map(({ group }) => group))];
  const note = children.find((text) => text !== false);
  return (
    <>
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
                  <span class="cut">{result.name}</span>
                  {result.detail !== undefined && <span class="to">{result.detail}</span>}
                </div>
              ) : null,
            )}
          </div>
        ))}
        {results.length === 0 && (
          <div role="option" aria-selected="false" aria-disabled="true" class="muted">
            {note}
          </div>
        )}
      </div>
      <p class="note" role="status">
        {results.length > 0 && note}
      </p>
    </>
  );
}

const storageKey = storageKeys.choices;
const maxKept = 5;

/** A choice in the storage. Actions have no address: their name finds them. */
interface Kept {
  readonly name: string;
  readonly icon: string;
  readonly to?: string;
}

const isKept = (entry: unknown): entry is Kept => {
  const { name, icon, to } = (entry ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || typeof icon !== "string") return false;
  return (
    to === undefined || (typeof to === "string" && to.startsWith(`${base()}/`) && !/^\/\//.test(to))
  );
};

function read(): readonly Kept[] {
  const kept = readStored(storageKey);
  return Array.isArray(kept) ? kept.filter(isKept) : [];
}

/** @returns The latest choices, newest first. */
function recentChoices(fixed: readonly Choice[]): readonly Choice[] {
  return read().flatMap(({ name, icon, to }) => {
    const known = fixed.find((choice) => choice.name === name);
    const target = to ?? known?.to;
    return target === undefined ? [] : [{ group: "Recent", name, icon, to: target }];
  });
}

function rememberChoice({ name, icon, to }: Choice): void {
  const kept: Kept = { name, icon, ...(typeof to === "string" && { to }) };
  const others = read().filter((one) => one.name !== name || one.to !== kept.to);
  keep(storageKey, [kept, ...others].slice(0, maxKept));
}
