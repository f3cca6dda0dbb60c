import type { Media } from "../channels/index.ts";
import type { InlineImage } from "../../lib/pico-wire/index.ts";

const noMedia: readonly Media[] = [];
const decodeImage = ({ type, base64, filename }: InlineImage): Media => ({
  type,
  bytes: Buffer.from(base64, "base64"),
  ...(filename !== undefined && { filename }),
});

/** Images of a client's message, as applications get them. */
export const toChannelMedia = (images: readonly InlineImage[]): readonly Media[] =>
  images.length === 0 ? noMedia : images.map(decodeImage);
