/** The voices of callers, in a process that does nothing else, as the command line is while they speak. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { speakerOf } from '#caller/voices.ts';
import { detectEspeakVoices } from '#media/speech/local/espeak.ts';
import { describeInstalled } from '../needs.ts';

const STEPS = [{ do: 'say', text: 'What are your opening hours?' }] as const;
const run = promisify(execFile);

describeInstalled(detectEspeakVoices().length > 0, 'eSpeak NG (npm run espeak)')(
  'a caller with eSpeak',
  () => {
    it('speaks with an accent, and at another speed', async () => {
      const program = `
      import { speakerOf } from '#caller/voices.ts';
      const of = async (voice, speed) => {
        const speaker = await speakerOf({ voice, speed, steps: ${JSON.stringify(STEPS)} });
        return speaker('What are your opening hours?', voice, speed).samples.length;
      };
      console.log(JSON.stringify([await of('espeak-en', 1), await of('espeak-de', 1), await of('espeak-en', 2)]));`;
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
        cwd: resolve(import.meta.dirname, '../..'),
      });
      const [english, german, fast] = JSON.parse(stdout);
      expect(german).not.toBe(english);
      expect(fast).toBeLessThan(0.7 * english);
    });

    it('is told which voices there are', async () => {
      await expect(speakerOf({ voice: 'espeak-xx', steps: [...STEPS] })).rejects.toThrow(/it has espeak-en/);
    });
  },
);
