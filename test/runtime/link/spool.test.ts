import { appendFile, cp, mkdtemp, readdir, rm } from 'node:fs/promises';
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
    await cp(join(directory, 'w1', 'reports.jsonl'), join(left, 'w1', 'reports.jsonl'), { recursive: true });
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

  it('forgets a session that the control plane has closed', async () => {
    const spool = await openSpool(directory, 'w1');
    spool.append(session, joined);
    spool.drop('one', 1);
    expect(spool.waiting()).toEqual([]);
    await spool.close();
  });
});
