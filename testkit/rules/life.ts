// Rules about start and stop, and about peers that join, leave or have no permission.
import { assertPeer, type ConformanceRun, type Peer } from "../rig.ts";
import {
  claim,
  mayReject,
  says,
  send,
  settle,
  shows,
  statusWithoutPeers,
  to,
  writesAlone,
  type ConformanceRule,
} from "./rule.ts";

/** Pause between attempts to send to a peer that has left. */
const pauseMs = 10;

/** Sends, updates and removes a message, which both clients of a session must see. */
async function showsToBoth(run: ConformanceRun, ...peers: Peer[]): Promise<void> {
  const address = to(run, peers[0]!);
  const { id } = await run.channels.send(address, { content: "for both", final: false });
  for (const each of peers) {
    const { content } = await run.sees(each, "create");
    claim(content === "for both", `a client of the session saw "${content}"`);
  }
  if (!run.port.update) return;
  await run.channels.update(address, id, { content: "for both of them", final: true });
  for (const each of peers) await run.sees(each, "update");
  if (!run.port.remove) return;
  await run.channels.remove(address, id);
  for (const each of peers) await run.sees(each, "remove");
}

export const lifeRules = {
  async "attaches one adapter and detaches it when it stops"(run) {
    claim(run.ports.length === 1, `it attached ${run.ports.length} adapters`);
    claim(/^[a-z][a-z0-9_]*$/.test(run.port.name), `"${run.port.name}" is not a name of a channel`);
    await run.stop();
    claim(run.attached.size === 0, "it did not close its inlet");
  },

  async "rejects peers without permission"(run) {
    if (!run.capabilities.authentication) return;
    claim(
      run.intrude !== undefined,
      "pass intrude() to the test, or declare capabilities: { authentication: false } if the " +
        "network checks its peers",
    );
    const stranger = await run.intrude().catch(() => undefined);
    await mayReject(() => stranger?.say("let me in"));
    const peer = await run.join();
    await says(run, peer, "with permission");
    await says(run, peer, "again");
  },

  async "serves the other peers after one has left"(run) {
    const [leaving, staying] = [await run.join(), await run.join()];
    await leaving.leave();
    await statusWithoutPeers(run, leaving);
    await shows(run, staying, "still here", "the peer that stayed saw another message");
    await says(run, staying, "me too");
  },

  async "serves every client of a session until the last has left"(run) {
    const peer = await run.join();
    if (!peer.another) return;
    const other = await peer.another();
    assertPeer(other);
    claim(other.session === peer.session, "another() connected a client in another session");
    await showsToBoth(run, peer, other);
    const ids = new Set<string>();
    for (const each of [peer, other]) {
      await each.say("from either");
      ids.add((await run.messages.next("the message of a client")).id);
    }
    claim(ids.size === 2, "messages of two clients of a session have one id");
    await other.leave();
    await shows(run, peer, "for the rest", "the other client saw another");
    await says(run, peer, "still here");
    const isIdle = run.idle.waiting.includes(peer.session);
    claim(!isIdle, "it called sessionIdle() while a client of the session was connected");
  },

  async "notices that a peer has left"(run) {
    if (!run.capabilities.presence) return;
    const peer = await run.join();
    await says(run, peer, "hello");
    await peer.leave();
    await run.idle.next(
      "sessionIdle() for the session of the peer that left",
      (session) => session === peer.session,
    );
    const deadline = Date.now() + run.timeoutMs;
    while ((await statusWithoutPeers(run, peer)) === "written") {
      claim(Date.now() < deadline, 'a message to a peer that left is reported as "written"');
      await settle(pauseMs);
    }
  },

  async "stops with connected peers, delivers nothing more, and starts again"(run) {
    const peer = await run.join();
    await run.stop();
    await mayReject(() => peer.say("too late"));
    await run.start();
    const again = await run.join();
    await again.say("in time");
    if (run.capabilities.keepsMessages) {
      const { content } = await run.messages.next("the message sent while it was stopped");
      claim(content === "too late", "the message sent while it was stopped was lost");
    }
    const { content } = await run.messages.next("a message after the second start");
    claim(content === "in time", "the message sent after the stop was delivered");
  },

  async "stops despite connections that send nothing"(run) {
    const idle = await (await run.restartTracked()).connectIdle();
    try {
      await run.join(); // Servers accept in order: they have accepted the idle connections.
      await run.stop();
    } finally {
      for (const socket of idle) socket.destroy();
    }
  },

  async "leaves nothing open when it stops"(run) {
    const resources = await run.restartTracked();
    const [leaving, staying] = [await run.join(), await run.join()];
    await says(run, staying, "hello");
    await leaving.leave();
    await run.stop();
    const remaining = await resources.remaining(run.timeoutMs);
    claim(remaining.length === 0, `after the stop it still has ${remaining.join(", ")}`);
  },

  async "listens only when the application is ready"(run) {
    const early = await run.restartObserved();
    claim(early.length === 0, `its start() opened ${early.join(", ")}; listen in onReady(step)`);
    await says(run, await run.join(), "now");
  },

  async "shares no state with another kernel of the process"(run) {
    const { keepsMessages, twoKernels } = run.capabilities;
    if (keepsMessages || !twoKernels) return;
    const peer = await run.join();
    const twin = await run.twin().catch(({ message }: Error) => {
      throw new Error(
        `a second kernel cannot start it: ${message} Use port 0 in the test, or declare ` +
          "capabilities: { twoKernels: false } if two kernels cannot share the network",
      );
    });
    try {
      const other = await twin.join();
      const pairs = [[run, peer] as const, [twin, other] as const];
      for (const [own, each] of pairs) await says(own, each, `hello from "${each.session}"`);
      for (const [index, [own, each]] of pairs.entries())
        await shows(own, each, `for kernel ${index}`, "a peer saw a message of another kernel");
      await other.leave();
    } finally {
      await twin.stop().finally(() => twin.end());
    }
    await says(run, peer, "the other kernel has stopped");
    await shows(run, peer, "still here", "the peer saw another message");
    claim(run.messages.waiting.length === 0, "a message of another kernel was delivered");
  },

  async "gives no message the id of an earlier one after a restart"(run) {
    if (run.capabilities.keepsMessages) return; // A network that keeps messages may repeat one.
    const seen = new Set<string>();
    for (let starts = 0; starts < 2; starts += 1) {
      if (starts > 0) await run.start();
      for (const peer of [await run.join(), await run.join()]) {
        await peer.say("hello");
        const { session, id } = await run.messages.next("the message");
        const key = JSON.stringify([session, id]);
        claim(!seen.has(key), `two messages of the session "${session}" have the id "${id}"`);
        seen.add(key);
      }
      await run.stop();
    }
  },

  async "keeps tokens out of the log"(run) {
    const wire = await run.restartOnWire();
    await run.intrude?.().catch(() => undefined);
    await settle();
    wire.take();
    const peer = await run.join();
    const permission = wire.take();
    await says(run, peer, "hello");
    await peer.leave();
    const unreadable = Buffer.concat([permission.subarray(0, -1), Buffer.from("}~\n")]);
    for (const before of permission.length > 0 ? [Buffer.alloc(0), permission] : [])
      await writesAlone(run, wire, [before, unreadable]);
    // A rejected token may be the right one of another service, or nearly the right one.
    const secrets = [...run.secrets(), ...run.candidates].filter(({ length }) => length > 7);
    await run.stop();
    const logged = run.logged();
    claim(!secrets.some((secret) => logged.includes(secret)), "a token is in the log");
  },

  async "causes no fault"(run) {
    const peer = await run.join();
    await says(run, peer, "hello");
    await send(run, peer, "hello");
    await run.sees(peer, "create");
    await peer.leave();
    await run.stop();
    claim(run.faults.length === 0, run.faults.join(", "));
  },
} satisfies Record<string, ConformanceRule>;
