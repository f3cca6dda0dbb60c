import { expect, test } from "vitest";
import { begin, entry, openStore, address, take, settleUpkeep, createFolder, write } from "../../../support/sqlite-store.ts";

test("smoke", async () => {
  const folder = createFolder();
  const store = await openStore({ folder });
  const id = await begin(store, entry("user", "u1", "hello world", { request: "q1" }), entry("create", "m1", "answer me", { final: false }), entry("update", "m1", "answer me now"));
  expect(store.history.read(id).items.map(({ content }) => content)).toEqual(["hello world", "answer me now"]);
  await take(store, "q1", "d");
  expect(store.knownIds(address)).toMatchObject([{ id: "q1", digest: "d" }]);
  await settleUpkeep(store);
  expect(store.history.search("answer").map(({ turn }) => turn.content)).toEqual(["answer me now"]);
  expect(store.history.list().items).toMatchObject([{ title: "hello world", turns: 2, preview: "answer me now" }]);
  await store.end();
  const second = await openStore({ folder });
  expect(second.load(address)).toMatchObject({ seq: 3 });
  await write(second, entry("delete", "m1"));
  expect(second.history.read(id).items.map(({ content }) => content)).toEqual(["hello world"]);
  await second.forget(id, () => {});
  expect(second.load(address)).toBeUndefined();
  expect(second.health()).toMatchObject({ conversations: 0, state: "up" });
});
