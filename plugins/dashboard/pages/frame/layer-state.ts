/** Which layer of the frame is open. @module */
import { signal } from "@preact/signals";

type Layer = "more" | "palette" | "shortcuts";

/** The open layer, or undefined. */
export const layer = signal<Layer | undefined>(undefined);

export const openLayer = (name: Layer): void => {
  layer.value = name;
};
export const closeLayer = (): void => {
  layer.value = undefined;
};
