import type { Media } from "../channels/index.ts";
import type { Inline } from "../../lib/pico-wire/index.ts";

const none: readonly Media[] = [];
const image = ({ type, base64, filename }: Inline): Media => ({
  type,
  bytes: Buffer.from(base64, "base64"),
  ...(filename !== undefined && { filename }),
});

/** Images of a client's message, as applications get them. */
export const mediaOf = (images: readonly Inline[]): readonly Media[] =>
  images.length === 0 ? none : images.map(image);
