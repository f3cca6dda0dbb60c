/** One delivery: settles once, whoever is first. */
export interface Ticket {
  readonly outcome: Promise<"accepted">;
  accept(): void;
  /** `false`: it had settled before. */
  reject(error: unknown): boolean;
}

interface Open extends Ticket {
  settled: boolean;
}

/** All deliveries that have not settled. */
export interface Tickets {
  open(): Ticket;
  rejectAll(error: () => Error): void;
}

/** Settled ones that may stay listed for each open one, so that looking through the list costs little. */
const slack = 2;
const short = 64;

export function createTickets(): Tickets {
  let listed: Open[] = [];
  let openCount = 0;

  function settle(ticket: Open): boolean {
    if (ticket.settled) return false;
    ticket.settled = true;
    openCount -= 1;
    if (listed.length > short && listed.length > slack * openCount) listed = listed.filter(({ settled }) => !settled);
    return true;
  }

  return {
    open() {
      let resolve: (outcome: "accepted") => void;
      let refuse: (error: unknown) => void;
      const outcome = new Promise<"accepted">((done, failed) => {
        resolve = done;
        refuse = failed;
      });
      const ticket: Open = {
        outcome,
        settled: false,
        accept: () => void (settle(ticket) && resolve("accepted")),
        reject(error) {
          const isFirst = settle(ticket);
          if (isFirst) refuse(error);
          return isFirst;
        },
      };
      openCount += 1;
      listed.push(ticket);
      return ticket;
    },
    rejectAll(error) {
      for (const ticket of [...listed]) ticket.reject(error());
    },
  };
}
