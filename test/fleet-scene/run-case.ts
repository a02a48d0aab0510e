/** Runs one case: a fresh fleet, callers, the fault, their hang-up, and what they and the books say. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastReleaseObstacle, unpackLastRelease } from '../journeys/last-release.ts';
import { type Books, closeBooks } from './books.ts';
import { Callers } from './callers.ts';
import type { Case, Struck } from './cases.ts';
import { gapsOf } from './disturbances.ts';
import { Fleet } from './fleet.ts';
import { openNetwork } from './network.ts';
import { openSurroundings, type Surroundings } from './surroundings.ts';

const NUMBER = '+15550100777';
/** Of conversation before the fault, and after it. */
const BEFORE_MS = 10_000;
const AFTER_MS = 20_000;
/** For placing the calls, and to spare. */
const SETUP_SECONDS = 60;

/** How many callers. */
export interface CaseOptions {
  readonly phones: number;
  readonly participants: number;
  /** Folder for what the parts print; null keeps nothing. */
  readonly logs: string | null;
}

/** What a case showed. */
export interface CaseResult {
  readonly of: Case;
  readonly phones: number;
  readonly participants: number;
  /** Phones whose agent was heard at all. */
  readonly heard: number;
  /** Longest time without the agent's voice of each disturbed call, ms. */
  readonly gapsMs: readonly number[];
  /** Longest time without a packet of each phone call, ms. */
  readonly pausesMs: readonly number[];
  readonly books: Books;
  readonly struck: Struck;
  /** What the phones complained about. */
  readonly problems: readonly string[];
}

export async function runCase(of: Case, options: CaseOptions): Promise<CaseResult> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-callers-'));
  const release = of.isUpgrade ? unpackRelease() : undefined;
  const network = openNetwork();
  const surroundings = await openSurroundings();
  let fleet: Fleet | null = null;
  let waves: Waves | null = null;
  try {
    fleet = await Fleet.start(network, { settings: surroundings.settings, ...(release && { release }) });
    waves = new Waves({ of, options, fleet, surroundings, folder });
    await waves.begin();
    const struck = await of.strike(fleet, waves);
    await waves.end();
    const books = await closeBooks(fleet, surroundings.tenant);
    return { of, ...waves.found, books, struck };
  } finally {
    if (options.logs !== null) fleet?.writeLogs(join(options.logs, of.name));
    await waves?.close();
    await fleet?.close();
    await surroundings.close();
    await network.close();
    for (const each of [folder, release]) if (each) rmSync(each, { recursive: true, force: true });
  }
}

function unpackRelease(): string {
  const obstacle = lastReleaseObstacle();
  if (obstacle !== null) throw new Error(obstacle);
  return unpackLastRelease();
}

/** The callers of a case, in one wave or several. */
class Waves {
  readonly found = {
    phones: 0,
    participants: 0,
    heard: 0,
    gapsMs: [] as number[],
    pausesMs: [] as number[],
    problems: [] as string[],
  };
  readonly #of: Case;
  readonly #options: CaseOptions;
  readonly #fleet: Fleet;
  readonly #surroundings: Surroundings;
  readonly #folder: string;
  #agentId: string | null = null;
  #current: { readonly callers: Callers; readonly fromMs: number } | null = null;

  constructor(parts: {
    readonly of: Case;
    readonly options: CaseOptions;
    readonly fleet: Fleet;
    readonly surroundings: Surroundings;
    readonly folder: string;
  }) {
    this.#of = parts.of;
    this.#options = parts.options;
    this.#fleet = parts.fleet;
    this.#surroundings = parts.surroundings;
    this.#folder = parts.folder;
  }

  /** Places calls; resolves when they have talked for a while. */
  async begin(): Promise<void> {
    const phones = this.#options.phones;
    const participants = this.#surroundings.hasRooms ? this.#options.participants : 0;
    this.#agentId ??= await this.#fleet.bindNumber(NUMBER, this.#surroundings.webhookUrl);
    const callers = await Callers.place(this.#fleet, {
      ...{ phones, participants, number: NUMBER, agentId: this.#agentId, folder: this.#folder },
      seconds: SETUP_SECONDS + this.#of.seconds + (BEFORE_MS + AFTER_MS) / 1_000,
    });
    this.found.phones += phones;
    this.found.participants += participants;
    await sleep(BEFORE_MS);
    this.#current = { callers, fromMs: Date.now() };
  }

  /** Lets them talk on for a while and hang up. */
  async end(): Promise<void> {
    if (this.#current === null) return;
    const { callers, fromMs } = this.#current;
    await sleep(AFTER_MS);
    const span = { fromMs, untilMs: Date.now() };
    await callers.hangUp();
    const heard = await callers.heard({ ...span, lostAtMs: this.#of.isLoss ? fromMs : null });
    for (const call of [...heard.phones, ...heard.participants]) {
      const gaps = gapsOf(call, span);
      if (gaps.length === 0) continue;
      const shown = gaps.map((gap) => `${seconds(gap.ms)} s after ${seconds(gap.fromMs - fromMs)} s`);
      console.log(`  ${call.name}: without the agent for ${shown.join(', ')}`);
      this.found.gapsMs.push(Math.max(...gaps.map(({ ms }) => ms)));
    }
    this.found.heard += heard.phones.length;
    this.found.pausesMs.push(...heard.phones.map(({ longestPauseMs }) => longestPauseMs));
    this.found.problems.push(...callers.problems());
    await this.close();
  }

  async close(): Promise<void> {
    await this.#current?.callers.close();
    this.#current = null;
  }
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}
