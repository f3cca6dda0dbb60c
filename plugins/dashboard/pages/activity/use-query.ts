// The filter of the page, which the address keeps.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogLevel } from "../../shared/views.ts";
import { parseFilter, parseLevels, type LogFilter } from "./filter.ts";

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
export interface Query {
  readonly text: string;
  readonly filter: LogFilter;
  /** The text as it was 200 ms ago, for requests. */
  readonly settled: LogFilter;
  readonly levels: readonly LogLevel[];
  /** Start of the only minute to show. */
  readonly minute: number | undefined;
  readonly openLine: string;
  setText(text: string): void;
  toggleLevel(level: LogLevel): void;
  setMinute(minute: number | undefined): void;
  setOpenLine(id: string): void;
  clear(): void;
}

export function useQuery(data: ActivityData, path: string): Query {
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
    settled: useMemo(() => parseFilter(settledText), [settledText]),
    levels,
    minute,
    openLine,
    setText,
    toggleLevel: (level) =>
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
export function addressQuery({
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
