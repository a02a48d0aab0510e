import { expect, it } from 'vitest';
import { runThread } from '#control-plane/operations/backup/run-thread.ts';

const thread = (code: string) => runThread(new URL(`data:text/javascript,${code}`), null);

it('security 18: a backup fails when its thread exits before it is done', async () => {
  await expect(thread('process.exit(3)')).rejects.toThrow('exit code 3');
  await expect(thread('')).resolves.toBeUndefined();
});
