/** Remembers the latest choices of the command palette in this browser. @module */
import { base } from "../live/base.ts";
import { keep, readStored } from "../live/storage.ts";
import type { Choice } from "./palette-choices.ts";

const storageKey = "doorward-recent";
const maxKept = 5;

/** A choice in the storage. Actions have no address: their name finds them. */
interface Kept {
  readonly name: string;
  readonly icon: string;
  readonly to?: string;
}

const isKept = (entry: unknown): entry is Kept => {
  const { name, icon, to } = (entry ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || typeof icon !== "string") return false;
  return (
    to === undefined || (typeof to === "string" && to.startsWith(`${base()}/`) && !/^\/\//.test(to))
  );
};

function read(): readonly Kept[] {
  const kept = readStored(storageKey);
  return Array.isArray(kept) ? kept.filter(isKept) : [];
}

/** @returns The latest choices, newest first. */
export function recentChoices(fixed: readonly Choice[]): readonly Choice[] {
  return read().flatMap(({ name, icon, to }) => {
    const known = fixed.find((choice) => choice.name === name);
    const target = to ?? known?.to;
    return target === undefined ? [] : [{ group: "Recent", name, icon, to: target }];
  });
}

export function rememberChoice({ name, icon, to }: Choice): void {
  const kept: Kept = { name, icon, ...(typeof to === "string" && { to }) };
  const others = read().filter((one) => one.name !== name || one.to !== kept.to);
  keep(storageKey, [kept, ...others].slice(0, maxKept));
}

/** Forgets them at sign-out: they may contain titles of conversations. */
export const forgetChoices = (): void => keep(storageKey, undefined);
