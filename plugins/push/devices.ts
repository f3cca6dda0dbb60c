// The browsers that receive notifications. A device belongs to the sign-in that turned it on.
import { hash } from "node:crypto";
import { codeOf, type Log } from "../../kernel/index.ts";
import type { Records, StoredRecord } from "../records/index.ts";
import { areBrowserKeys, type BrowserKeys } from "./encryption.ts";
import { endpointProblem } from "./endpoint.ts";
import { pushErrors } from "./errors.ts";

/** A subscription as it is stored. */
export interface StoredDevice {
  readonly endpoint: string;
  readonly keys: BrowserKeys;
  /** `User-Agent` of the browser. */
  readonly userAgent: string;
  /** Address of the dashboard as the browser sees it, with the base path and a final slash. */
  readonly base: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Its sign-in, and the node that has it. Null after that sign-in has expired. */
  readonly signIn: string | null;
  readonly node: string;
}

export interface Device extends StoredDevice {
  /** 22 characters that follow from the endpoint. */
  readonly id: string;
}

interface DevicesOptions {
  readonly records: Records<StoredDevice>;
  readonly log: Log;
  /** Name of this node. */
  readonly node: string;
  /** Whether a sign-in of this node is live. */
  readonly isSignedIn: (signIn: string) => boolean;
  /** `push.hosts`. */
  readonly hosts: () => readonly string[];
}

const maxDevices = 20;

export const deviceId = (endpoint: string): string =>
  hash("sha256", endpoint, "base64url").slice(0, 22);

const toDevice = ({ key, value }: StoredRecord<StoredDevice>): Device => ({ id: key, ...value });

export class Devices {
  private readonly options: DevicesOptions;
  /** Sign-ins of this node that may have devices: all of them, as soon as `isRead`. */
  private readonly signIns = new Set<string>();
  private isRead = false;

  constructor(options: DevicesOptions) {
    this.options = options;
  }

  /** @returns The devices that may receive something, oldest first. */
  async list(): Promise<readonly Device[]> {
    const all = (await this.options.records.list()).map(toDevice);
    return all
      .filter((device) => this.mayReceive(device))
      .toSorted((a, b) => a.createdAt - b.createdAt);
  }

  /** @returns Undefined if there is none, or its sign-in has ended. */
  async get(id: string): Promise<Device | undefined> {
    const found = await this.options.records.get(id);
    const device = found && toDevice(found);
    return device && this.mayReceive(device) ? device : undefined;
  }

  /** A button may answer only while the sign-in of its device is live. */
  mayAnswer({ signIn, node }: StoredDevice): boolean {
    return signIn !== null && (node !== this.options.node || this.options.isSignedIn(signIn));
  }

  /**
   * Adds a device, or passes a known one to another sign-in.
   *
   * @param renews - Adds no device.
   * @returns The id; undefined if the device is not known and `renews`.
   * @throws subscription_invalid, too_many_devices
   */
  async add(device: Omit<StoredDevice, "node">, renews = false): Promise<string | undefined> {
    const { hosts, node, records } = this.options;
    const problem = endpointProblem(device.endpoint, hosts());
    if (problem !== undefined) throw pushErrors.subscription_invalid("endpoint", problem);
    if (!areBrowserKeys(device.keys))
      throw pushErrors.subscription_invalid("keys", "must be the two keys that the browser gives");
    const id = deviceId(device.endpoint);
    const known = await records.get(id);
    if (!known && renews) return undefined;
    const others = (await this.list()).filter((each) => each.id !== id);
    if (others.length >= maxDevices) throw pushErrors.too_many_devices(maxDevices);
    const { createdAt = device.createdAt } = known?.value ?? {};
    if (device.signIn !== null) this.signIns.add(device.signIn);
    await records.put(id, { ...device, createdAt, node });
    return id;
  }

  async remove(id: string): Promise<void> {
    await this.options.records.remove(id);
  }

  /**
   * Ends the devices of a sign-in. One whose sign-in has expired, or was replaced by another one of
   * the same browser, stays without buttons: it still says that something waits.
   */
  readonly signedOut = async (signIn: string, reason: string): Promise<void> => {
    if (!this.signIns.delete(signIn) && this.isRead) return;
    for (const { key, value, version } of await this.options.records.list()) {
      if (value.signIn !== signIn || value.node !== this.options.node) continue;
      if (reason === "expired" || reason === "replaced")
        await this.keep(key, { ...value, signIn: null }, version);
      else await this.options.records.remove(key);
    }
  };

  /** Removes the devices whose sign-ins have ended with the last stop of this node. */
  async prune(): Promise<void> {
    for (const { key, value } of await this.options.records.list()) {
      if (value.node !== this.options.node || value.signIn === null) continue;
      if (this.options.isSignedIn(value.signIn)) this.signIns.add(value.signIn);
      else await this.options.records.remove(key);
    }
    this.isRead = true;
  }

  private mayReceive({ signIn, node }: StoredDevice): boolean {
    return signIn === null || node !== this.options.node || this.options.isSignedIn(signIn);
  }

  private async keep(key: string, value: StoredDevice, version: number): Promise<void> {
    try {
      await this.options.records.put(key, value, { version });
    } catch (error) {
      // Another sign-in has taken the device over.
      if (codeOf(error) !== "record_conflict") throw error;
    }
  }
}
