// Lets the application open the stored files of messages.
import type { Media, PreviousTurn } from "./contract.ts";
import type { RunOptions } from "./run-options.ts";

type OpenFile = RunOptions["openFile"];

/** Adds `open` to the stored files of a message. */
export function withOpen(openFile: OpenFile, media: readonly Media[]): readonly Media[] {
  if (!openFile || media.every(({ id }) => id === undefined)) return media;
  return media.map((each) =>
    each.id === undefined ? each : { ...each, open: () => openFile(each.id!) },
  );
}

/** Adds `open` to the files of earlier turns, too. */
export function withOpenIn(
  openFile: OpenFile,
  previous: readonly PreviousTurn[],
): readonly PreviousTurn[] {
  if (!openFile) return previous;
  return previous.map((each) =>
    each.media ? { ...each, media: withOpen(openFile, each.media) } : each,
  );
}
