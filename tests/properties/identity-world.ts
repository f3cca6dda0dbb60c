/* People with different rights use one channel over real sockets. A second, simple model of the
 * rights checks each message that the application or a client receives. */
import fc from "fast-check";
import { request } from "node:http";
import type { HostIdentity } from "../../plugins/http/index.ts";
import { identifiedHost, type IdentifiedHost } from "../support/identified-host.ts";
import { waitFor, type Client, type Frame } from "../support/pico-server-harness.ts";

const startsWithTeam = (session: string): boolean => session.startsWith("team");
/** Cookie and identity of each person. Some ids look like sessions of another one. */
const people: Readonly<Record<string, HostIdentity>> = {
  ann: { id: "ann" },
  bob: { id: "bob", sessions: "own" },
  slash: { id: "ann/room" },
  percent: { id: "ann%2Froom" },
  prefix: { id: "host:ann" },
  list: { id: "cleo", sessions: ["lobby", "team"] },
  check: { id: "dan", sessions: startsWithTeam },
  owner: { id: "root", owner: true },
};
const keys = Object.keys(people);
const prefixOf = (key: string): string =>
  `host:${people[key]!.id.split("%").join("%25").split("/").join("%2F")}/`;
const isOwn = (key: string): boolean => !["list", "check", "owner"].includes(key);

const names = [
  "room",
  "home",
  "lobby",
  "team",
  "team-2",
  "host:",
  "host:ann",
  "host:ann/room/home",
  ...keys.filter(isOwn).flatMap((key) => [prefixOf(key), `${prefixOf(key)}home`]),
];

function mayUse(key: string, session: string): boolean {
  if (isOwn(key)) return session.startsWith(prefixOf(key)) && session !== prefixOf(key);
  if (key === "list") return session === "lobby" || session === "team";
  return key === "owner" || startsWithTeam(session);
}
/** The session that a name of this person means, if they may use it. */
function expected(key: string, name: string): string | undefined {
  const session = isOwn(key) && !name.startsWith("host:") ? prefixOf(key) + name : name;
  return mayUse(key, session) ? session : undefined;
}

