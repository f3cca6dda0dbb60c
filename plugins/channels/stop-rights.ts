// Decides which messages a stop may end.
import type { Sender, Stopper } from "./contract.ts";

/** Whether a stop may end a message of this sender. */
export const mayStop = (by: Stopper | undefined, sender: Sender | undefined): boolean =>
  by?.ownOnly !== true || sender?.id === by.id;
