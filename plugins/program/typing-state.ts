// Tracks the typing indicators that the program shows.
import type { Address } from "../channels/index.ts";

/** Sessions with a typing indicator at the same time. Programs may forget `typing.stop`. */
const maxTypingSessions = 1_024;

/** The sessions in which the program shows a typing indicator. */
export function createTypingState(show: (address: Address, on: boolean) => void) {
  const active = new Map<string, Address>();
  return {
    set(address: Address, on: boolean): void {
      const key = `${address.channel}\0${address.session}`;
      active.delete(key);
      if (on) active.set(key, address);
      show(address, on);
      const [oldest] = active.size > maxTypingSessions ? active : [];
      if (!oldest) return;
      active.delete(oldest[0]);
      show(oldest[1], false);
    },
    /** Removes the indicator of one session, if the program shows one. */
    hide(address: Address): void {
      if (active.delete(`${address.channel}\0${address.session}`)) show(address, false);
    },
    /** Removes all typing indicators. */
    clear(): void {
      for (const address of active.values()) show(address, false);
      active.clear();
    },
  };
}
