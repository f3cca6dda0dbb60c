// Compares the shapes of the icons with their package, and finds icons without shapes.
import { expect, test } from "vitest";
import icons from "../../../../plugins/dashboard/pages/parts/icons.json" with { type: "json" };
import { filesUnder, read } from "../../../rules/source.ts";

const script = new URL("../../../../scripts/console-icons.mjs", import.meta.url).href;

const pages = filesUnder(["plugins/dashboard/pages"], /\.tsx?$/).map(read);

/** Names in `<Icon name="…">`, and in the property `icon` of buttons, menus and links. */
const used = pages.flatMap((text) =>
  [...text.matchAll(/<Icon name="([\w-]+)"|\bicon(?:=|: )"([\w-]+)"/g)].map(
    ([, name, other]) => name ?? other!,
  ),
);

test("has the shapes of the package for each icon", async () => {
  const { shapesOf } = (await import(script)) as {
    shapesOf(names: readonly string[]): Promise<typeof icons>;
  };
  expect(icons).toEqual(await shapesOf(Object.keys(icons)));
  expect(Object.values(icons).filter((shapes) => shapes.length === 0)).toEqual([]);
});

test("has shapes for each icon of the pages", () => {
  expect(used.length).toBeGreaterThan(60);
  expect(used.filter((name) => !(name in icons))).toEqual([]);
});

test("refers to no symbol of another file", () => {
  expect(pages.filter((text) => /<use\b/.test(text))).toEqual([]);
});
