import type { Address } from "../channels/index.ts";

/** Sessions in which somebody writes; more are not shown at once, since programs forget to say that nobody does. */
const maxTypingSessions = 1_024;

/** In which sessions the program writes. */
export interface TypingState {
  set(address: Address, on: boolean): void;
  /** Nobody writes any more. */
  end(): void;
}

export function createTypingState(show: (address: Address, on: boolean) => void): TypingState {
  const open = new Map<string, Address>();
  return {
    set(address, on) {
      const key = `${address.channel}\0${address.session}`;
      open.delete(key);
      if (on) open.set(key, address);
      show(address, on);
      const [oldest] = open.size > maxTypingSessions ? open : [];
      if (!oldest) return;
      open.delete(oldest[0]);
      show(oldest[1], false);
    },
    end() {
      for (const address of open.values()) show(address, false);
      open.clear();
    },
  };
}
