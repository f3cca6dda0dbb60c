/** Activity page: the log with filter, levels, histogram and following. @module */
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { logLevels, type LogLevel } from "../../shared/views.ts";
import { addShortcuts } from "../frame/shortcuts.ts";
import { second, serverNow } from "../live/clock.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Search } from "../parts/field.tsx";
import { Empty, PageHead, Problem, Skeleton } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { formatCount, timeOfDay } from "../../shared/format.ts";
import { levelLooks, matches, parseFilter, parseLevels, searchText, withTerm } from "./filter.ts";
import { Histogram } from "./histogram.tsx";
import { Line, type LineActions } from "./line.tsx";
import {
  histogramOf,
  isInMinute,
  maxLines,
  minVirtualLines,
  type NumberedLine,
  toChunks,
} from "./lines.ts";
import { type Log, useLog } from "./use-log.ts";

/** Scrolled further than this, the page no longer follows. */
const followTolerancePx = 40;

export function ActivityPage({ data }: { readonly data: ActivityData }): JSX.Element {
  const { url } = useSite();
  const query = useQuery(data, url("/activity"));
  const [isPaused, setPaused] = useState(false);
  const [isScrolled, setScrolled] = useState(false);
  const log = useLog({
    level: logLevels.find((level) => query.levels.includes(level)) ?? "error",
    text: searchText(query.settled),
    isFollowing: !isPaused && !isScrolled,
  });
  const lines = log.lines ?? [];
  const found = useMemo(
    () => lines.filter((line) => line.skipped !== undefined || matches(query.filter, line)),
    [lines, query.filter],
  );
  const box = useRef<HTMLDivElement>(null);
  useKeys(box, setPaused);
  const toNewest = (): void => {
    setPaused(false);
    setScrolled(false);
    if (box.current) box.current.scrollTop = 0;
  };
  const hasLog = log.error?.status !== 404;
  return (
    <div class="activity">
      <div class="page-in">
        <PageHead title="Activity">
          <Button
            icon={isPaused ? "play" : "pause"}
            aria-keyshortcuts="F"
            onClick={() => (isPaused ? toNewest() : setPaused(true))}
          >
            {isPaused ? "Follow" : "Pause"}
          </Button>
          {hasLog && (
            <LinkButton icon="download" href={url("/api/log/download")} download="launcher.log">
              Download
            </LinkButton>
          )}
        </PageHead>
        <Tools query={query} lines={found} />
        {log.lines === undefined ? (
          <div class="volume hide-phone" />
        ) : (
          <Histogram
            minutes={histogramOf(found, Math.max(second.value, serverNow()))}
            chosen={query.minute}
            choose={query.setMinute}
          />
        )}
        <Foot log={log} query={query} />
      </div>
      <div class="lines-frame">
        <div
          class="lines"
          role="log"
          aria-live="off"
          aria-label="Log, newest line first"
          tabIndex={0}
          ref={box}
          onScroll={({ currentTarget }) => setScrolled(currentTarget.scrollTop > followTolerancePx)}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step !== undefined && moveFocus(box.current, step)) event.preventDefault();
          }}
        >
          <Lines log={log} query={query} found={found} />
        </div>
        {log.held > 0 && (
          <Button kind="primary" icon="arrow-up" onClick={toNewest}>
            {log.held === 1 ? "1 new line" : `${formatCount(log.held)} new lines`}
          </Button>
        )}
      </div>
    </div>
  );
}

/** `f` follows or pauses, `j` and `k` move between lines. */
function useKeys(
  box: RefObject<HTMLDivElement | null>,
  setPaused: (change: (was: boolean) => boolean) => void,
): void {
  useEffect(
    () =>
      addShortcuts({
        f: () => setPaused((was) => !was),
        j: () => moveFocus(box.current, 1),
        k: () => moveFocus(box.current, -1),
      }),
    [],
  );
}

/** Moves the focus to the next or previous line. @returns False if there is none. */
function moveFocus(box: HTMLElement | null, step: number): boolean {
  const buttons = [...(box?.querySelectorAll<HTMLElement>(".line > button") ?? [])];
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  const next = buttons[at < 0 ? 0 : at + step];
  next?.focus();
  return next !== undefined;
}

