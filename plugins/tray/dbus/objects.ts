// Serves objects on the bus: runs method calls, reads properties and describes interfaces, so that
// tools such as `gdbus` and `busctl` work.
import type { Message } from "./message.ts";
import { parseSignature, variant, type SignatureType, type BusValue } from "./codec.ts";

interface Property {
  readonly signature: string;
  get(): BusValue;
}
interface Method {
  readonly takes: string;
  readonly gives: string;
  /** Receives values of exactly the types in `takes`. Throws a `BusError` to reject the call. */
  run(...values: readonly BusValue[]): readonly BusValue[];
}
export interface Interface {
  readonly properties: Readonly<Record<string, Property>>;
  readonly methods: Readonly<Record<string, Method>>;
  readonly signals: Readonly<Record<string, string>>;
}
/** Path -> name of the interface. */
export type Objects = Readonly<Record<string, Readonly<Record<string, Interface>>>>;

interface MethodReturn {
  readonly signature: string;
  readonly body: readonly BusValue[];
}

type Reason =
  | "UnknownObject"
  | "UnknownInterface"
  | "UnknownMethod"
  | "UnknownProperty"
  | "InvalidArgs"
  | "PropertyReadOnly"
  | "Failed";

/** An error of the bus, `org.freedesktop.DBus.Error.<reason>`. */
export class BusError extends Error {
  readonly reason: Reason;
  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const ownEntry = <T>(table: Readonly<Record<string, T>>, name: string | undefined): T | undefined =>
  name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;

/** Runs the method that a call names. Throws a `BusError` if there is none. */
export function handleCall(
  objects: Objects,
  { path, interface: name, member, signature, body }: Message,
): MethodReturn {
  if (name === "org.freedesktop.DBus.Peer" && member === "Ping") return { signature: "", body: [] };
  const interfaces = ownEntry(objects, path);
  if (!interfaces) throw new BusError("UnknownObject", "there is no such object");
  const allInterfaces = { ...interfaces, ...standardInterfaces(interfaces) };
  const found =
    name === undefined
      ? Object.values(allInterfaces).find(({ methods }) => ownEntry(methods, member))
      : ownEntry(allInterfaces, name);
  if (!found) throw new BusError("UnknownInterface", "there is no such interface");
  const method = ownEntry(found.methods, member);
  if (!method) throw new BusError("UnknownMethod", "there is no such method");
  if (method.takes !== signature)
    throw new BusError("InvalidArgs", `this method expects the signature "${method.takes}"`);
  return { signature: method.gives, body: method.run(...body) };
}

function standardInterfaces(
  interfaces: Readonly<Record<string, Interface>>,
): Record<string, Interface> {
  const requireInterface = (name: BusValue): Interface => {
    const found = ownEntry(interfaces, name as string);
    if (!found) throw new BusError("UnknownInterface", "there is no such interface");
    return found;
  };
  const get = (name: BusValue, key: BusValue): BusValue[] => {
    const property = ownEntry(requireInterface(name).properties, key as string);
    if (!property) throw new BusError("UnknownProperty", "there is no such property");
    return [variant(property.signature, property.get())];
  };
  const all = (name: BusValue): BusValue[] => {
    const entries = Object.entries(requireInterface(name).properties);
    return [new Map(entries.map(([key, { signature, get }]) => [key, variant(signature, get())]))];
  };
  const set = (): never => {
    throw new BusError("PropertyReadOnly", "all properties are read-only");
  };
  const describe = { takes: "", gives: "s", run: () => [introspect(interfaces)] };
  return {
    "org.freedesktop.DBus.Introspectable": {
      properties: {},
      methods: { Introspect: describe },
      signals: {},
    },
    "org.freedesktop.DBus.Properties": {
      properties: {},
      methods: {
        Get: { takes: "ss", gives: "v", run: get },
        GetAll: { takes: "s", gives: "a{sv}", run: all },
        Set: { takes: "ssv", gives: "", run: set },
      },
      signals: {},
    },
  };
}

function introspect(interfaces: Readonly<Record<string, Interface>>): string {
  const signatureOf = ({ code, parts }: SignatureType): string => {
    const inside = parts.map(signatureOf).join("");
    return code === "(" ? `(${inside})` : code === "{" ? `{${inside}}` : code + inside;
  };
  const args = (signature: string, direction: string): string =>
    parseSignature(signature)
      .map((type) => `<arg type="${signatureOf(type)}"${direction}/>`)
      .join("");
  const described = Object.entries(interfaces).map(([name, { properties, methods, signals }]) =>
    [
      `<interface name="${name}">`,
      ...Object.entries(properties).map(
        ([key, { signature }]) => `<property name="${key}" type="${signature}" access="read"/>`,
      ),
      ...Object.entries(methods).map(
        ([key, { takes, gives }]) =>
          `<method name="${key}">` +
          args(takes, ' direction="in"') +
          args(gives, ' direction="out"') +
          "</method>",
      ),
      ...Object.entries(signals).map(
        ([key, signature]) => `<signal name="${key}">${args(signature, "")}</signal>`,
      ),
      "</interface>",
    ].join(""),
  );
  return `<node>${described.join("")}</node>`;
}
