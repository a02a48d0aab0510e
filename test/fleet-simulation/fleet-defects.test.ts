import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { placeOf } from '../simulation/defects.ts';
import { findDefect } from './find-defect.ts';
import { FLEET_DEFECTS } from './fleet-defects.ts';

/** CI tries all of them by the command; these three are found by one of the first seeds. */
const QUICK = ['silence-is-doubt', 'hold-kept', 'counted-twice'];

describe('seeded defects of the fleet', () => {
  it('number at least twelve, each with a unique name', () => {
    expect(FLEET_DEFECTS.length).toBeGreaterThanOrEqual(12);
    expect(new Set(FLEET_DEFECTS.map(({ name }) => name)).size).toBe(FLEET_DEFECTS.length);
  });

  it.each(FLEET_DEFECTS.map((defect) => [defect.name, defect] as const))(
    '%s has its place in the code',
    async (_name, defect) => {
      const source = await readFile(fileURLToPath(new URL(`../../${defect.file}`, import.meta.url)), 'utf8');
      expect(source.split(placeOf(defect))).toHaveLength(2);
      expect(defect.replace).not.toBe(defect.find);
    },
  );

  it.each(
    FLEET_DEFECTS.filter(({ name }) => QUICK.includes(name)).map((defect) => [defect.name, defect] as const),
  )(
    'the simulation finds %s',
    async (_name, defect) => {
      expect(await findDefect(defect, 60)).not.toBeNull();
    },
    600_000,
  );
});
