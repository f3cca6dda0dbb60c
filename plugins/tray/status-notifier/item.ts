// Serves the icon as `org.kde.StatusNotifierItem`: the freedesktop specification of 2009, as KDE,
// Xfce, LXQt and the GNOME extension implement it.
import type { Interface, BusValue } from "../dbus/index.ts";
import { iconsFor } from "../icon.ts";
import type { TrayView } from "../service.ts";
import { menuPath } from "./menu.ts";

export const itemPath = "/StatusNotifierItem";
export const itemInterface = "org.kde.StatusNotifierItem";

interface Signal {
  readonly member: string;
  readonly signature: string;
  readonly body: readonly BusValue[];
}

/** Panels interpret the tooltip as markup. */
const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
export const markup = (text: string): string =>
  text.replace(/\p{Cc}+/gu, " ").replace(/[&<>]/g, (character) => escapes[character]!);

const statusOf = ({ state }: TrayView): string => (state === "setup" ? "NeedsAttention" : "Active");

export function createItem(view: () => TrayView, activate: () => void): Interface {
  const noEffect = { gives: "", run: () => [] };
  const text = (get: () => string) => ({ signature: "s", get });
  const icons = {
    signature: "a(iiay)",
    get: () => iconsFor(view().state).map(({ size, argb }) => [size, size, argb]),
  };
  const noIcons = { signature: "a(iiay)", get: () => [] };
  return {
    properties: {
      Category: text(() => "ApplicationStatus"),
      Id: text(() => "doorward"),
      Title: text(() => view().title),
      Status: text(() => statusOf(view())),
      WindowId: { signature: "i", get: () => 0 },
      IconName: text(() => ""),
      IconThemePath: text(() => ""),
      IconPixmap: icons,
      OverlayIconName: text(() => ""),
      OverlayIconPixmap: noIcons,
      AttentionIconName: text(() => ""),
      AttentionIconPixmap: icons,
      AttentionMovieName: text(() => ""),
      ToolTip: {
        signature: "(sa(iiay)ss)",
        get: () => ["", [], markup(view().title), markup(view().hint)],
      },
      ItemIsMenu: { signature: "b", get: () => false },
      Menu: { signature: "o", get: () => menuPath },
    },
    methods: {
      Activate: { takes: "ii", gives: "", run: () => (activate(), []) },
      SecondaryActivate: { takes: "ii", ...noEffect },
      ContextMenu: { takes: "ii", ...noEffect },
      Scroll: { takes: "is", ...noEffect },
      ProvideXdgActivationToken: { takes: "s", ...noEffect },
    },
    signals: { NewIcon: "", NewAttentionIcon: "", NewStatus: "s", NewToolTip: "", NewTitle: "" },
  };
}

/** @returns The signals that tell panels about a changed view. */
export function changesOf(before: TrayView, after: TrayView): Signal[] {
  const plain = (member: string): Signal => ({ member, signature: "", body: [] });
  return [
    ...(before.title === after.title ? [] : [plain("NewTitle")]),
    ...(before.state === after.state ? [] : [plain("NewIcon"), plain("NewAttentionIcon")]),
    ...(statusOf(before) === statusOf(after)
      ? []
      : [{ member: "NewStatus", signature: "s", body: [statusOf(after)] }]),
    ...(before.hint === after.hint ? [] : [plain("NewToolTip")]),
  ];
}
