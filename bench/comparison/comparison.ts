/**
 * The course of a run: rounds of scenes, then calls under load, then failing engines. Saved after every step.
 */
import type { SceneFile } from '#caller/scene.ts';
import { breakEngines, type RunningSide } from './break-engines.ts';
import { startBusyMeter, startCostMeter } from './cost.ts';
import { FAULTS } from './engines.ts';
import { loadSide } from './load.ts';
import { losePackets, losePacketsNoMore } from './packet-loss.ts';
import { CallStarter, playAll } from './play.ts';
import type { ComparisonResults, PlayedCall, SideResults } from './results.ts';
import { LOSS_SHARE, lossSceneOf, SCENE, scenesOf, WARM_UP_SCENE } from './script.ts';
import type { LivekitSettings, Side, SideKind } from './side.ts';

/** Warm-up attempts; the first ones may fail on a busy machine. */
const WARM_UPS = 3;
const IDLE_MS = 5_000;
/** Minutes of each step, for the estimate at the beginning. */
const MINUTES = { round: 1.5, load: 2, fault: 0.5, start: 0.4 };

/** Options of a run. */
export interface ComparisonOptions {
  readonly results: ComparisonResults;
  readonly kinds: readonly SideKind[];
  readonly livekit: LivekitSettings;
  /** UDP port of all media at the LiveKit server. */
  readonly mediaPort: number;
  /** Only these scenes; null: all. */
  readonly scenes: readonly string[] | null;
  readonly faultRounds: number;
  readonly hasLoad: boolean;
  readonly save: () => void;
}

