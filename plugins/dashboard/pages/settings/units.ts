// Converts setting values between the stored unit (bytes, seconds) and the unit that people choose.

/** A unit that a person can choose for a setting. */
export interface Unit {
  readonly name: string;
  /** How many stored units it has. */
  readonly factor: number;
}

const unitsByStored: Readonly<Record<string, readonly Unit[]>> = {
  bytes: [
    { name: "KiB", factor: 1024 },
    { name: "MiB", factor: 1024 ** 2 },
    { name: "GiB", factor: 1024 ** 3 },
  ],
  seconds: [
    { name: "s", factor: 1 },
    { name: "min", factor: 60 },
    { name: "h", factor: 3600 },
  ],
};

/** Returns the units that a setting stored in `stored` offers, smallest first; empty if none. */
export function unitsOf(stored: string | undefined): readonly Unit[] {
  return stored !== undefined && Object.hasOwn(unitsByStored, stored) ? unitsByStored[stored]! : [];
}

/** Shows a stored value in the largest unit that needs no fraction, else in the smallest unit. */
export function toUnitValue(value: number, units: readonly Unit[]): { text: string; unit: Unit } {
  const exact = units.findLast(({ factor }) => value !== 0 && value % factor === 0);
  const unit = exact ?? units[0]!;
  return { text: String(value / unit.factor), unit };
}

/** Returns the stored value of a typed number. Rounds off the error of binary fractions. */
export const fromUnitValue = (typed: number, { factor }: Unit): number =>
  Number((typed * factor).toPrecision(12));

/** Names a stored value with its unit: `32 MiB`, `5 min`, `200 messages`. */
export function quantityLabel(value: number, stored: string | undefined): string {
  const units = unitsOf(stored);
  if (units.length === 0) return [groupDigits(value), stored].filter(Boolean).join(" ");
  const { text, unit } = toUnitValue(value, units);
  return `${groupDigits(Number(text))} ${unit.name}`;
}

/** Groups the digits of a number for a sentence: `1,000,000`. */
const groupDigits = (n: number): string => n.toLocaleString("en", { maximumFractionDigits: 6 });
