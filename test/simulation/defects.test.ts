import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DEFECTS, isOfToolServers, placeOf } from './defects.ts';
import { caughtInSimulation } from './run-defect.ts';

/** Of the rules for automated lines. */
const LINES = ['talks-into-music', 'gives-up-on-all', 'deaf-on-hold'];
/** `npm run defects` tries all of them. Three leave the caller in silence, one runs a tool twice. */
const IN_CI = ['no-progress-watch', 'no-judge', 'no-false-interruption', 'call-sent-again', ...LINES];

describe('seeded defects', () => {
  it('number at least thirty, each with a unique name', () => {
    expect(DEFECTS.length).toBeGreaterThanOrEqual(30);
    expect(new Set(DEFECTS.map(({ name }) => name)).size).toBe(DEFECTS.length);
  });

  it.each(DEFECTS.map((defect) => [defect.name, defect] as const))(
    '%s has its place in the code',
    async (_name, defect) => {
      const source = await readFile(
        fileURLToPath(new URL(`../../runtime/${defect.file}`, import.meta.url)),
        'utf8',
      );
      expect(source.split(placeOf(defect))).toHaveLength(2);
      expect(defect.replace).not.toBe(defect.find);
    },
  );

  it.each(DEFECTS.filter(({ name }) => IN_CI.includes(name)).map((defect) => [defect.name, defect] as const))(
    'the simulation catches %s',
    async (_name, defect) => {
      // Each call has one of the scenes of a tool server.
      expect(await caughtInSimulation(defect, isOfToolServers(defect) ? 300 : 100)).toMatch(/^seed \d+: /);
    },
    600_000,
  );
});
