// Tests stops and deletions of messages that belong to no node at the moment.
import { describe, expect, test } from "vitest";
import type { Plugin } from "../../../kernel/index.ts";
import { withKernel, type StoppedClock } from "../../../kernel/testing.ts";
import { application, channels } from "../../../plugins/channels/index.ts";
import {
  conversationsErrors,
  type Conversations,
  type DeletionListener,
  type SessionOwnership,
  type PassOutcome,
} from "../../../plugins/conversations/index.ts";
import { createSampleChannel } from "../../support/sample-channel.ts";

const codeOf = ({ code }: { code: string }): string => code;
const gone = conversationsErrors.node_gone();
const turn = (): Promise<void> => new Promise(setImmediate);

type Owner = Awaited<ReturnType<SessionOwnership["claim"]>>;

async function run(
  use: (at: {
    readonly channel: ReturnType<typeof createSampleChannel>;
    /** Answers the waiting claims, and all later ones. */
    readonly grant: (owner: Owner) => Promise<void>;
    readonly passed: { readonly id: string; readonly stopped: boolean; outcome: PassOutcome }[];
    readonly received: string[];
    readonly forget: () => void;
    readonly clock: StoppedClock;
  }) => Promise<void>,
): Promise<void> {
  let listener: DeletionListener | undefined;
  let owner: Owner | undefined;
  const claims: ((granted: Owner) => void)[] = [];
  const passed: { id: string; stopped: boolean; outcome: PassOutcome }[] = [];
  const ownership: SessionOwnership = {
    listen: () => undefined,
    claim: async () => owner ?? new Promise((resolve) => claims.push(resolve)),
    pass: (_, { id }, outcome, { stopped = false }) => void passed.push({ id, stopped, outcome }),
    stop: async () => undefined,
    running: async () => undefined,
    questions: async () => undefined,
    answer: () => Promise.reject(new Error("no question")),
    forget: () => undefined,
  };
  const conversations = {
    taken: { known: async () => [], settle: async () => undefined },
    watchDeletions: (given: DeletionListener) => void (listener = given),
    ownership,
  } as unknown as Conversations;
  const store: Plugin<{ offers: { conversations: Conversations } }> = {
    name: "conversations",
    api: 1,
    start: () => ({ conversations }),
  };
  const channel = createSampleChannel({ keeps: false });
  const received: string[] = [];
  const app = application(({ id }) => void received.push(id));
  await withKernel([store, channels(), channel.plugin, app], ({ clock }) =>
    use({
      channel,
      passed,
      received,
      clock,
      forget: () => listener!({ channel: "sample", session: "s" })(),
      async grant(granted) {
        owner = granted;
        for (const resolve of claims.splice(0)) resolve(granted);
        await turn();
      },
    }),
  );
}

function deliver(channel: ReturnType<typeof createSampleChannel>, id: string) {
  return channel.inlet().deliver(channel.message({ id }), { dedupe: true }).catch(codeOf);
}

describe("OwnershipQueue", () => {
  test.each<[string, Owner]>([
    ["this node", "own"],
    ["another node", { node: "b" }],
  ])("removes stopped messages before %s gets the session", async (_, owner) => {
    await run(async ({ channel, grant, passed, received }) => {
      const outcomes = ["a", "b"].map((id) => deliver(channel, id));
      const stopping = channel.inlet().stop("s");
      const later = deliver(channel, "c");
      await grant(owner);
      expect(await stopping).toEqual(["a", "b"].map((id) => ({ id, status: "removed" })));
      const stopped = Object.assign(new Error(""), { code: "stopped" });
      for (const item of passed)
        if (item.stopped) item.outcome.rejected(stopped);
        else item.outcome.accepted("accepted");
      expect(await Promise.all([...outcomes, later])).toEqual(["stopped", "stopped", "accepted"]);
      expect(received).toEqual(owner === "own" ? ["c"] : []);
      expect(passed.map(({ id }) => id)).toEqual(owner === "own" ? [] : ["a", "b", "c"]);
    });
  });

  test("removes a stopped message whose node has gone", async () => {
    await run(async ({ channel, grant, passed, received, clock }) => {
      await grant({ node: "b" });
      const outcome = deliver(channel, "a");
      await turn();
      passed[0]!.outcome.rejected(gone);
      expect(await channel.inlet().stop("s", "a")).toEqual([{ id: "a", status: "removed" }]);
      await grant("own");
      clock.increment(250);
      expect(await outcome).toBe("stopped");
      expect(received).toEqual([]);
    });
  });

  test("drops all messages of a session whose conversation is deleted", async () => {
    await run(async ({ channel, grant, passed, received, forget, clock }) => {
      const claimed = deliver(channel, "a");
      forget();
      expect(await claimed).toBe("stopped");
      await grant({ node: "b" });
      expect(passed).toEqual([]);
      const returned = deliver(channel, "b");
      await turn();
      passed[0]!.outcome.rejected(gone);
      const sent = deliver(channel, "c");
      await turn();
      forget();
      expect(await returned).toBe("stopped");
      passed[1]!.outcome.rejected(gone);
      expect(await sent).toBe("stopped");
      await grant("own");
      clock.increment(1_000);
      await turn();
      expect(received).toEqual([]);
    });
  });
});
