import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeNeeds } from '../needs.ts';
import type { HeardOutside } from './compose-network.ts';

const run = promisify(execFile);
const PROGRAM_MS = 150_000;
/** Longer than the program's, so that its output is shown. */
const LIMIT_MS = PROGRAM_MS + 30_000;
const NEEDED = ['unshare', 'ip', 'iptables', 'baresip', 'redis-server', 'livekit-server'];

describeNeeds(NEEDED)('the parts with exactly the environment of the compose file', () => {
  it(
    'are heard by a phone and by a participant of a room on the other side of one-to-one NAT',
    async () => {
      const program = join(import.meta.dirname, 'compose-network.ts');
      const { stdout } = await run('unshare', ['--net', process.execPath, program], {
        timeout: PROGRAM_MS,
        maxBuffer: 16 * 1_048_576,
      });
      const heard = JSON.parse(/^heard (.+)$/m.exec(stdout)?.[1] ?? 'null') as HeardOutside;
      expect(heard.areHealthy).toEqual([true, true]);
      expect(heard.phoneSeconds).toBeGreaterThan(2);
      expect(heard.roomSeconds).toBeGreaterThan(1);
    },
    LIMIT_MS,
  );
});
