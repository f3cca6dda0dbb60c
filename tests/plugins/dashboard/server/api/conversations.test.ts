import { describe, expect, test } from "vitest";
import {
  conversations,
  type Conversations,
  type ConversationStore,
} from "../../../../../plugins/conversations/index.ts";
import { channels } from "../../../../../plugins/channels/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { withApi, type ApiClient } from "../../../../support/api-client.ts";
import { createHistory, storeIn } from "../../../../support/sqlite-conversations.ts";
import { numbered } from "../../../../conformance/session-log.ts";
import { createFolder, Disk, entry, type TestEntry } from "../../../../support/sqlite-store.ts";

/** Lists the plugin before the channels, as hosts do. */
const listed = (store?: ConversationStore): AnyPlugin[] =>
  [
    conversations(store ? { store } : {}),
    channels(),
    picoServer({ enabled: false }),
  ] as unknown as AnyPlugin[];

const nothing = () => undefined;
const listeners = {
  onReceipt: nothing,
  sessionActive: nothing,
  sessionIdle: nothing,
  renewed: nothing,
};

/** A store with one conversation: a question and its answer. */
async function withHistory(
  visit: (office: ApiClient, id: string, store: Conversations) => Promise<void>,
  ...more: readonly TestEntry[]
): Promise<void> {
  const folder = await createHistory(
    entry("user", "q1", "Where is the blue teapot?"),
    entry("create", "a1", "In the kitchen."),
    entry("user", "q2", "Thanks"),
    ...more,
  );
  await withApi(
    async (office) => {
      const { services } = office.kernel as unknown as {
        services: { conversations: Conversations };
      };
      const store = services.conversations;
      const { id } = (await store.find({ channel: "pico", session: "s" }))!;
      await visit(office, id, store);
    },
    { before: listed(storeIn(folder)) },
  );
}

const contents = (turns: readonly { content: string }[]): string[] =>
  turns.map(({ content }) => content);

describe("GET /api/status", () => {
  test("says why conversations are not stored, and how to fix it", async () => {
    const disk = new Disk();
    const listedStore = listed(storeIn(createFolder(), disk));
    await withApi(
      async (office) => {
        const { services } = office.kernel as unknown as {
          services: { conversations: Conversations };
        };
        const log = services.conversations.open("test", listeners);
        await log.append("s", numbered("stored"));
        disk.code = 13;
        await expect(log.append("s", numbered("lost"))).rejects.toThrow("the disk is full");
        const { body } = await office.ask("GET", "/api/status");
        const warnings = (body as { warnings: { id: string }[] }).warnings;
        expect(warnings).toContainEqual({
          id: "store",
          text: expect.stringContaining("the disk is full"),
          fix: "Free space on the disk. Doorward then continues by itself.",
        });
        disk.code = undefined;
        await log.append("s", numbered("stored again"));
        const after = (await office.ask("GET", "/api/status")).body as typeof body;
        expect(after.warnings).not.toContainEqual(expect.objectContaining({ id: "store" }));
      },
      { before: listedStore },
    );
  });
});

describe("GET /api/conversations", () => {
  test("lists conversations page by page, the latest used first", () =>
    withHistory(
      async (office, id) => {
        const { status, body } = await office.ask("GET", "/api/conversations?limit=1");
        expect(status).toBe(200);
        expect(body.conversations).toMatchObject([{ session: "t", title: "Good morning" }]);
        expect(body.store).toMatchObject({ kind: "sqlite", state: "up", searches: true });
        const next = await office.ask("GET", `/api/conversations?limit=1&before=${body.before}`);
        expect(next.body.conversations).toMatchObject([{ id, session: "s", turns: 3 }]);
        expect(next.body.before).toBeUndefined();
        const found = await office.ask("GET", "/api/conversations?query=TEAPOT");
        expect(found.body.conversations).toMatchObject([{ id }]);
        const one = await office.ask("GET", "/api/conversations?session=s");
        expect(one.body.conversations).toMatchObject([{ id }]);
        const none = await office.ask("GET", "/api/conversations?session=unknown");
        expect(none.body.conversations).toEqual([]);
      },
      entry("user", "q", "Good morning", { session: "t" }),
    ));

  test.each(["limit=0", "limit=201", "limit=x", "limit=1&limit=2", `query=${"x".repeat(201)}`])(
    "rejects the query %s and names the parameter",
    (query) =>
      withHistory(async (office) => {
        const { status, body } = await office.ask("GET", `/api/conversations?${query}`);
        expect([status, body.error]).toEqual([400, "invalid_body"]);
        expect(body.message).toContain(`"${query.split("=")[0]}"`);
      }),
  );

  test("rejects requests without the launcher token", () =>
    withHistory(async (office, id) => {
      for (const path of ["", "/search?q=a", `/${id}`, `/${id}/export`])
        expect(await office.ask("GET", `/api/conversations${path}`, undefined, {})).toMatchObject({
          status: 401,
        });
    }));

  test("explains that the memory store keeps no history", () =>
    withApi(
      async (office) => {
        const { status, body } = await office.ask("GET", "/api/conversations");
        expect([status, body.error]).toEqual([409, "not_supported"]);
        expect(body.message).toContain("store.kind");
        const one = await office.ask("GET", "/api/conversations?session=s");
        expect(one).toMatchObject({ status: 200, body: { conversations: [] } });
      },
      { before: listed() },
    ));

  test("answers 404 without the plugin conversations", () =>
    withApi(async (office) => {
      expect(await office.ask("GET", "/api/conversations")).toMatchObject({ status: 404 });
    }));
});

