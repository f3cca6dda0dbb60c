// Limits the lines of requests that are parsed in one turn of the event loop.

/**
 * Lines that are parsed in one turn of the event loop, of all connections. A chunked body may
 * consist of chunks of one byte, and each one costs as much as a large one.
 */
export const maxLinesPerTurn = 4_096;
const lineFeed = 10;
let linesLeft = maxLinesPerTurn;
const delayed: (() => void)[] = [];

/** Begins to count, if this is the first line of the turn. */
function countLines(lines: number): void {
  if (linesLeft === maxLinesPerTurn && lines > 0) setImmediate(startTurn);
  linesLeft -= lines;
}

function startTurn(): void {
  linesLeft = maxLinesPerTurn;
  for (const run of delayed.splice(0)) run();
}

/** @returns The end of the part that may be parsed in this turn. */
export function takeLines(chunk: Buffer, length: number): number {
  let lines = 0;
  let end = 0;
  while (lines < linesLeft) {
    const index = chunk.indexOf(lineFeed, end);
    if (index < 0 || index >= length) {
      end = length;
      break;
    }
    lines += 1;
    end = index + 1;
  }
  countLines(lines);
  return end;
}

/** @returns True if nothing more may be parsed in this turn. */
export const isTurnFull = (): boolean => linesLeft <= 0;

/** Runs a function in the next turn, when this one is full. */
export const inNextTurn = (run: () => void): void => void delayed.push(run);
