import { createInterface } from "node:readline";
import { width, wrap } from "./text.ts";

/* A conversation on a terminal: what is said stays and scrolls away; below it stand rows that still change, an answer
 * that grows or how the connection fares; below them the line that is being typed. Only what changes is drawn again. */

const prompt = "> ";
const dim = (text: string): string => `\u001b[2m${text}\u001b[22m`;

interface Row {
  readonly text: string;
  readonly isDim: boolean;
}

export interface ScreenOptions {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly onLine: (text: string) => void;
  /** Ctrl+C, Ctrl+D. */
  readonly onEnd: () => void;
}

export interface Screen {
  /** Stays. */
  say(text: string): void;
  note(text: string): void;
  /** An answer that still changes; the name tells several apart. Undefined: it is said, or gone. */
  grow(name: string, text: string | undefined): void;
  /** How things stand; undefined: nothing to say. */
  status(text: string | undefined): void;
  close(): void;
}

export function createScreen({ input, output, onLine, onEnd }: ScreenOptions): Screen {
  const growing = new Map<string, { text: string; gone: number }>();
  let standing: string | undefined;
  let shown: readonly Row[] = [];
  let isClosed = false;
  const lines = createInterface({
    input,
    output,
    terminal: true,
    prompt,
    historySize: 500,
    removeHistoryDuplicates: true,
  });

  const columns = (): number => output.columns || 80;
  const most = (): number => Math.max((output.rows || 24) - 6, 3);
  const rowsOf = (text: string, isDim = false): Row[] =>
    wrap(text, columns() - 1).map((row) => ({ text: row, isDim }));
  /** A narrower window breaks rows that fitted. */
  const height = (rows: readonly Row[]): number =>
    rows.reduce((sum, { text }) => sum + Math.max(1, Math.ceil(width(text) / columns())), 0);
  const draw = ({ text, isDim }: Row): string => `${isDim ? dim(text) : text}\n`;
  const typedRows = (): number => lines.getCursorPos().rows || 0;

  /** What an answer has too many rows of scrolls away for good. */
  function below(): { readonly gone: Row[]; readonly rows: Row[] } {
    const gone: Row[] = [];
    const rows: Row[] = [];
    for (const answer of growing.values()) {
      const all = rowsOf(answer.text);
      const keep = Math.max(answer.gone, all.length - most());
      gone.push(...all.slice(answer.gone, keep));
      answer.gone = keep;
      rows.push(...all.slice(keep));
    }
    return { gone, rows: standing === undefined ? rows : [...rows, ...rowsOf(standing, true)] };
  }

  function paint(said: readonly Row[], typed = typedRows()): void {
    if (isClosed) return;
    const up = height(shown) + typed;
    const { gone, rows } = below();
    shown = rows;
    // The prompt is drawn as many rows higher as the typed text has rows above the cursor.
    const gap = "\n".repeat(typedRows());
    output.write(
      `${up > 0 ? `\u001b[${up}A` : ""}\r\u001b[J${[...said, ...gone, ...rows].map(draw).join("")}${gap}`,
    );
    lines.prompt(true);
  }

  lines.on("line", (text) => {
    const typed = `${prompt}${text}`;
    paint(text.trim() === "" ? [] : rowsOf(typed), Math.floor(width(typed) / columns()) + 1);
    if (text.trim() !== "") onLine(text);
  });
  lines.on("SIGINT", onEnd);
  lines.on("close", onEnd);
  // After Ctrl+Z and `fg`: readline waits to be asked on, and what was below the prompt belongs to the shell now.
  lines.on("SIGCONT", () => {
    shown = [];
    paint([], 0);
  });
  const resized = (): void => paint([]);
  output.on("resize", resized);
  lines.prompt();

  return {
    say: (text) => paint(rowsOf(text)),
    note: (text) => paint(rowsOf(text, true)),
    grow(name, text) {
      const known = growing.get(name);
      if (text === undefined) growing.delete(name);
      else growing.set(name, { text, gone: known?.gone ?? 0 });
      paint([]);
    },
    status(text) {
      if (text === standing) return;
      standing = text;
      paint([]);
    },
    close() {
      if (isClosed) return;
      standing = undefined;
      output.off("resize", resized);
      const up = height(shown) + typedRows();
      const rest = [...growing.values()].flatMap(({ text, gone }) => rowsOf(text).slice(gone));
      output.write(`${up > 0 ? `\u001b[${up}A` : ""}\r\u001b[J${rest.map(draw).join("")}`);
      isClosed = true;
      lines.close();
    },
  };
}
