import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * A sequencer that starts the named files first, so that none of them runs alone at the end.
 *
 * @param names - Files without directory and `.test.ts`, longest first.
 */
export function longestFirst(names: readonly string[]): typeof BaseSequencer {
  const place = ({ moduleId }: TestSpecification): number => {
    const index = names.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
    return index === -1 ? names.length : index;
  };
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return (await super.sort(files)).sort((a, b) => place(a) - place(b));
    }
  };
}
