/** Issues grants for the check of the way in, and runs the check for the page. @module */
import type { Clock, Log } from "../../../../kernel/index.ts";
import type { PublicCheckView } from "../../shared/views.ts";
import { sectionsOf } from "../api/settings.ts";
import type { DashboardContext } from "../context.ts";
import { probedPaths } from "../auth/proxy-probe.ts";
import type { PublicCheck } from "../service.ts";
import type { ProbeGrant, PublicChecks } from "./contract.ts";
import type { ProbeGrants } from "./grants.ts";
import { probePaths } from "./routes.ts";

type Needs = Pick<DashboardContext, "http" | "services" | "site" | "proxySignIn">;

interface RunnerOptions {
  readonly check: PublicCheck;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
}

export class PublicCheckRunner implements PublicChecks {
  private readonly needs: Needs;
  private readonly grants: ProbeGrants;
  private readonly check: PublicCheck;
  private readonly log: Log;
  private readonly clock: Clock;
  private readonly random: (bytes: number) => Uint8Array;
  private current: Omit<PublicCheckView, "url"> = { isRunning: false };
  private stopping = new AbortController();

  constructor(needs: Needs, grants: ProbeGrants, { check, log, clock, random }: RunnerOptions) {
    this.needs = needs;
    this.grants = grants;
    this.check = check;
    this.log = log;
    this.clock = clock;
    this.random = random;
  }

  async issue(): Promise<ProbeGrant> {
    const { http, services, site, proxySignIn } = this.needs;
    const { setting } = proxySignIn;
    const sections = await sectionsOf(services).catch(() => []);
    const media = sections.find(({ section }) => section === "media")?.value;
    const { max_file_mb: maxFileMb } = (media ?? {}) as { max_file_mb?: number };
    const publicUrl = http.publicUrl("/");
    return {
      ...this.grants.issue(),
      paths: probePaths,
      basePath: site.url("/").replace(/\/$/, ""),
      ...(publicUrl !== undefined && { publicUrl }),
      ...(maxFileMb !== undefined && services.media !== undefined && { maxFileMb }),
      ...(setting && {
        proxySignIn: {
          header: setting.header,
          secretHeader: setting.secret_header,
          paths: probedPaths,
        },
      }),
    };
  }

  revoke(id: string): void {
    this.grants.end(id);
  }

  view(): PublicCheckView {
    const url = this.needs.http.publicUrl("/");
    return { ...this.current, ...(url !== undefined && { url }) };
  }

  start(isQuick: boolean): void {
    if (this.current.isRunning) return;
    const before = this.current;
    this.current = { ...before, isRunning: true, step: "Starting…" };
    this.stopping = new AbortController();
    void this.run(isQuick, this.stopping.signal).then(
      (checks) => {
        this.current = { isRunning: false, checks, at: this.clock.now() };
      },
      (error: unknown) => {
        this.log.error({ err: error }, "the check of the public URL failed");
        this.current = { isRunning: false, problem: "The check could not run; see the log." };
      },
    );
  }

  stop(): void {
    this.stopping.abort();
    this.grants.end();
  }

  private async run(isQuick: boolean, signal: AbortSignal) {
    const grant = await this.issue();
    const { random } = this;
    const now = this.clock.now();
    const report = (step: string): void => {
      this.current = { ...this.current, step };
    };
    try {
      return await this.check(grant, { isQuick, report, signal, random, now });
    } finally {
      this.revoke(grant.id);
    }
  }
}
