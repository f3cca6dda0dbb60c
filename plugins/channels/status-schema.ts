// The status of an application: the same for lines of a program and for hosts.
import * as z from "zod";
import type { Log } from "../../kernel/index.ts";
import type { ApplicationStatus } from "./contract.ts";

const line = (max: number) => z.string().trim().min(1).max(max);
const mode = z.object({
  id: line(64),
  name: line(80),
  /** It lets the application act without asking. */
  unguarded: z.boolean().optional(),
});

export const statusSchema = z.object({
  state: z.enum(["ready", "starting", "needs_action", "failed"]),
  name: line(80).optional(),
  message: line(500).optional(),
  fix: line(500).optional(),
  mode: line(64).optional(),
  modes: z.array(mode).max(32).optional(),
  commands: z
    .array(
      z.object({
        name: z.string().regex(/^[^\s/\p{Cc}][^\s\p{Cc}]{0,63}$/u),
        description: line(500).optional(),
        hint: line(80).optional(),
      }),
    )
    .max(256)
    .optional(),
  counts: z
    .array(z.object({ label: line(80), value: z.number().min(0) }))
    .max(16)
    .optional(),
});

/** Reads the status of the application; a wrong one is logged once and left out. */
export class StatusReader {
  private readonly log: Log;
  private lastProblem = "";

  constructor(log: Log) {
    this.log = log;
  }

  read(status: () => unknown): ApplicationStatus | undefined {
    const problem = (text: string): undefined => {
      if (text !== this.lastProblem)
        this.log.error({ problem: text }, "the status of the application is not valid");
      this.lastProblem = text;
      return undefined;
    };
    try {
      const given = status();
      if (given === undefined) return undefined;
      const { success, data, error } = statusSchema.safeParse(given);
      if (success) return JSON.parse(JSON.stringify(data)) as ApplicationStatus;
      const [issue] = error.issues;
      return problem(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not an object"}`);
    } catch (error) {
      return problem((error as Error).message);
    }
  }
}