interface ToolsProps {
  readonly query: Query;
  /** Lines that match the filter, of all levels. */
  readonly lines: readonly NumberedLine[];
}

function Tools({ query, lines }: ToolsProps): JSX.Element {
  const count = (wanted: LogLevel): number =>
    lines.filter(({ level, skipped }) => level === wanted && skipped === undefined).length;
  return (
    <div class="tools">
      <Search
        label="Filter"
        placeholder="Filter by word, address:… or request:…"
        maxLength={200}
        autocomplete="off"
        value={query.text}
        onText={query.setText}
      />
      <div class="row wrap" role="group" aria-label="Levels">
        {logLevels.toReversed().map((level) => {
          const [, name, tone] = levelLooks[level];
          const isOn = query.levels.includes(level);
          // Debug lines are loaded only while they are shown, so their number is not known before.
          const isKnown = isOn || level !== "debug";
          return (
            <button
              key={level}
              type="button"
              class="level"
              aria-pressed={isOn}
              onClick={() => query.toggleLevel(level)}
            >
              <i class={`dot ${tone}`} />
              {name}
              {isKnown && <span class="n">{formatCount(count(level))}</span>}
            </button>
          );
        })}
        {query.minute !== undefined && (
          <Button compact icon="x" onClick={() => query.setMinute(undefined)}>
            Only {timeOfDay(query.minute)}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Says which lines are missing. */
function Foot({ log, query }: { readonly log: Log; readonly query: Query }): JSX.Element {
  const { lines = [], skipped, held } = log;
  const parts = [
    lines.length >= maxLines && `The newest ${formatCount(maxLines)} lines`,
    searchText(query.filter) !== "" && "Search covers the end of the log",
    skipped > 0 && `${formatCount(skipped)} lines not shown. The download contains all lines`,
    held > 0 && `paused, ${formatCount(held)} new`,
  ].filter((part) => part !== false);
  return (
    <p class="muted xs foot" role="status">
      {parts.join(" · ")}
    </p>
  );
}

function Lines({ log, query, found }: { log: Log; query: Query; found: readonly NumberedLine[] }) {
  const { url } = useSite();
  const { levels, minute, openLine, filter } = query;
  const shown = useMemo(
    () =>
      found
        .filter(({ level, skipped }) => skipped !== undefined || levels.includes(level))
        .filter((line) => minute === undefined || isInMinute(line, minute))
        .toReversed(),
    [found, levels, minute],
  );
  const newest = useRef(query);
  newest.current = query;
  const actions = useMemo(
    (): LineActions => ({
      toggle(id) {
        const { openLine: before, setOpenLine } = newest.current;
        setOpenLine(before === id ? "" : id);
      },
      narrow(key, value) {
        const { text, setText } = newest.current;
        setText(withTerm(text, key, value));
      },
      addressOf: (id) =>
        location.origin + url("/activity") + addressQuery({ ...newest.current, openLine: id }),
    }),
    [],
  );
  useOpenedLine(openLine, shown);
  if (log.lines === undefined) {
    if (log.error && log.error.status !== 401)
      return <Problem title="The log could not be loaded." error={log.error} retry={log.refresh} />;
    return <Skeleton rows={9} />;
  }
  if (shown.length === 0) return <NoLines isFiltered={log.lines.length > 0} query={query} />;
  return (
    <>
      {toChunks(shown).map(({ key, lines }) => (
        <Chunk
          key={key}
          isVirtual={shown.length >= minVirtualLines}
          count={lines.length}
          isKept={lines.some(({ id }) => id === openLine)}
        >
          {() =>
            lines.map((line) => (
              <Line
                key={line.seq}
                line={line}
                isOpen={line.id === openLine}
                marks={filter.marks}
                actions={actions}
              />
            ))
          }
        </Chunk>
      ))}
    </>
  );
}

/** Scrolls to the line that the address names, once. */
function useOpenedLine(openLine: string, shown: readonly NumberedLine[]): void {
  const wanted = useRef(openLine);
  useEffect(() => {
    if (wanted.current === "" || shown.length === 0) return;
    document.querySelector(`[data-line="${CSS.escape(wanted.current)}"]`)?.scrollIntoView();
    wanted.current = "";
  }, [shown]);
}

function NoLines({ isFiltered, query }: { readonly isFiltered: boolean; readonly query: Query }) {
  if (!isFiltered && query.text === "")
    return (
      <Empty icon="scroll-text" title="No lines yet">
        Lines appear here as soon as Doorward writes them.
      </Empty>
    );
  return (
    <Empty
      icon="search"
      title="No matching lines"
      action={<Button onClick={query.clear}>Clear filters</Button>}
    >
      Older lines are in the download.
    </Empty>
  );
}

interface ChunkProps {
  /** False draws the lines always. */
  readonly isVirtual: boolean;
  readonly count: number;
  /** True if a line in it is open. It then stays, so that its content is not drawn again. */
  readonly isKept: boolean;
  readonly children: () => ComponentChildren;
}

/** Height of a closed line on a wide page. */
const lineHeightPx = 31;
/** Distance to the visible part at which lines are drawn. */
const margin = "1200px 0px";

function Chunk({ isVirtual, count, isKept, children }: ChunkProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(!isVirtual);
  const height = useRef(0);
  useLayoutEffect(() => {
    if (!isVirtual || !box.current) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry) return;
        if (!entry.isIntersecting) height.current = entry.boundingClientRect.height;
        setNear(entry.isIntersecting);
      },
      { root: box.current.closest(".lines"), rootMargin: margin },
    );
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isVirtual]);
  const isDrawn = !isVirtual || isNear || isKept;
  useLayoutEffect(() => {
    const reserved = height.current || count * lineHeightPx;
    box.current!.style.height = isDrawn ? "" : `${reserved}px`;
  }, [isDrawn, count]);
  return <div ref={box}>{isDrawn && children()}</div>;
}

/** Filter and opened line, as in the address. */
export interface ActivityData {
  readonly q?: string;
  /** Levels with commas between them. */
  readonly level?: string;
  /** Id of the opened line. */
  readonly line?: string;
}

const defaultLevels: readonly LogLevel[] = ["info", "warn", "error"];
const typingMs = 200;

/** The filter and its setters. */
type Query = ReturnType<typeof useQuery>;

function useQuery(data: ActivityData, path: string) {
  const [text, setText] = useState(data.q ?? "");
  const [settledText, setSettled] = useState(text);
  const [levels, setLevels] = useState(parseLevels(data.level ?? null) ?? defaultLevels);
  const [minute, setMinute] = useState<number>();
  const [openLine, setOpenLine] = useState(data.line ?? "");
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  const isFirst = useRef(true);
  useEffect(() => {
    // The address is already right.
    if (isFirst.current) return void (isFirst.current = false);
    history.replaceState(null, "", path + addressQuery({ text, levels, openLine }));
  }, [text, levels, openLine]);
  return {
    text,
    filter: useMemo(() => parseFilter(text), [text]),
    /** The text as it was 200 ms ago, for requests. */
    settled: useMemo(() => parseFilter(settledText), [settledText]),
    levels,
    /** Start of the only minute to show. */
    minute,
    openLine,
    setText,
    toggleLevel: (level: LogLevel) =>
      setLevels((old) =>
        old.includes(level) ? old.filter((other) => other !== level) : [...old, level],
      ),
    setMinute,
    setOpenLine,
    clear() {
      setText("");
      setLevels(defaultLevels);
      setMinute(undefined);
    },
  };
}

/** The query of an address that shows the same. */
function addressQuery({
  text,
  levels,
  openLine,
}: Pick<Query, "text" | "levels" | "openLine">): string {
  const isDefault = [...levels].sort().join() === [...defaultLevels].sort().join();
  const parameters = new URLSearchParams({
    ...(text !== "" && { q: text }),
    ...(!isDefault && { level: levels.length === 0 ? "none" : levels.join(",") }),
    ...(openLine !== "" && { line: openLine }),
  });
  const query = String(parameters);
  return query === "" ? "" : `?${query}`;
}
