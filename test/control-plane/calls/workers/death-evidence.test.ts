import { beforeEach, describe, expect, it } from 'vitest';
import { DeathEvidence } from '#control-plane/calls/workers/death-evidence.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';

const W = 'worker-b';

/** What a control plane sees, second by second. */
class World {
  readonly evidence = new DeathEvidence();
  /** The worker's link to this replica, and its place in the list of another one. */
  isLinked = true;
  isListed = false;
  /** Signalling servers that report, and whether each hears the worker. */
  readonly servers = new Map([['s1', true]]);
  #nowMs = 100_000;
  #seq = 0;
  #heardMs = 0;
  readonly #answeredMs = new Map<string, number>();

  pass(seconds: number): void {
    for (let second = 0; second < seconds; second++) {
      this.#nowMs += 1_000;
      this.#seq += 1;
      if (this.isLinked) this.#heardMs = this.#nowMs;
      const signalling = [...this.servers].map(([name, hears]) => this.#report(name, hears));
      this.evidence.note(
        {
          silences: this.isLinked ? new Map([[W, this.#nowMs - this.#heardMs]]) : new Map(),
          listed: this.isListed ? [W] : [],
          signalling,
        },
        this.#nowMs,
      );
    }
  }

  /** No look happens meanwhile, as when the database hangs. */
  skip(seconds: number): void {
    this.#nowMs += seconds * 1_000;
  }

  get isDead(): boolean {
    return this.evidence.dead().some(({ id }) => id === W);
  }

  #report(signalling: string, hears: boolean): SignallingReport {
    if (hears) this.#answeredMs.set(signalling, this.#nowMs);
    const answeredMs = this.#answeredMs.get(signalling);
    const silent = hears || answeredMs === undefined ? [] : [{ worker: W, for_ms: this.#nowMs - answeredMs }];
    return { signalling, seq: this.#seq, connected: hears ? [W] : [], silent };
  }
}

let world: World;
beforeEach(() => {
  world = new World();
  world.pass(10);
});

describe('the evidence of a worker’s death', () => {
  it('is complete within 6 s once neither a control plane nor signalling hears it', () => {
    world.isLinked = false;
    world.servers.set('s1', false);
    world.pass(4);
    expect(world.isDead).toBe(false);
    world.pass(2);
    expect(world.isDead).toBe(true);
    // Its calls are charged up to the last sign of its life.
    expect(world.evidence.dead()).toEqual([{ id: W, aliveMs: 110_000 }]);
  });

  it('is not given by a lost link alone', () => {
    world.isLinked = false;
    world.pass(120);
    expect(world.isDead).toBe(false);
  });

  it('is not given by lost signalling alone', () => {
    world.servers.set('s1', false);
    world.pass(120);
    expect(world.isDead).toBe(false);
  });

  it('is not given by signalling that stopped reporting before the silence had ended the lease', () => {
    world.isLinked = false;
    world.servers.set('s1', false);
    world.pass(4);
    world.servers.delete('s1');
    world.pass(120);
    expect(world.isDead).toBe(false);
  });

  it('is not given while another replica hears it', () => {
    world.isLinked = false;
    world.isListed = true;
    world.servers.set('s1', false);
    world.pass(120);
    expect(world.isDead).toBe(false);
  });

  it('is not given while one of several signalling servers hears it', () => {
    world.servers.set('s2', true);
    world.pass(2);
    world.isLinked = false;
    world.servers.set('s1', false);
    world.pass(120);
    expect(world.isDead).toBe(false);
  });

  it('needs a witness: signalling that is lost at the same time proves nothing', () => {
    world.isLinked = false;
    world.servers.delete('s1');
    world.pass(120);
    expect(world.isDead).toBe(false);
  });

  it('waits for the lease of a worker that a signalling server lost with it may still have acknowledged', () => {
    world.servers.set('s2', true);
    world.pass(2);
    world.isLinked = false;
    world.servers.delete('s1');
    world.servers.set('s2', false);
    world.pass(6);
    expect(world.isDead).toBe(false);
    world.pass(2);
    expect(world.isDead).toBe(true);
  });

  it('begins anew after a pause in looking', () => {
    world.isLinked = false;
    world.servers.set('s1', false);
    world.pass(3);
    world.skip(30);
    world.pass(4);
    expect(world.isDead).toBe(false);
    world.pass(2);
    expect(world.isDead).toBe(true);
  });

  it('ends when the worker is heard again', () => {
    world.isLinked = false;
    world.servers.set('s1', false);
    world.pass(6);
    world.isLinked = true;
    world.pass(1);
    expect(world.isDead).toBe(false);
  });

  it('is not given for a worker that signalling has never heard', () => {
    const unwatched = new World();
    unwatched.servers.set('s1', false);
    unwatched.pass(10);
    unwatched.isLinked = false;
    unwatched.pass(120);
    expect(unwatched.isDead).toBe(false);
  });
});
