/** Finds the problems that need the owner. The card with their texts loads later. @module */
import { useEffect, useState } from "preact/hooks";
import { keep, readStored } from "../live/storage.ts";
import type { ProgramView, RejectionView, StatusView, WarningView } from "../../shared/views.ts";

/** A problem. Its id changes when it occurs again; a dismissed one then returns. */
export type Finding = { readonly id: string } & (
  | { readonly kind: "warning"; readonly warning: WarningView }
  | { readonly kind: "stop-timed-out" | "lines" | "program"; readonly program: ProgramView }
  | { readonly kind: "rejection"; readonly rejection: RejectionView }
);

function findingsOf({ warnings, program, channel }: StatusView): readonly Finding[] {
  return [
    ...warnings.map((warning): Finding => {
      const { id, text } = warning;
      return { id: `${id} ${text}`, kind: "warning", warning };
    }),
    ...(program ? programFindings(program) : []),
    ...(channel?.refusals ?? []).map((rejection): Finding => {
      const { address, code, at } = rejection;
      return { id: `rejected ${address} ${code} ${at}`, kind: "rejection", rejection };
    }),
  ];
}

function programFindings(program: ProgramView): readonly Finding[] {
  const { state, restarts, restartsByOwner, stopTimeouts, invalidLines, since } = program;
  const crashes = restarts - restartsByOwner;
  const found: Finding[] = [];
  if (stopTimeouts > 0)
    found.push({ id: `stop-timed-out ${stopTimeouts}`, kind: "stop-timed-out", program });
  // A dismissed problem returns with the next process, not with each line.
  if (invalidLines > 0) found.push({ id: `lines ${since}`, kind: "lines", program });
  if (state !== "running" || crashes > 0)
    found.push({ id: `program ${state} ${crashes} ${since}`, kind: "program", program });
  return found;
}

const storageKey = "doorward-dismissed";

/** The problems that were not dismissed. */
export interface Findings {
  readonly items: readonly Finding[];
  readonly dismiss: (id: string) => void;
}

function stored(): readonly string[] {
  const value = readStored(storageKey);
  return Array.isArray(value) ? (value as string[]) : [];
}

/** Without storage, dismissed problems return with the next page. */
export function useFindings(status: StatusView): Findings {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setIds((before) => new Set([...stored(), ...before])), []);
  const dismiss = (id: string): void => {
    // Another tab may have dismissed others.
    const next = new Set([...new Set([...stored(), ...ids, id])].slice(-50));
    setIds(next);
    keep(storageKey, [...next]);
  };
  return { items: findingsOf(status).filter(({ id }) => !ids.has(id)), dismiss };
}
