import { appendFile, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DurableReport } from '#protocol/worker-link.ts';
import { adoptSpools, openSpool } from '#runtime/link/spool.ts';

const joined: DurableReport = { type: 'joined', at: '2026-01-01T00:00:00Z' };
const ended: DurableReport = { type: 'ended', at: '2026-01-01T00:01:00Z', end_reason: 'user_hangup' };
const session = { sessionId: 'one', epoch: 1 };

describe('spool', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'parley-spool-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('numbers the reports of each session and epoch from 1', async () => {
    const spool = await openSpool(directory, 'w1');
    expect(spool.append(session, joined).seq).toBe(1);
    expect(spool.append(session, ended).seq).toBe(2);
    expect(spool.append({ sessionId: 'one', epoch: 2 }, joined).seq).toBe(1);
    await spool.close();
  });

  /** The directory as found after the instance's process has died: the same files, without its lock. */
  async function afterKill(): Promise<string> {
    const left = await mkdtemp(join(tmpdir(), 'parley-spool-left-'));
    await cp(join(directory, 'w1'), join(left, 'w1'), { recursive: true });
    return left;
  }

  it('keeps unacknowledged reports, and hands them to the next worker once it is closed', async () => {
    const spool = await openSpool(directory, 'w1');
    spool.append(session, joined);
    spool.append(session, ended);
    expect(await adoptSpools(directory)).toEqual(new Map());
    await spool.close();
    const adopted = (await adoptSpools(directory)).get('w1');
    expect(adopted?.waiting().map((envelope) => envelope.report.type)).toEqual(['joined', 'ended']);
    adopted?.acknowledge('one', 1, 2);
    expect(adopted?.waiting()).toEqual([]);
    await adopted?.close();
    expect(await readdir(directory)).toEqual([]);
  });

  it('is never taken from a worker that ends with nothing waiting, nor is its directory made again', async () => {
    const taken: string[] = [];
    let isOver = false;
    const watch = async () => {
      while (!isOver) taken.push(...(await adoptSpools(directory)).keys());
    };
    const watching = [watch(), watch()];
    for (let round = 0; round < 50; round++) {
      const spool = await openSpool(directory, `w${round}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      await spool.close();
    }
    isOver = true;
    await Promise.all(watching);
    expect(taken).toEqual([]);
    expect(await readdir(directory)).toEqual([]);
  });

  it('that cannot be used is named, and holds up no other one', async () => {
    await mkdir(join(directory, 'a', 'reports.jsonl'), { recursive: true });
    await mkdir(join(directory, 'b', 'lock.sqlite'), { recursive: true });
    await writeFile(join(directory, 'b', 'reports.jsonl'), '');
    await mkdir(join(directory, 'empty'));
    const spool = await openSpool(directory, 'w1');
    spool.append(session, joined);
    await spool.close();
    const unusable: string[] = [];
    const adopted = await adoptSpools(directory, { onUnusable: (name) => void unusable.push(name) });
    expect(unusable).toEqual(['a', 'b']);
    expect([...adopted.keys()]).toEqual(['w1']);
    expect(await readdir(join(directory, 'empty'))).toEqual([]);
    await adopted.get('w1')?.close();
  });

  it('whose lock is missing is taken from nobody, because a new one would not show that its worker lives', async () => {
    const spool = await openSpool(directory, 'w1');
    spool.append(session, joined);
    await rm(join(directory, 'w1', 'lock.sqlite'));
    const unusable: string[] = [];
    const adopted = await adoptSpools(directory, { onUnusable: (name) => void unusable.push(name) });
    expect([adopted.size, unusable]).toEqual([0, ['w1']]);
    expect(await readdir(join(directory, 'w1'))).not.toContain('lock.sqlite');
    await spool.close();
  });

  it('of a supervised worker is left to the next one that its supervisor starts', async () => {
    for (const [name, isSupervised] of [
      ['w1', true],
      ['w2', false],
    ] as const) {
      const spool = await openSpool(directory, name, isSupervised);
      spool.append(session, joined);
      await spool.close();
    }
    const watched = await adoptSpools(directory, { watches: true });
    expect([...watched.keys()]).toEqual(['w2']);
    const adopted = await adoptSpools(directory);
    expect([...adopted.keys()]).toEqual(['w1']);
    for (const spool of [...watched.values(), ...adopted.values()]) await spool.close();
  });

  it('ignores the torn last line of an interrupted write', async () => {
    const spool = await openSpool(directory, 'w1');
    spool.append(session, joined);
    await spool.close();
    const left = await afterKill();
    await appendFile(join(left, 'w1', 'reports.jsonl'), '{"session_id":"one","ep');
    const adopted = (await adoptSpools(left)).get('w1');
    expect(adopted?.waiting()).toHaveLength(1);
    await adopted?.close();
    await rm(left, { recursive: true, force: true });
  });

  it('lists the waiting reports from a given number on', async () => {
    const spool = await openSpool(directory, 'w1');
    for (let n = 0; n < 4; n++) spool.append(session, joined);
    expect(spool.waiting({ ...session, fromSeq: 3 }).map((envelope) => envelope.seq)).toEqual([3, 4]);
    await spool.close();
  });

  it('says when the worker that left it was last alive', async () => {
    const spool = await openSpool(directory, 'w1');
    spool.append(session, joined);
    const aliveAt = new Date('2026-01-01T00:00:30Z');
    spool.touch(aliveAt);
    expect(spool.aliveAt).toBeNull();
    await spool.close();
    const adopted = (await adoptSpools(directory)).get('w1');
    expect(adopted?.aliveAt).toEqual(aliveAt);
    await adopted?.close();
  });

  it('lets go of everything if its place is taken', async () => {
    const spool = await openSpool(directory, 'w1');
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(openSpool(directory, 'w1')).rejects.toMatchObject({ code: 'ENOTEMPTY' });
    await spool.close();
  });

  it('forgets a turn of a text session with its one report', async () => {
    const spool = await openSpool(directory, 'w1');
    const result = { reply: 'Hi', items: [], has_ended: false, error: null, usage: [] };
    expect(spool.append(session, { type: 'text_turn', result }).seq).toBe(1);
    spool.acknowledge('one', 1, 1);
    expect(spool.append(session, joined).seq).toBe(1);
    await spool.close();
  });

  it('forgets a session that the control plane has closed', async () => {
    const spool = await openSpool(directory, 'w1');
    spool.append(session, joined);
    spool.drop('one', 1);
    expect(spool.waiting()).toEqual([]);
    await spool.close();
  });
});
