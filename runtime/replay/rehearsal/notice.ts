/**
 * Runs a call on its own timers and stops at each thing that the caller would notice or that asks the model.
 * Counts hold lines, interruptions, keys and transfers on the way.
 */
import type { ActionCounts, Did } from '#protocol/rehearsal.ts';
import type { ReadFlightLog } from '../../turn/loop/flight-log.ts';
import type { TurnConfig } from '../../turn/machine/turn-config.ts';
import type { Decision } from '../../turn/machine/turn-effects.ts';
import type { TurnMachine } from '../machines/turn-machine.ts';
import type { ReplayedStep } from '../replay.ts';
import { deedOf, freeRun, isHoldLine, type NoticeableEffect, noticedIn, textOf } from '../what-if.ts';
import { heardWith } from './heard-sooner.ts';

/** Subject of a noticed thing; `prepared`: the model is asked before the turn is taken. */
export type Subject = 'reply' | 'prepared' | 'interruption' | 'hold_line' | 'key' | 'transfer' | 'hang_up';

/** One thing that is noticed. */
export interface Noticed {
  /** On the clock of the log. */
  readonly atMs: number;
  readonly did: Did;
  readonly subject: Subject;
  /** Distinguishes things of one kind. */
  readonly text: string;
}

/** A run of a call, and the counts so far, its latest step included. */
export class NoticedRun {
  readonly #steps: Iterable<ReplayedStep>;
  readonly #holdLines = new Set<string>();
  readonly #counts = { hold_lines: 0, interruptions: 0, keys: 0, transfers: 0 };

  constructor(log: ReadFlightLog, changes: Partial<TurnConfig>, machine: TurnMachine) {
    const { sensitivity } = log.header.config;
    const to = changes.sensitivity ?? sensitivity;
    const inputs = heardWith(log.inputs, { from: sensitivity, to });
    this.#steps = freeRun({ ...log, inputs }, changes, machine);
  }

  get counts(): ActionCounts {
    return { ...this.#counts };
  }

  /** Things noticed, one after another; the run goes no further than they are read. */
  *noticed(): Generator<Noticed> {
    for (const step of this.#steps) yield* this.#take(step);
  }

  #take(step: ReplayedStep): Noticed[] {
    const decisions = step.effects.flatMap((effect) => (effect.do === 'explain' ? [effect.decision] : []));
    const is = {
      isHoldLine: isHoldLine(step),
      isKeyed: isOfKeys(step, decisions),
      isEnding: isOfTheEnd(step, decisions),
    };
    this.#count(step, decisions, is.isHoldLine);
    return noticedIn(step).map(({ atMs, did: effect }) => ({
      atMs,
      did: deedOf(effect),
      subject: this.#subjectOf(effect, is),
      text: textOf(effect),
    }));
  }

  #count({ input, effects }: ReplayedStep, decisions: readonly Decision[], isHold: boolean): void {
    if (isHold) {
      this.#counts.hold_lines += 1;
      for (const effect of effects) if (effect.do === 'say') this.#holdLines.add(effect.replyId);
    }
    if (effects.some(({ do: what }) => what === 'clear') && decisions.some(isInterruption))
      this.#counts.interruptions += 1;
    if (input.type === 'digit.pressed') this.#counts.keys += 1;
    this.#counts.transfers += effects.filter(({ do: what }) => what === 'transfer').length;
  }

  #subjectOf(
    effect: NoticeableEffect,
    step: { readonly isHoldLine: boolean; readonly isKeyed: boolean; readonly isEnding: boolean },
  ): Subject {
    if (effect.do === 'transfer') return 'transfer';
    if (effect.do === 'hangUp' || step.isEnding) return 'hang_up';
    if (step.isKeyed) return 'key';
    if (step.isHoldLine || (effect.do === 'play' && this.#holdLines.has(effect.replyId))) return 'hold_line';
    if (effect.do === 'generate') return effect.isSpeculative ? 'prepared' : 'reply';
    return effect.do === 'play' ? 'reply' : 'interruption';
  }
}

function isInterruption({ about, rule }: Decision): boolean {
  return about === 'interruption' && rule !== 'leg_lost' && rule !== 'taken_over';
}

function isOfKeys({ input }: ReplayedStep, decisions: readonly Decision[]): boolean {
  return (
    input.type === 'digit.pressed' ||
    decisions.some(({ about, rule }) => about === 'menu' || (about === 'endpoint' && rule === 'keypad'))
  );
}

/** The farewell of a call that lasts too long or is silent for too long. */
function isOfTheEnd({ input }: ReplayedStep, decisions: readonly Decision[]): boolean {
  return (
    (input.type === 'timer.fired' && input.name === 'maxDuration') ||
    decisions.some(({ about, rule }) => about === 'silence' && rule === 'idle_hangup')
  );
}
