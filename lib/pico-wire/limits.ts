import { frameLimits } from "./frame-limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** Sizes of the protocol, in bytes unless the name says otherwise. */
export const limits = {
  ...frameLimits,
  /** `content` of a message from a client, as UTF-8. */
  content: MiB,
  /** One inline medium, decoded. */
  medium: 20 * MiB,
  /** One message from the server, serialised. */
  outboundFrame: 512 * KiB,
} as const;
