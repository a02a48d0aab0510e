import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describeContainers } from './containers.ts';
import { openEnclosure } from './enclosure.ts';

describeContainers('an enclosure of programs', () => {
  it('ends what still runs in it and leaves no file when it is closed', async () => {
    const enclosure = await openEnclosure({});
    await enclosure.run('sh', '-c', 'echo text > "$TMPDIR/file"');
    expect((await enclosure.run('cat', `${enclosure.folder}/file`)).stdout).toBe('text');
    // Not killed with the program that was started, but with the enclosure.
    const program = enclosure.start('sh', '-c', 'sleep 1000 & echo started; wait');
    await program.printed(/started/);
    await enclosure.close();
    // Nothing holds its output any more.
    await expect(program.printed(/what is never printed/)).rejects.toThrow('was not printed');
    expect(existsSync(enclosure.folder)).toBe(false);
  });
});
