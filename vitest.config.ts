import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Tests that need a process of their own: they start whole products, judge a process by its memory or the
 * native libraries it has loaded, or take long.
 */
const OWN_PROCESS = [
  'test/{journeys,simulation,fleet-simulation,fleet-scene,operator-scene,deploy,hostile}/**/*.test.ts',
  'test/{media/{thread,livekit},vendor-libraries}/**/*.test.ts',
];
/** Tests that take long however short their files are. */
const LONG = /\/test\/(?:journeys\/|fleet-simulation\/|deploy\/image)/;
const LONG_BYTES = 12_000;
/** The end of an import from a file beside the importing one. */
const FROM = "} from './";
/** Tests whose programs CI still builds while the others run. */
const LAST = /\/test\/(?:deploy\/(?:chart|monitoring)|vendor-libraries\/|journeys\/asterisk)/;

/** Size of a test file with that of the tests it imports, which share its product. */
function sizeWithParts(file: string): number {
  const parts = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('import { describe') && line.includes(FROM))
    .map((line) => join(dirname(file), line.slice(line.indexOf(FROM) + FROM.length, -"';".length)));
  return [file, ...parts].reduce((bytes, part) => bytes + statSync(part).size, 0);
}

/** Large files first, as by default, but none that takes long is left for the end, when others are idle. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const weight = ({ moduleId }: TestSpecification) => {
      if (LAST.test(moduleId)) return 0;
      if (!LONG.test(moduleId)) return statSync(moduleId).size;
      return Math.max(sizeWithParts(moduleId), LONG_BYTES);
    };
    return [...files].sort((one, other) => weight(other) - weight(one));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    // These only end what hangs; a busy machine needs many times what an idle one does.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // Most of the time goes to journeys. One uses 0.3 to 0.6 of a core, as it waits for speech and timers:
    // two at once leave part of two cores idle.
    maxWorkers: 3,
    // Node loads the modules itself, as in production: saves a tenth of the time of short tests.
    experimental: { viteModuleRunner: false },
    // Some load ONNX Runtime themselves.
    env: { ORT_DISABLE_TELEMETRY: '1' },
    projects: [
      { extends: true, test: { name: 'own process', include: OWN_PROCESS } },
      {
        // Loading the product's packages anew for each file would take a third of these tests' time.
        extends: true,
        test: {
          name: 'shared process',
          include: ['test/**/*.test.ts'],
          exclude: OWN_PROCESS,
          isolate: false,
        },
      },
    ],
  },
});
