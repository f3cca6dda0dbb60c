// Serves the menu as `com.canonical.dbusmenu`, version 3. The identifier of an item is its
// position, starting at 1; 0 is the menu itself.
import { BusError, variant, type Interface, type BusValue, type Variant } from "../dbus/index.ts";
import type { MenuChoice, TrayView } from "../service.ts";

export const menuPath = "/MenuBar";
export const menuInterface = "com.canonical.dbusmenu";

interface Menu {
  readonly interface: Interface;
  /** @returns The body of the signal `LayoutUpdated`, to send after the view has changed. */
  changed(): readonly BusValue[];
}

/** Items per call; a menu has far fewer. */
const maxItems = 1_000;
const maxLabelLength = 200;

/** Panels underline the character after `_` and show `__` as `_`. Line breaks vary by panel. */
const labelOf = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, " ")
    .slice(0, maxLabelLength)
    .toWellFormed()
    .replaceAll("_", "__");

type Properties = Map<string, Variant>;

function propertiesOf(item: TrayView["items"][number]): Properties {
  if (item === "separator") return new Map([["type", variant("s", "separator")]]);
  return new Map<string, Variant>([
    ["label", variant("s", labelOf(item.label))],
    ["enabled", variant("b", item.enabled)],
    ["visible", variant("b", true)],
  ]);
}

/** An empty list of names selects all properties. */
function selectProperties(properties: Properties, names: BusValue): Properties {
  const selected = new Set(names as readonly string[]);
  return selected.size === 0
    ? properties
    : new Map([...properties].filter(([name]) => selected.has(name)));
}

export function createMenu(view: () => TrayView, choose: (choice: MenuChoice) => void): Menu {
  let revision = 1;
  const rows = (): Properties[] => [
    new Map([["children-display", variant("s", "submenu")]]),
    ...view().items.map(propertiesOf),
  ];
  const rowOf = (id: BusValue): Properties => {
    const row = rows()[id as number];
    if (!row) throw new BusError("InvalidArgs", "the menu has no such item");
    return row;
  };

  function layout(parent: BusValue, depth: BusValue, names: BusValue): BusValue[] {
    const properties = selectProperties(rowOf(parent), names);
    const isRoot = parent === 0 && depth !== 0;
    const children = isRoot
      ? rows()
          .slice(1)
          .map((row, index) => variant("(ia{sv}av)", [index + 1, selectProperties(row, names), []]))
      : [];
    return [revision, [parent, properties, children]];
  }

  function group(ids: BusValue, names: BusValue): BusValue[] {
    const all = rows();
    const requested = (ids as readonly number[]).slice(0, maxItems);
    const found =
      requested.length === 0 ? all.map((_, index) => index) : requested.filter((id) => all[id]);
    return [found.map((id) => [id, selectProperties(all[id]!, names)])];
  }

  function property(id: BusValue, name: BusValue): BusValue[] {
    const value = rowOf(id).get(name as string);
    if (!value) throw new BusError("UnknownProperty", "the item has no such property");
    return [value];
  }

  function event(id: BusValue, type: BusValue): BusValue[] {
    rowOf(id);
    const item = view().items[(id as number) - 1];
    const isChoice =
      item !== undefined && item !== "separator" && item.enabled && item.id !== "version";
    if (type === "clicked" && isChoice) choose(item.id as MenuChoice);
    return [];
  }

  function events(list: BusValue): BusValue[] {
    const missing: number[] = [];
    for (const [id, type] of (list as readonly [number, string][]).slice(0, maxItems)) {
      if (rows()[id]) event(id, type);
      else missing.push(id);
    }
    return [missing];
  }

  return {
    changed: () => [++revision, 0],
    interface: {
      properties: {
        Version: { signature: "u", get: () => 3 },
        Status: { signature: "s", get: () => "normal" },
        TextDirection: { signature: "s", get: () => "ltr" },
        IconThemePath: { signature: "as", get: () => [] },
      },
      methods: {
        GetLayout: { takes: "iias", gives: "u(ia{sv}av)", run: layout },
        GetGroupProperties: { takes: "aias", gives: "a(ia{sv})", run: group },
        GetProperty: { takes: "is", gives: "v", run: property },
        Event: { takes: "isvu", gives: "", run: event },
        EventGroup: { takes: "a(isvu)", gives: "ai", run: events },
        AboutToShow: { takes: "i", gives: "b", run: () => [false] },
        AboutToShowGroup: { takes: "ai", gives: "aiai", run: () => [[], []] },
      },
      signals: { LayoutUpdated: "ui", ItemsPropertiesUpdated: "a(ia{sv})a(ias)" },
    },
  };
}