const person = fc.constantFrom(...keys);
const name = fc.constantFrom(...names);
const connection = fc.nat(1_000);
const frameType = fc.constantFrom(
  ...(["message.send", "message.send", "message.send", "typing.start", "ping"] as const),
);
export const operation = fc.oneof(
  {
    weight: 80,
    arbitrary: fc.record({
      do: fc.constant("frame" as const),
      connection,
      type: frameType,
      name: fc.option(name, { nil: undefined }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("open" as const),
      person,
      name: fc.option(name, { nil: undefined }),
      /** Number of the `hello` whose cursor and secret the handshake presents. */
      steals: fc.option(fc.nat(1_000), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("close" as const), connection }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("post" as const), person, name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("stream" as const), person, name }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("push" as const), name }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

interface OpenOperation {
  readonly person: string;
  readonly name: string | undefined;
  readonly steals?: number | undefined;
}

interface Tab {
  readonly key: string;
  readonly client: Client;
  /** Undefined if the server chose the name. */
  readonly session: string | undefined;
  /** Secret of the connection, of clients of the extension. */
  conn: string | undefined;
}
interface Hello {
  readonly conn_id: string;
  readonly epoch: string;
}

const maxTabs = 16;

/** The state of one run. `leaks` stays empty. */
class World {
  readonly leaks: string[] = [];
  /** Messages at the application, frames at clients, rejected frames, resumed connections. */
  readonly counts = { received: 0, frames: 0, forbidden: 0, replaced: 0 };
  private readonly host: IdentifiedHost;
  private readonly tabs: Tab[] = [];
  private readonly hellos: Hello[] = [];
  private readonly streams: (() => void)[] = [];
  /** Secret of a connection, and the people who presented it, as one text. */
  private readonly presented = new Set<string>();
  private accepted = 0;
  private forbidden = 0;

  constructor(host: IdentifiedHost) {
    this.host = host;
  }

  /** Checks a message at the application: `content` names its author and session. */
  receive(content: string, session: string, sender: string | undefined): void {
    this.counts.received += 1;
    const [key = "", wanted] = content.split("\n");
    if (sender !== `host:${people[key]!.id}`) this.leaks.push(`${sender} wrote as ${key}`);
    if (wanted === "?" ? !mayUse(key, session) : session !== wanted)
      this.leaks.push(`${key} wrote to ${session} instead of ${wanted}`);
  }

  async run(operations: readonly Operation[]): Promise<void> {
    for (const key of keys) await this.open({ person: key, name: names[0] });
    for (const [index, each] of operations.entries()) {
      await this.perform(each);
      if (index % 100 === 99) await this.settle();
    }
    await this.settle();
    if (this.counts.received !== this.accepted)
      this.leaks.push(`${this.accepted} messages permitted, ${this.counts.received} received`);
    if (this.counts.forbidden !== this.forbidden)
      this.leaks.push(`${this.forbidden} frames forbidden, ${this.counts.forbidden} rejected`);
    for (const end of this.streams) end();
    for (const { client } of this.tabs) client.ws.terminate();
  }

  private async perform(each: Operation): Promise<void> {
    if (each.do === "open") return this.open(each);
    if (each.do === "post") return this.post(each.person, each.name);
    if (each.do === "stream") return this.stream(each.person, each.name);
    if (each.do === "push") {
      const to = { channel: "pico", session: each.name };
      return void (await this.host.services.channels.send(to, { content: "from the application" }));
    }
    const tab = this.tabs[each.connection % this.tabs.length];
    if (!tab) return;
    if (each.do === "frame") this.frame(tab, each);
    else await this.close(tab);
  }

  private async close(tab: Tab): Promise<void> {
    await this.settle();
    this.tabs.splice(this.tabs.indexOf(tab), 1);
    tab.client.ws.terminate();
  }

  private frame(tab: Tab, { type, name: named }: { type: string; name: string | undefined }): void {
    const session = named === undefined ? (tab.session ?? "?") : expected(tab.key, named);
    if (session === undefined) this.forbidden += 1;
    else if (type === "message.send") this.accepted += 1;
    tab.client.send({
      type,
      ...(named !== undefined && { session_id: named }),
      ...(type === "message.send" && { payload: { content: `${tab.key}\n${session ?? ""}\n` } }),
    });
  }

  private async open(each: OpenOperation): Promise<void> {
    if (this.tabs.length >= maxTabs) await this.close(this.tabs[0]!);
    const { person: key, name: named } = each;
    const stolen =
      each.steals === undefined ? undefined : this.hellos[each.steals % this.hellos.length];
    const query = new URLSearchParams({
      ...(named !== undefined && { session_id: named }),
      ...(each.steals !== undefined && { pico_ext: "1" }),
      ...(stolen && { resume: `${stolen.epoch}:0`, conn: stolen.conn_id }),
    });
    const isPermitted =
      named === undefined ? isOwn(key) || key === "owner" : expected(key, named) !== undefined;
    if (stolen) {
      await this.settle(); // the replaced connection loses what it has not sent yet
      this.presented.add(`${stolen.conn_id} ${key}`);
    }
    const client = await this.host.page(key, `/pico?${query}`).catch((error: Error) => error);
    if (client instanceof Error || !isPermitted) {
      if (isPermitted || !String(client).includes("403")) this.leaks.push(`${key} ${named}`);
      return;
    }
    const session = named === undefined ? undefined : expected(key, named);
    const tab: Tab = { key, client, session, conn: undefined };
    const replaced = this.tabs.find(({ conn }) => conn !== undefined && conn === stolen?.conn_id);
    if (replaced?.key === key) await replaced.client.closed;
    this.tabs.push(tab);
    client.ws.on("message", () => this.read(tab));
    void client.closed.then(({ code }) => this.ended(tab, code));
    this.read(tab);
  }

  private ended(tab: Tab, code: number): void {
    this.read(tab);
    if (code === 4409) this.counts.replaced += 1;
    if (code === 4409 && !this.presented.has(`${tab.conn} ${tab.key}`))
      this.leaks.push(`a connection of ${tab.key} was replaced`);
    const index = this.tabs.indexOf(tab);
    if (index !== -1) this.tabs.splice(index, 1);
  }

  /** Checks every frame that a client has received. Its own pings stay for `settled`. */
  private read(tab: Tab): void {
    const { frames } = tab.client;
    for (const frame of frames.splice(0)) {
      if (frame.id !== undefined) frames.push(frame);
      else this.check(tab.key, frame);
      if (frame.type === "hello") this.greeted(tab, frame.payload as unknown as Hello);
    }
  }

  private greeted(tab: Tab, { conn_id, epoch }: Hello): void {
    tab.conn = conn_id;
    this.hellos.push({ conn_id, epoch });
  }

  private check(key: string, { type, session_id = "", payload = {} }: Frame): void {
    this.counts.frames += 1;
    if (type === "error") {
      if (payload["code"] === "session_forbidden") this.counts.forbidden += 1;
      else this.leaks.push(`${key} received ${String(payload["code"])}`);
    } else if (!mayUse(key, session_id)) this.leaks.push(`${key} read ${session_id}`);
  }

  private async post(key: string, named: string): Promise<void> {
    const session = expected(key, named);
    const body = { session_id: named, content: `${key}\n${session ?? ""}\n` };
    if (session !== undefined) this.accepted += 1;
    const { status } = await this.host.ask(key, "/pico/messages", { method: "POST", body });
    if (status !== (session === undefined ? 403 : 202)) this.leaks.push(`${key} POST ${status}`);
  }

  private stream(key: string, named: string): Promise<void> {
    const headers = { cookie: `user=${key}`, origin: `http://127.0.0.1:${this.host.port}` };
    const path = `/pico/events?session_id=${encodeURIComponent(named)}`;
    const wanted = expected(key, named) === undefined ? 403 : 200;
    return new Promise((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port: this.host.port, path, headers });
      asked.on("error", reject).on("response", (response) => {
        if (response.statusCode !== wanted) this.leaks.push(`${key} events ${response.statusCode}`);
        response.on("error", () => undefined);
        response.setEncoding("utf8").on("data", (text: string) => {
          for (const [, data] of text.matchAll(/^data: (.*)$/gm))
            if (wanted === 200) this.check(key, JSON.parse(data!) as Frame);
        });
        this.streams.push(() => asked.destroy());
        resolve();
      });
      asked.end();
    });
  }

  /** Waits until every client has received the responses to all its frames. */
  private async settle(): Promise<void> {
    for (const tab of [...this.tabs]) {
      await Promise.race([tab.client.settled(), tab.client.closed]);
      this.read(tab);
    }
    await waitFor(() => this.counts.received >= this.accepted || this.leaks.length > 0);
  }
}

/** Performs the operations. @returns everything that a person wrote or read without the right. */
export async function leaksOf(
  operations: readonly Operation[],
): Promise<Pick<World, "leaks" | "counts">> {
  let world: World | undefined;
  await using host = await identifiedHost({
    identify: (cookie) => people[cookie],
    app: async ({ content, session, sender, reply }) => {
      world?.receive(content, session, sender?.id);
      await reply({ content: "reply" });
    },
  });
  world = new World(host);
  await world.run(operations);
  return world;
}
