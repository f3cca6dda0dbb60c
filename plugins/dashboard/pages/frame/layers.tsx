/** The layers above the page: toasts and dialogs, whose code loads after the page. @module */
import type { JSX } from "preact";
import { later } from "../live/later.ts";

const found = later(() => import("./dialog-layers.tsx"));

/** Draws all layers. */
export function Layers(): JSX.Element | null {
  const layers = found.module.value;
  return layers ? <layers.DialogLayers /> : null;
}