/** A run. */
export class Comparison {
  readonly #options: ComparisonOptions;
  readonly #startedMs = performance.now();
  /** Sides that run at the moment. */
  readonly #open = new Set<() => Promise<void>>();

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  /** Plays what the results do not contain yet. */
  async run(): Promise<void> {
    const { results, hasLoad, faultRounds, save } = this.#options;
    this.#report(`about ${Math.ceil(this.#minutesLeft())} minutes`);
    for (let round = 1; round <= results.rounds; round++) await this.#playRound(round);
    for (const { kind, side } of this.#runnable())
      if (hasLoad && kind.endOfTurn === 'documented' && !side.isLoaded) await this.#load(kind, side);
    if (faultRounds > 0) await this.#breakEngines();
    results.isComplete = true;
    save();
    this.#report('everything is written');
  }

  /** Ends what runs; what cannot be ended keeps nothing else open. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#open].map((close) => close()));
  }

  #runnable(): { readonly kind: SideKind; readonly side: SideResults }[] {
    const { kinds, results } = this.#options;
    return kinds.flatMap((kind) => {
      const side = results.sides.find(({ id }) => id === kind.id);
      return side && side.missing === null ? [{ kind, side }] : [];
    });
  }

  /** The first side moves by one with every round. */
  async #playRound(round: number): Promise<void> {
    const all = this.#runnable();
    for (let index = 0; index < all.length; index++) {
      const next = all[(index + round - 1) % all.length];
      if (!next || next.side.rounds.some((played) => played.round === round)) continue;
      const { kind, side } = next;
      this.#report(`round ${round} of ${this.#options.results.rounds}: ${kind.name}`);
      await this.#withSide(kind, side, async (running) => {
        await this.#warmUp(running, side);
        if (kind.endOfTurn === 'documented') side.idle ??= await measureIdle(running);
        await this.#playScenes(running, { side, round });
      });
    }
  }

  async #playScenes(
    running: Side,
    { side, round }: { readonly side: SideResults; readonly round: number },
  ): Promise<void> {
    const { results, scenes, mediaPort } = this.#options;
    const voice = results.voices[(round - 1) % results.voices.length] ?? 'slt';
    const isChosen = ({ name }: SceneFile) => scenes === null || scenes.includes(name);
    const calls: PlayedCall[] = [];
    const latenessMs: number[] = [];
    let failed = 0;
    const play = (files: readonly SceneFile[]) =>
      playAll(running, files, {
        atOnce: results.callsAtOnce,
        onPlayed: ({ name }, played) => {
          calls.push({ scene: name, round, voice, heard: played.heard });
          latenessMs.push(played.latenessMs);
          this.#report(`  ${name}: ${summaryOf(played.heard)}`);
        },
        onFailed: ({ name }, error) => {
          failed++;
          this.#report(`  ${name}: no call: ${error}`);
        },
      });
    const busy = startBusyMeter();
    await play(scenesOf(voice, voice === 'slt' ? 'rms' : 'slt', round).filter(isChosen));
    const busyShare = busy();
    const lossScene = lossSceneOf(voice, round);
    if (isChosen(lossScene)) await this.#losing(mediaPort, () => play([lossScene]));
    if (calls.length === 0)
      throw new Error(`no scene of round ${round} was played; mend that and go on with --continue`);
    const unheard = await running.engines.countUnheard();
    if (unheard > 0) this.#report(`  ${unheard} lines did not reach the recogniser`);
    // A round counts only once it is whole: a run that is stopped before plays it again.
    side.calls.push(...calls);
    side.rounds.push({ round, failed, unheard, latenessMs, busyShare });
  }

  async #losing(port: number, play: () => Promise<void>): Promise<void> {
    const missing = losePackets(port, LOSS_SHARE);
    if (missing !== null) {
      this.#options.results.lossMissing = missing;
      this.#report(`  ${SCENE.loss}: ${missing}`);
      return;
    }
    try {
      await play();
    } finally {
      losePacketsNoMore();
    }
  }

  async #load(kind: SideKind, side: SideResults): Promise<void> {
    this.#report(`calls at once: ${kind.name}`);
    side.loads.length = 0;
    await this.#withSide(kind, side, async (running) => {
      await this.#warmUp(running, side);
      side.idle ??= await measureIdle(running);
      await loadSide(
        running,
        (level) => {
          side.loads.push(level);
          this.#options.save();
        },
        (calls) => this.#report(`  ${calls} at once`),
      );
      side.isLoaded = true;
    });
  }

  async #breakEngines(): Promise<void> {
    const { faultRounds, livekit, save } = this.#options;
    const needed = FAULTS.length * faultRounds;
    const chosen = this.#runnable().filter(
      ({ kind, side }) => kind.endOfTurn === 'documented' && side.faults.length < needed,
    );
    if (chosen.length === 0) return;
    this.#report('starting the sides whose engines will fail');
    const running: RunningSide[] = [];
    for (const { kind, side } of chosen)
      try {
        const started = await kind.start(livekit);
        this.#open.add(() => started.close());
        await this.#warmUp(started, side);
        running.push({ side: started, results: side });
      } catch (error) {
        this.#report(`${kind.name}: ${error}`);
      }
    await breakEngines(running, faultRounds, { onPlayed: save, report: (text) => this.#report(`  ${text}`) });
  }

  /** Starts a side for some work and stops it. A side that fails does not end the run. */
  async #withSide(kind: SideKind, side: SideResults, work: (running: Side) => Promise<void>): Promise<void> {
    let close: (() => Promise<void>) | null = null;
    try {
      const running = await kind.start(this.#options.livekit);
      side.version = running.version;
      close = () => running.close();
      this.#open.add(close);
      await work(running);
    } catch (error) {
      this.#report(`${kind.name}: ${error instanceof Error ? error.message : error}`);
    } finally {
      if (close) {
        this.#open.delete(close);
        await close().catch((error: unknown) => this.#report(`${kind.name}: not ended: ${error}`));
      }
      this.#options.save();
    }
  }

  /**
   * The first call of a process compiles code, so it is not counted. Throws if the agent is never heard,
   * because its figures would mean nothing.
   */
  async #warmUp(running: Side, { name }: SideResults): Promise<void> {
    for (let attempt = 1; attempt <= WARM_UPS; attempt++) {
      const played = await new CallStarter(running).play(WARM_UP_SCENE).catch((error: unknown) => {
        this.#report(`  ${name}: ${error}`);
        return null;
      });
      if (played && played.heard.greetingMs !== null && played.heard.unanswered === 0) return;
    }
    throw new Error(`not heard in ${WARM_UPS} calls (COMPARISON_LOG=1 shows what the agent prints)`);
  }

  #minutesLeft(): number {
    const { results, hasLoad, faultRounds } = this.#options;
    const all = this.#runnable();
    const rounds = all.reduce((sum, { side }) => sum + results.rounds - side.rounds.length, 0);
    const documented = all.filter(({ kind }) => kind.endOfTurn === 'documented');
    const loads = hasLoad ? documented.filter(({ side }) => !side.isLoaded).length : 0;
    const faults = faultRounds > 0 ? FAULTS.length * faultRounds * MINUTES.fault + 4 * MINUTES.start : 0;
    return rounds * MINUTES.round + loads * MINUTES.load + faults;
  }

  #report(text: string): void {
    const seconds = Math.round((performance.now() - this.#startedMs) / 1_000);
    const at = `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, '0')}`;
    console.log(`${at} ${text}`);
  }
}

async function measureIdle(side: Side): Promise<{ readonly cpuShare: number; readonly bytes: number }> {
  const meter = startCostMeter(() => side.processes());
  await new Promise((done) => setTimeout(done, IDLE_MS));
  const { cpuSeconds, peakBytes, seconds } = meter.stop();
  return { cpuShare: cpuSeconds / seconds, bytes: peakBytes };
}

function summaryOf({ replyMs, unanswered, stopMs, premature, brokenOff }: PlayedCall['heard']): string {
  const times = (values: readonly number[]) => values.map((ms) => ms.toFixed(0)).join(' ');
  return [
    `answers ${times(replyMs)}`,
    ...(unanswered > 0 ? [`${unanswered} unanswered`] : []),
    ...(premature > 0 ? [`${premature} cut off`] : []),
    ...(stopMs.length > 0 ? [`stops ${times(stopMs)}`] : []),
    ...(brokenOff > 0 ? ['not finished'] : []),
  ].join(', ');
}
