// Draws a conversation on a terminal: finished text scrolls up, changing rows and the prompt stay.
import { createInterface, type Interface } from "node:readline";
import { width, wrap } from "./text.ts";

const prompt = "> ";
const dim = (text: string): string => `\u001b[2m${text}\u001b[22m`;
const formatRow = ({ text, isDim }: Row): string => `${isDim ? dim(text) : text}\n`;
/** Moves the cursor up, to the first column, and clears everything below. */
const clearUp = (rows: number): string => `${rows > 0 ? `\u001b[${rows}A` : ""}\r\u001b[J`;

interface Row {
  readonly text: string;
  readonly isDim: boolean;
}

/** An unfinished reply; the first `scrolled` rows have left the redrawn area. */
interface LiveReply {
  readonly text: string;
  scrolled: number;
}

interface ScreenOptions {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly onLine: (text: string) => void;
  /** Called at Ctrl+D. */
  readonly onEnd: () => void;
  /** Called at Ctrl+C. */
  readonly onInterrupt: () => void;
}

/**
 * From top to bottom: finished text, unfinished replies, the status line, and the prompt with the
 * line being typed. Only unfinished replies, status and prompt are redrawn.
 */
export class Screen {
  private readonly replies = new Map<string, LiveReply>();
  private statusText: string | undefined;
  private shown: readonly Row[] = [];
  private isClosed = false;
  private readonly lines: Interface;
  private readonly output: NodeJS.WriteStream;
  private readonly onResize = (): void => this.paint([]);

  constructor({ input, output, onLine, onEnd, onInterrupt }: ScreenOptions) {
    this.output = output;
    this.lines = createInterface({
      input,
      output,
      terminal: true,
      prompt,
      historySize: 500,
      removeHistoryDuplicates: true,
    });
    this.lines.on("line", (text) => {
      const typed = `${prompt}${text}`;
      const typedRows = Math.floor(width(typed) / this.columns()) + 1;
      this.paint(text.trim() === "" ? [] : this.toRows(typed), typedRows);
      if (text.trim() !== "") onLine(text);
    });
    this.lines.on("SIGINT", onInterrupt);
    this.lines.on("close", onEnd);
    // After Ctrl+Z and `fg`, readline needs a prompt() to resume, and the shell has overwritten the
    // rows above the prompt.
    this.lines.on("SIGCONT", () => {
      this.shown = [];
      this.paint([], 0);
    });
    output.on("resize", this.onResize);
    this.lines.prompt();
  }

  /** Appends finished text. */
  print(text: string): void {
    this.paint(this.toRows(text));
  }

  /** Appends a dimmed notice. */
  note(text: string): void {
    this.paint(this.toRows(text, true));
  }

  /** Shows the text so far of the reply `id`; undefined removes it. */
  updateReply(id: string, text: string | undefined): void {
    const known = this.replies.get(id);
    if (text === undefined) this.replies.delete(id);
    else this.replies.set(id, { text, scrolled: known?.scrolled ?? 0 });
    this.paint([]);
  }

  /** Shows the status line; undefined removes it. */
  status(text: string | undefined): void {
    if (text === this.statusText) return;
    this.statusText = text;
    this.paint([]);
  }

  close(): void {
    if (this.isClosed) return;
    this.statusText = undefined;
    this.output.off("resize", this.onResize);
    const rest = [...this.replies.values()].flatMap(({ text, scrolled }) =>
      this.toRows(text).slice(scrolled),
    );
    const up = this.heightOf(this.shown) + this.typedRows();
    this.output.write(clearUp(up) + rest.map(formatRow).join(""));
    this.isClosed = true;
    this.lines.close();
  }

  private columns(): number {
    return this.output.columns || 80;
  }

  private maxLiveRows(): number {
    return Math.max((this.output.rows || 24) - 6, 3);
  }

  private toRows(text: string, isDim = false): Row[] {
    return wrap(text, this.columns() - 1).map((row) => ({ text: row, isDim }));
  }

  /** Counts terminal rows: a window that became narrower breaks rows that used to fit. */
  private heightOf(rows: readonly Row[]): number {
    const columns = this.columns();
    return rows.reduce((sum, { text }) => sum + Math.max(1, Math.ceil(width(text) / columns)), 0);
  }

  private typedRows(): number {
    return this.lines.getCursorPos().rows || 0;
  }

  /** The first rows of a long reply scroll up and are not redrawn. */
  private liveRows(): { readonly scrolled: Row[]; readonly rows: Row[] } {
    const scrolled: Row[] = [];
    const rows: Row[] = [];
    for (const reply of this.replies.values()) {
      const all = this.toRows(reply.text);
      const start = Math.max(reply.scrolled, all.length - this.maxLiveRows());
      scrolled.push(...all.slice(reply.scrolled, start));
      reply.scrolled = start;
      rows.push(...all.slice(start));
    }
    if (this.statusText !== undefined) rows.push(...this.toRows(this.statusText, true));
    return { scrolled, rows };
  }

  private paint(finished: readonly Row[], typedRows = this.typedRows()): void {
    if (this.isClosed) return;
    const up = this.heightOf(this.shown) + typedRows;
    const { scrolled, rows } = this.liveRows();
    this.shown = rows;
    // readline draws the prompt this many rows above the cursor.
    const gap = "\n".repeat(this.typedRows());
    this.output.write(
      clearUp(up) + [...finished, ...scrolled, ...rows].map(formatRow).join("") + gap,
    );
    this.lines.prompt(true);
  }
}
