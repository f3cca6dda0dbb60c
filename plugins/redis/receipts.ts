// The messages that this node has appended and whose delivery is not known yet.
import { BoundedMap } from "../../lib/util.ts";
import { PendingReceipts } from "../conversations/log/sequence.ts";
import type { ReceiptListener } from "../conversations/log/session-log.ts";

const maxSessions = 10_000;
/** Numbers of one session that can still be acknowledged. */
const maxNumbers = 1_024;

interface SessionReceipts {
  readonly session: string;
  readonly epoch: string;
  readonly pending: PendingReceipts;
}

export class SentReceipts {
  private readonly listener: ReceiptListener;
  /** Least recently used first. */
  private readonly sessions = new BoundedMap<string, SessionReceipts>(maxSessions);

  constructor(listener: ReceiptListener) {
    this.listener = listener;
  }

  add(sk: string, session: string, epoch: string, seq: number, message: string | undefined): void {
    if (message === undefined) return;
    const existing = this.sessions.get(sk);
    const isCurrent = existing?.epoch === epoch && existing.pending.next <= seq;
    const receipts = isCurrent ? existing : { session, epoch, pending: new PendingReceipts(seq) };
    const { pending } = receipts;
    // The numbers between were appended by other nodes.
    if (seq - pending.next > maxNumbers) return void this.sessions.delete(sk);
    while (pending.next < seq) pending.push(undefined);
    pending.push(message);
    pending.forget(seq, maxNumbers);
    this.sessions.renew(sk, receipts);
  }

  /** A client, of any node, has the numbers from `after + 1` to `upTo`. */
  acknowledge(sk: string, after: number, upTo: number): void {
    const receipts = this.sessions.get(sk);
    if (!receipts) return;
    for (const id of receipts.pending.acknowledge({ after, upTo }))
      this.listener(receipts.session, id, "delivered");
    if (receipts.pending.open === 0) this.sessions.delete(sk);
  }

  /** A frame left the window before it was sent to any client. */
  lose(sk: string, seq: number): void {
    const receipts = this.sessions.get(sk);
    for (const id of receipts?.pending.lose(seq - 1, seq) ?? [])
      this.listener(receipts!.session, id, "undelivered", "overflow");
  }
}
