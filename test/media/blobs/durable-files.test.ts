import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DurableFiles } from '#media/blobs/durable-files.ts';

let root: string;
/** Directories synced so far, relative to the root, and how to complete each sync. */
let syncs: { readonly directory: string; readonly end: PromiseWithResolvers<void> }[];
let files: DurableFiles;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'parley-files-'));
  syncs = [];
  files = new DurableFiles((directory) => {
    const end = Promise.withResolvers<void>();
    syncs.push({ directory: directory.slice(root.length + 1), end });
    return end.promise;
  });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string) => files.write(join(root, path), Buffer.from(path));
const synced = () => syncs.map(({ directory }) => directory);
const begun = (count: number) => vi.waitFor(() => expect(syncs).toHaveLength(count));
const endAll = () => {
  for (const { end } of syncs) end.resolve();
};
/** What has become of a write, without waiting for it. */
const isSettled = async (writing: Promise<void>) =>
  (await Promise.race([writing.then(() => true), Promise.resolve(false)])) as boolean;

describe('durable files', () => {
  it('that are written during a sync of their directory share the next one', async () => {
    const first = write('one');
    await begun(1);
    const others = ['two', 'three', 'four'].map(write);
    await vi.waitFor(() => expect(readFileSync(join(root, 'four'), 'utf8')).toBe('four'));
    endAll();
    await first;
    await begun(2);
    endAll();
    await Promise.all(others);
    expect(synced()).toEqual(['', '']);
  });

  it('are written once every new directory above them is durable, whoever made it', async () => {
    const maker = write('s/t/one');
    await begun(3);
    expect(synced().sort()).toEqual(['', 's', 's/t']);
    const follower = write('s/t/two');
    await vi.waitFor(() => expect(readFileSync(join(root, 's/t/two'), 'utf8')).toBe('s/t/two'));
    syncs.find(({ directory }) => directory === 's/t')?.end.resolve();
    syncs.find(({ directory }) => directory === 's')?.end.resolve();
    expect(await isSettled(maker)).toBe(false);
    endAll();
    await maker;
    await vi.waitFor(() => expect(syncs.length).toBeGreaterThan(3));
    expect(await isSettled(follower)).toBe(false);
    endAll();
    await follower;
  });

  it('sync the directories that a failed write left behind', async () => {
    const impossible = `s/${'x'.repeat(300)}`;
    await expect(write(impossible)).rejects.toThrow('ENAMETOOLONG');
    const next = write('s/one');
    await begun(2);
    expect(synced().sort()).toEqual(['', 's']);
    endAll();
    await next;
  });

  it('reject if their directory cannot be synced, and no others with them', async () => {
    const fragile = new DurableFiles(async (directory) => {
      if (directory.endsWith('/a')) throw new Error('disk failure');
    });
    const paths = ['a/one', 'b/one'].map((path) => join(root, path));
    const outcomes = await Promise.allSettled(paths.map((path) => fragile.write(path, Buffer.from('x'))));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});
