// Checks what an identity may do in its sessions.
import type { Stopper } from "../../channels/index.ts";
import type { Permission } from "../../http/index.ts";
import type { Requester } from "../protocol-service.ts";

const holder = ({ sender }: Pick<Requester, "sender">): string =>
  sender.id.startsWith("key:") ? "This key" : "This sign-in";

/** @returns The sentence that names the missing right; undefined if the person has it. */
export function whyNotAllowed(
  person: Pick<Requester, "may" | "sender">,
  permission: Permission,
): string | undefined {
  if (person.may === undefined || person.may.has(permission)) return undefined;
  return `${holder(person)} does not have the right "${permission}".`;
}

/** @returns The sentence for a person whom `toStopper` gives no right to stop. */
export const noStopRight = (person: Pick<Requester, "sender">): string =>
  `${holder(person)} has neither the right "stop" nor the right "write".`;

/** @returns Who stops messages, perhaps only their own; undefined without a right to stop. */
export function toStopper({ may, sender }: Pick<Requester, "may" | "sender">): Stopper | undefined {
  if (may === undefined || may.has("stop")) return sender;
  return may.has("write") ? { ...sender, ownOnly: true } : undefined;
}
