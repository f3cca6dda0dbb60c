// Delivers messages to devices: repeats, removes what has gone, and bounds how many one receives.
import type { Log, Release } from "../../kernel/index.ts";
import { BoundedMap } from "../../lib/util.ts";
import type { Device } from "./devices.ts";
import type { Delivery, Sent } from "./sender.ts";

/** The outcome of a message, for the person. */
export interface Delivered {
  readonly outcome: "sent" | "gone" | "failed" | "limited";
  /** Why it failed. Never contains the address, which is a secret. */
  readonly problem?: string;
}

/** When a device last received something, and why the last message did not reach it. */
interface DeviceState {
  readonly lastAt?: number;
  readonly problem?: string;
}

interface DeliveryOptions {
  readonly clock: { now(): number; monotonic(): number };
  readonly after: (ms: number, run: () => void) => Release;
  readonly log: Log;
  readonly send: (device: Device, message: Buffer, delivery: Delivery) => Promise<Sent>;
  readonly remove: (id: string) => Promise<void>;
  /** False after the device was turned off or signed out. */
  readonly isOn: (id: string) => Promise<boolean>;
}

const maxAttempts = 3;
const logEveryMs = 3_600_000;
/** A device receives at most this many messages in ten minutes. */
const maxMessages = 60;
const windowMs = 600_000;
const maxKnown = 1_000;

interface Known extends DeviceState {
  /** Monotonic times of the newest messages. */
  readonly times: readonly number[];
  readonly loggedAt?: number;
}

export class DeviceDelivery {
  private readonly options: DeliveryOptions;
  /** By device. Those that were removed stay until there are too many. */
  private readonly known = new BoundedMap<string, Known>(maxKnown);

  constructor(options: DeliveryOptions) {
    this.options = options;
  }

  stateOf(id: string): DeviceState {
    const { lastAt, problem } = this.known.get(id) ?? {};
    return {
      ...(lastAt !== undefined && { lastAt }),
      ...(problem !== undefined && { problem }),
    };
  }

  forget(id: string): void {
    this.known.delete(id);
  }

  /**
   * Sends a message, up to three times.
   *
   * @param short - The same without content, for a service that takes no message of this size.
   */
  async deliver(
    device: Device,
    message: Buffer,
    delivery: Delivery,
    short: Buffer,
  ): Promise<Delivered> {
    const { monotonic } = this.options.clock;
    const { times = [], ...before } = this.known.get(device.id) ?? {};
    const recent = times.filter((at) => monotonic() - at < windowMs);
    if (recent.length >= maxMessages) return { outcome: "limited", problem: "too many messages" };
    this.known.set(device.id, { ...before, times: [...recent, monotonic()] });
    let body = message;
    let problem = "";
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const sent = await this.options.send(device, body, delivery);
      if (sent.outcome === "sent") return this.note(device.id);
      if (sent.outcome === "gone") {
        await this.options.remove(device.id);
        this.forget(device.id);
        return { outcome: "gone", problem: "the browser has ended its subscription" };
      }
      problem = sent.outcome === "too_large" ? "the message is too large" : sent.problem;
      if (sent.outcome === "refused") break;
      if (sent.outcome === "too_large" && body === short) break;
      if (sent.outcome === "too_large") body = short;
      else if (attempt < maxAttempts && !(await this.waitFor(device, sent.seconds)))
        return { outcome: "gone", problem: "notifications were turned off" };
    }
    return this.note(device.id, problem);
  }

  /** @returns Whether the device is still on. */
  private async waitFor({ id }: Device, seconds: number): Promise<boolean> {
    await new Promise<void>((resolve) => void this.options.after(seconds * 1_000, resolve));
    return this.options.isOn(id);
  }

  private note(id: string, problem?: string): Delivered {
    const { clock, log } = this.options;
    const { times = [], lastAt, loggedAt } = this.known.get(id) ?? {};
    if (problem === undefined) {
      this.known.set(id, { times, lastAt: clock.now() });
      return { outcome: "sent" };
    }
    const isDue = loggedAt === undefined || clock.monotonic() - loggedAt >= logEveryMs;
    if (isDue) log.warn({ device: id, reason: problem }, "a notification could not be sent");
    this.known.set(id, {
      times,
      problem,
      ...(lastAt !== undefined && { lastAt }),
      loggedAt: isDue ? clock.monotonic() : loggedAt,
    });
    return { outcome: "failed", problem };
  }
}