describe("GET /api/conversations/:id", () => {
  test("returns both sides, and earlier turns by the cursor", () =>
    withHistory(async (office, id) => {
      const { body } = await office.ask("GET", `/api/conversations/${id}?limit=2`);
      expect(body.conversation).toMatchObject({ id, title: "Where is the blue teapot?" });
      expect(contents(body.turns)).toEqual(["In the kitchen.", "Thanks"]);
      const cursor = encodeURIComponent(body.before);
      const earlier = await office.ask("GET", `/api/conversations/${id}?before=${cursor}`);
      expect(contents(earlier.body.turns)).toEqual(["Where is the blue teapot?"]);
      expect(earlier.body.turns).toMatchObject([{ id: "q1", role: "user", seq: 1 }]);
    }));

  test.each(["unknown", "%2e%2e", "a".repeat(65), "x'%20OR%201"])("answers 404 to %s", (id) =>
    withHistory(async (office) => {
      for (const method of ["GET", "DELETE"])
        expect(await office.ask(method, `/api/conversations/${id}`)).toMatchObject({
          status: 404,
          body: { error: "not_found" },
        });
    }),
  );
});

describe("GET /api/conversations/search", () => {
  test("finds turns of both sides with an excerpt", () =>
    withHistory(async (office, id, store) => {
      await expect
        .poll(async () => {
          office.clock.increment(250);
          return (await store.search("teapot")).length;
        })
        .toBe(1);
      const { body } = await office.ask("GET", '/api/conversations/search?q=teapot"(');
      expect(body.hits).toMatchObject([{ conversation: { id }, turn: { id: "q1" } }]);
      expect(body.hits[0].excerpt).toContain("teapot");
      expect(await office.ask("GET", "/api/conversations/search")).toMatchObject({ status: 400 });
    }));
});

describe("PATCH /api/conversations/:id", () => {
  test("sets the title, and restores the first words", () =>
    withHistory(async (office, id) => {
      const rename = (title: unknown) => office.ask("PATCH", `/api/conversations/${id}`, { title });
      expect(await rename("Teapots")).toMatchObject({
        status: 200,
        body: { conversation: { title: "Teapots", renamed: true } },
      });
      expect(await rename("")).toMatchObject({
        body: { conversation: { title: "Where is the blue teapot?", renamed: false } },
      });
      for (const title of ["x".repeat(201), 7, undefined])
        expect(await rename(title)).toMatchObject({ status: 400 });
    }));

  test("rejects a request from a page of another site", () =>
    withHistory(async (office, id) => {
      const headers = { ...office.session, origin: "https://evil.example" };
      const path = `/api/conversations/${id}`;
      expect(await office.ask("PATCH", path, { title: "x" }, headers)).toMatchObject({
        status: 403,
      });
      expect(await office.ask("DELETE", path, undefined, headers)).toMatchObject({ status: 403 });
    }));
});

describe("DELETE /api/conversations/:id", () => {
  test("deletes the conversation and logs its id only", () =>
    withHistory(async (office, id) => {
      expect(await office.ask("DELETE", `/api/conversations/${id}`)).toMatchObject({ status: 200 });
      expect(await office.ask("GET", `/api/conversations/${id}`)).toMatchObject({ status: 404 });
      expect((await office.ask("GET", "/api/conversations")).body.conversations).toEqual([]);
      expect(office.logged()).toContain(id);
      expect(office.logged()).not.toContain("teapot");
    }));
});

describe("GET /api/conversations/:id/export", () => {
  test("streams a JSON document and a Markdown document", () =>
    withHistory(async (office, id) => {
      const json = await office.ask("GET", `/api/conversations/${id}/export`);
      expect(json.headers.get("content-disposition")).toBe(
        `attachment; filename="conversation-${id}.json"`,
      );
      expect(json.headers.get("content-length")).toBeNull();
      expect(contents(json.body.turns)).toEqual([
        "Where is the blue teapot?",
        "In the kitchen.",
        "Thanks",
      ]);
      const path = `/api/conversations/${id}/export?format=markdown`;
      const markdown = await office.ask("GET", path);
      expect(markdown.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
      expect(markdown.body).toContain("# Where is the blue teapot?");
    }));

  test("limits the rate of exports", () =>
    withHistory(async (office, id) => {
      const path = `/api/conversations/${id}/export`;
      for (let n = 0; n < 10; n++) expect((await office.ask("GET", path)).status).toBe(200);
      const limited = await office.ask("GET", path);
      expect(limited).toMatchObject({ status: 429, body: { error: "rate_limited" } });
      expect(limited.headers.get("retry-after")).toBe("6");
      office.clock.increment(6_000);
      expect((await office.ask("GET", path)).status).toBe(200);
      expect((await office.ask("GET", path)).status).toBe(429);
    }));

  test("answers 400 to an unknown format and 404 to an unknown id", () =>
    withHistory(async (office, id) => {
      const ask = (path: string) => office.ask("GET", `/api/conversations/${path}`);
      expect(await ask(`${id}/export?format=xml`)).toMatchObject({ status: 400 });
      expect(await ask("unknown/export")).toMatchObject({ status: 404 });
    }));
});
