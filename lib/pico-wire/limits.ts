// All limits of the protocol.
import { frameLimits } from "./frame-limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** Limits of the protocol, in bytes unless the comment says otherwise. */
export const limits = {
  ...frameLimits,
  /** `content` of a client message, as UTF-8. */
  content: MiB,
  /** One inline medium, decoded. */
  medium: 20 * MiB,
  /** One message from the server, serialized. */
  outboundFrame: 512 * KiB,
} as const;
