import { describe, expect, test } from "vitest";
import type { Message } from "../../../../plugins/channels/index.ts";
import { identifiedHost } from "../../../support/identified-host.ts";
import { rejection, waitFor, type Client } from "../../../support/pico-server-harness.ts";

const send = (content: string, session_id?: string, id?: string) => ({
  type: "message.send",
  ...(id !== undefined && { id }),
  ...(session_id !== undefined && { session_id }),
  payload: { content },
});
const forbidden = rejection(403, "session_forbidden");
const echo = async ({ content, reply }: Message): Promise<void> =>
  void (await reply({ content: `you said ${content}` }));
const texts = ({ frames }: Client): unknown[] => frames.map(({ payload }) => payload?.["content"]);
const named = (id: string) => ({ id });

describe("identify", () => {
  test("names the sender in the message, the events and the list", async () => {
    const senders: Message["sender"][] = [];
    await using host = await identifiedHost({
      identify: (id) => ({ id, name: "Ann Example" }),
      app: ({ sender }) => void senders.push(sender),
    });
    const page = await host.page("ann");
    page.send(send("hello"));
    const program = await host.program();
    program.send(send("hello"));
    await host.ask("ann", "/pico/messages", { method: "POST", body: { content: "hello" } });
    await waitFor(() => senders.length === 3);
    const ann = { id: "host:ann", name: "Ann Example" };
    expect(senders).toEqual([ann, { id: "token:pico" }, ann]);
    expect(host.services.picoServer.connections()).toMatchObject([
      { user: "host:ann", userName: "Ann Example" },
      { user: "token:pico" },
    ]);
    expect(host.facts).toMatchObject([
      { type: "pico-server:connected", user: "host:ann" },
      { sender: "host:ann" },
      { type: "pico-server:connected", user: "token:pico" },
      { sender: "token:pico" },
      { sender: "host:ann" },
    ]);
  });

  test("keeps people who name the same session apart", async () => {
    const sessions: string[] = [];
    await using host = await identifiedHost({
      identify: named,
      app: async (message) => {
        sessions.push(message.session);
        await echo(message);
      },
    });
    const ann = await host.page("ann", "/pico?session_id=home");
    const bob = await host.page("bob", "/pico?session_id=home");
    ann.send(send("secret of ann"));
    bob.send(send("hello", "home"));
    await waitFor(() => ann.frames.length > 0 && bob.frames.length > 0);
    await Promise.all([ann.settled(), bob.settled()]);
    expect(texts(ann)).toEqual(["you said secret of ann"]);
    expect(texts(bob)).toEqual(["you said hello"]);
    expect(sessions).toEqual(["host:ann/home", "host:bob/home"]);
  });

  test("accepts the long form of a person's own session", async () => {
    await using host = await identifiedHost({ identify: named, app: echo });
    const first = await host.page("ann", "/pico?session_id=home");
    const second = await host.page("ann", "/pico?session_id=host:ann/home");
    second.send(send("hello"));
    expect((await first.next()).session_id).toBe("host:ann/home");
  });

  test.each([
    ["a/b", "c", "a", "b/c"],
    ["a%2Fb", "c", "a/b", "c"],
    ["a", "x", "a/", "x"],
  ])("gives %s and %s different sessions", async (one, oneName, other, otherName) => {
    const sessions: string[] = [];
    await using host = await identifiedHost({
      identify: (user) => ({ id: decodeURIComponent(user) }),
      app: ({ session }) => void sessions.push(session),
    });
    for (const [id, name] of [
      [one, oneName],
      [other, otherName],
    ] as const) {
      const body = { session_id: name, content: "hello" };
      await host.ask(encodeURIComponent(id), "/pico/messages", { method: "POST", body });
    }
    expect(new Set(sessions).size).toBe(2);
  });

  test("rejects sessions of others by every way, whether or not they exist", async () => {
    const contents: string[] = [];
    await using host = await identifiedHost({
      identify: named,
      app: ({ content }) => void contents.push(content),
    });
    const ann = await host.page("ann", "/pico?session_id=home");
    const bob = await host.page("bob");
    const answers = [];
    for (const session of ["host:ann/home", "host:ann/nothing", "host:bob", "host:bob/"]) {
      const query = `session_id=${session}`;
      expect(await host.sendRaw("bob", `/pico?${query}`)).toMatchObject(forbidden);
      expect(await host.sendRaw("bob", `/pico?${query}&pico_ext=1&resume=a:1`)).toMatchObject(
        forbidden,
      );
      const body = { session_id: session, content: "by POST" };
      const posted = await host.ask("bob", "/pico/messages", { method: "POST", body });
      const streamed = await host.ask("bob", `/pico/events?${query}`);
      expect([posted, streamed]).toMatchObject([
        { status: 403, body: { error: "session_forbidden" } },
        { status: 403, body: { error: "session_forbidden" } },
      ]);
      bob.send(send("by frame", session, "m1"));
      bob.send({ type: "ping", session_id: session });
      bob.send({ type: "typing.start", session_id: session });
      answers.push([posted.body, streamed.body, ...(await errorsOf(bob, 3))]);
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    await ann.settled();
    expect([ann.frames, contents]).toEqual([[], []]);
    expect(bob.ws.readyState).toBe(bob.ws.OPEN);
    expect(host.facts.filter((fact) => "code" in fact)).toContainEqual(
      expect.objectContaining({ code: "session_forbidden", user: "host:bob" }),
    );
  });

  test.each([
    ["a list", () => ["lobby", "team-a"]],
    ["a function", () => (session: string) => ["lobby", "team-a"].includes(session)],
  ])("permits exactly the sessions of %s", async (_, sessions) => {
    const received: string[] = [];
    await using host = await identifiedHost({
      identify: (id) => ({ id, sessions: sessions() }),
      app: ({ session }) => void received.push(session),
    });
    const page = await host.page("ann", "/pico?session_id=lobby");
    page.send(send("hello", "team-a"));
    page.send(send("hello", "team-b"));
    page.send(send("hello"));
    await waitFor(() => received.length === 2);
    await page.settled();
    expect(received.toSorted()).toEqual(["lobby", "team-a"]);
    expect(page.frames).toMatchObject([
      { type: "error", session_id: "team-b", payload: { code: "session_forbidden" } },
    ]);
    for (const path of ["/pico", "/pico?session_id=team-b", "/pico?session_id=host:ann/home"])
      expect(await host.sendRaw("ann", path)).toMatchObject(forbidden);
  });

  test.each([
    ["a promise", async () => true],
    ["another value than true", () => 1],
    [
      "an error",
      () => {
        throw new Error("no database");
      },
    ],
  ])("rejects a session if the function returns %s", async (_, sessions) => {
    await using host = await identifiedHost({ identify: (id) => ({ id, sessions }) });
    expect(await host.sendRaw("ann", "/pico?session_id=home")).toMatchObject(forbidden);
  });

  test.each([
    ["an owner", { owner: true }],
    ["access to all", { sessions: "all" }],
  ])("permits every session to %s", async (_, access) => {
    await using host = await identifiedHost({ identify: (id) => ({ id, ...access }), app: echo });
    const program = await host.program("/pico?session_id=home");
    const page = await host.page("ann", "/pico?session_id=home");
    page.send(send("hello"));
    expect((await program.next()).payload).toMatchObject({ content: "you said hello" });
  });

  test("restricts an owner who has a list", async () => {
    await using host = await identifiedHost({
      identify: (id) => ({ id, owner: true, sessions: ["lobby"] }),
    });
    expect(await host.sendRaw("ann", "/pico?session_id=home")).toMatchObject(forbidden);
  });

  test.each([
    ["no id", {}],
    ["an owner without an id", { owner: true }],
    ["an empty id", { id: "" }],
    ["a number as id", { id: 7 }],
    ["a control character in the id", { id: "a\nb" }],
    ["half a character in the id", { id: "\ud800" }],
    ["a long id", { id: "x".repeat(129) }],
    ["a number as name", { id: "ann", name: 7 }],
    ["no list", { id: "ann", sessions: null }],
    ["an unknown word", { id: "ann", sessions: "some" }],
    ["a list with a number", { id: "ann", sessions: ["home", 7] }],
  ])("treats %s as unauthenticated and logs it", async (_, identity) => {
    await using host = await identifiedHost({ identify: () => identity });
    expect(await host.sendRaw("ann", "/pico")).toMatchObject(rejection(401, "token_missing"));
    const lines = host.lines.filter(({ reason }) => reason === "identify_failed");
    expect(lines).toMatchObject([{ why: expect.stringMatching(/identify/) as string }]);
  });

  test("closes no connection whose secret another user presents", async () => {
    await using host = await identifiedHost({
      identify: (id) => ({ id, sessions: "all" }),
      config: { max_connections: 2 },
    });
    const ann = await host.page("ann", "/pico?session_id=home&pico_ext=1");
    const { payload } = await ann.next();
    const path = `/pico?session_id=home&pico_ext=1&conn=${payload!["conn_id"] as string}`;
    const bob = await host.page("bob", path);
    await ann.settled();
    expect(await host.sendRaw("bob", path)).toMatchObject(rejection(503, "too_many_connections"));
    const again = await host.page("ann", path);
    expect(await ann.closed).toMatchObject({ code: 4409 });
    await Promise.all([again.settled(), bob.settled()]);
  });

  test("resumes only the person's own session", async () => {
    await using host = await identifiedHost({ identify: named, app: echo });
    const ann = await host.page("ann", "/pico?session_id=home&pico_ext=1");
    const hello = await ann.next();
    const { epoch, session_id } = hello.payload as { epoch: string; session_id: string };
    expect(session_id).toBe("host:ann/home");
    ann.send(send("hello"));
    await waitFor(() => texts(ann).includes("you said hello"));
    ann.ws.terminate();
    const query = `pico_ext=1&resume=${epoch}:0`;
    expect(await host.sendRaw("bob", `/pico?session_id=${session_id}&${query}`)).toMatchObject(
      forbidden,
    );
    const bob = await host.page("bob", `/pico?session_id=home&${query}`);
    await bob.settled();
    expect(bob.frames).toMatchObject([
      { type: "hello", payload: { resumed: false, replay: 0 } },
      { type: "gap", payload: { reason: "epoch_changed" } },
    ]);
    const back = await host.page("ann", `/pico?session_id=home&${query}`);
    await waitFor(() => texts(back).includes("you said hello"));
  });

  test("does not reveal a short channel token by a session id", async () => {
    await using host = await identifiedHost({
      identify: (id) => ({ id, sessions: "all" }),
      pico: "short-token",
    });
    const answers = await Promise.all(
      ["short-token", "wrong-token"].map(async (session) => {
        const path = `/pico?session_id=${session}`;
        const body = { session_id: session, content: "hello" };
        return [
          (await host.sendRaw("ann", path)).status,
          (await host.ask("ann", "/pico/messages", { method: "POST", body })).status,
        ];
      }),
    );
    const page = await host.page("ann");
    page.send({ type: "ping", session_id: "short-token" });
    expect((await page.next()).type).toBe("pong");
    expect(answers).toEqual([
      [101, 202],
      [101, 202],
    ]);
  });

  test("admits requests from pages of the same origin only", async () => {
    await using host = await identifiedHost({ identify: named });
    const post = { method: "POST", body: { content: "hello" } };
    const evil = { origin: "http://evil.example" };
    const withoutOrigin = (headers: Record<string, string>) =>
      host.ask("ann", "/pico", { headers: { origin: "", ...headers } });
    const statuses = await Promise.all([
      host.ask("ann", "/pico/messages", post),
      host.ask("ann", "/pico/messages", { ...post, headers: evil }),
      host.ask("ann", "/pico", { headers: evil }),
      withoutOrigin({ "sec-fetch-site": "same-origin" }),
      withoutOrigin({ "sec-fetch-site": "same-site" }),
      withoutOrigin({}),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([202, 401, 401, 200, 401, 401]);
  });

  test("closes event streams and waiting requests when the sign-in ends", async () => {
    const endings = new Set<(reason: string) => void>();
    const onEnd = (ended: (reason: string) => void) => {
      endings.add(ended);
      return () => endings.delete(ended);
    };
    await using host = await identifiedHost({ identify: (id) => ({ id, onEnd }) });
    const stream = fetchStream(host.port);
    await waitFor(() => host.services.picoServer.connections().length === 1);
    const body = { content: "hello" };
    const posted = host.ask("ann", "/pico/messages?wait=60", { method: "POST", body });
    await waitFor(() => endings.size === 2);
    for (const end of endings) end("signed out");
    expect((await stream).startsWith("retry: ")).toBe(true);
    expect((await posted).body).toMatchObject({ status: "accepted" });
    await waitFor(() => endings.size === 0);
  });
});

/** Waits for so many error frames. @returns their payloads without ids. */
async function errorsOf(client: Client, count: number): Promise<unknown[]> {
  await waitFor(() => client.frames.length === count);
  return client.frames.splice(0).map(({ payload }) => payload);
}

const fetchStream = async (port: number): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}/pico/events?session_id=home`, {
    headers: { cookie: "user=ann", origin: `http://127.0.0.1:${port}` },
  });
  return answer.text();
};
