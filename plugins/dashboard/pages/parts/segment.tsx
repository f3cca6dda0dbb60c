/** A choice among a few options, as adjoining buttons. @module */
import { useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

interface Option<T extends string> {
  readonly value: T;
  readonly name: string;
  readonly icon?: string;
}

interface SegmentProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly Option<T>[];
  readonly onChange: (value: T) => void;
  /** Shows only the icons; the names are labels and tooltips. */
  readonly icons?: boolean;
}

const steps: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
};

/** A radio group: Tab reaches the chosen option, arrow keys choose another. */
export function Segment<T extends string>(props: SegmentProps<T>) {
  const { label, value, options, onChange, icons } = props;
  const box = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const isMirrored = getComputedStyle(box.current!).direction === "rtl";
    const isSideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
    const step = (steps[event.key] ?? 0) * (isMirrored && isSideways ? -1 : 1);
    if (step === 0) return;
    event.preventDefault();
    const at = options.findIndex((option) => option.value === value);
    const next = (at + step + options.length) % options.length;
    onChange(options[next]!.value);
    box.current?.querySelectorAll<HTMLElement>('[role="radio"]')[next]?.focus();
  };
  return (
    <div class="segment" role="radiogroup" aria-label={label} ref={box} onKeyDown={move}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          role="radio"
          aria-checked={option.value === value}
          tabIndex={option.value === value ? 0 : -1}
          aria-label={icons ? option.name : undefined}
          title={icons ? option.name : undefined}
          onClick={() => onChange(option.value)}
        >
          {option.icon !== undefined && <Icon name={option.icon} small />}
          {!icons && option.name}
        </button>
      ))}
    </div>
  );
}
