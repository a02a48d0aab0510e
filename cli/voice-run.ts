/** Runs tests by voice: as many calls at a time as wanted, each judged when it is over. */
import { prepareScene, type SceneFile, type Speaker } from '#caller/scene.ts';
import { type LiveVoices, openLiveVoices, speakerOf } from '#caller/voices.ts';
import type { VoiceTest } from '#protocol/voice-test.ts';
import { CommandError } from './api.ts';
import { isLate, placeVoiceCall, type VoiceCallOptions, type VoiceStage } from './voice-call.ts';
import { judgeVoiceCall } from './voice-checks.ts';
import type { VoiceTestInFile } from './voice-files.ts';
import { summarise, type VoiceFigures, type VoiceRun } from './voice-summary.ts';

/** A call whose caller was late is repeated: at most so many in all. */
const ATTEMPTS = 3;

/** A test with its runs and their figures. */
export interface VoiceResult {
  readonly file: string;
  readonly name: string;
  readonly passed: boolean;
  readonly figures: VoiceFigures;
  readonly runs: readonly VoiceRun[];
}

/** A test that can be played: its voices have spoken. */
export interface SpokenTest extends VoiceTestInFile {
  readonly speaker: Speaker;
}

/** Options of all runs. */
export interface RunOptions {
  /** Null: as often as each test says. */
  readonly repeat: number | null;
  readonly parallel: number;
  readonly signal: AbortSignal;
  readonly onRun: (done: number, all: number) => void;
}

/** What all runs share. */
interface Together {
  readonly stage: VoiceStage;
  readonly voices: LiveVoices;
  readonly signal: AbortSignal;
}

/** Speaks the lines of all tests in advance, so that no call waits for them. Throws `CommandError`. */
export async function speakTests(tests: readonly VoiceTestInFile[]): Promise<SpokenTest[]> {
  const spoken: SpokenTest[] = [];
  for (const item of tests) {
    try {
      const scene = sceneOf(item.test, 0);
      const speaker = await speakerOf(scene);
      // `prepareScene` keeps the lines that Flite has spoken, so that later runs need not speak them.
      prepareScene(scene, '.', speaker);
      spoken.push({ ...item, speaker });
    } catch (error) {
      throw new CommandError(`${item.file}: ${(error as Error).message}`);
    }
  }
  return spoken;
}

/** Runs the tests. */
export async function runVoiceTests(
  stage: VoiceStage,
  tests: readonly SpokenTest[],
  options: RunOptions,
): Promise<VoiceResult[]> {
  const waiting = tests.flatMap((item) =>
    Array.from({ length: options.repeat ?? item.test.repeat }, (_, index) => ({ item, run: index + 1 })),
  );
  const all = waiting.length;
  const runs = new Map<SpokenTest, VoiceRun[]>(tests.map((item) => [item, []]));
  const voices = openLiveVoices();
  const together = { stage, voices, signal: options.signal };
  let done = 0;
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const run = await runOnce(together, next.item, next.run).catch((error: unknown) => {
        // Otherwise the other lanes would still place all the calls that are left.
        waiting.length = 0;
        throw error;
      });
      runs.get(next.item)?.push(run);
      options.onRun(++done, all);
    }
  };
  const lanes = Array.from({ length: Math.min(options.parallel, all) }, lane);
  await Promise.all(lanes).finally(() => voices.close());
  return tests.map((item) => {
    const own = (runs.get(item) ?? []).sort((one, other) => one.run - other.run);
    const passed = own.every((run) => run.passed);
    return { file: item.file, name: item.test.name, passed, figures: summarise(own), runs: own };
  });
}

/** Throws `CommandError` for an error that every run would repeat. */
async function runOnce(
  { stage, voices, signal }: Together,
  { test, speaker }: SpokenTest,
  run: number,
): Promise<VoiceRun> {
  const { expect } = test;
  const converses = conversesIn(test, voices);
  const startedMs = performance.now();
  const secondsSince = () => (performance.now() - startedMs) / 1_000;
  try {
    for (let attempt = 1; ; attempt++) {
      const scene = prepareScene(sceneOf(test, run), '.', speaker);
      const { sessionId, call, lateMs } = await placeVoiceCall(stage, scene, { expect, converses, signal });
      if (isLate(lateMs) && attempt < ATTEMPTS) continue;
      const { turns, checks } = judgeVoiceCall(call, expect);
      const error = isLate(lateMs)
        ? `this machine was too busy: the caller itself was ${Math.round(lateMs)} ms late in each of ` +
          `${ATTEMPTS} calls`
        : null;
      return {
        run,
        session_id: sessionId,
        passed: error === null && checks.every(({ passed }) => passed),
        error,
        checks,
        turns,
        ended_by: call.endedBy,
        criteria: call.criteria && Object.fromEntries(call.criteria),
        judged: call.verdicts,
        goals: call.goals,
        seconds: secondsSince(),
        caller_late_ms: Math.round(lateMs),
      };
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    return {
      run,
      session_id: null,
      passed: false,
      error: (error as Error).message,
      checks: [],
      turns: null,
      ended_by: null,
      criteria: null,
      judged: null,
      goals: null,
      seconds: secondsSince(),
      caller_late_ms: 0,
    };
  }
}

/** Each run draws other random values, the same ones whenever the tests are run. */
function sceneOf({ name, caller, steps }: VoiceTest, run: number): SceneFile {
  const { persona: _persona, model: _model, ...conditions } = caller;
  return { name, ...conditions, seed: caller.seed + run, steps };
}

function conversesIn({ caller, steps }: VoiceTest, voices: LiveVoices): VoiceCallOptions['converses'] {
  if (!steps.some((step) => step.do === 'converse')) return null;
  const { voice, speed } = caller;
  return { caller, speak: (text) => voices.speak({ text, voice, speed }) };
}
