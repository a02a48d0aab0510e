/**
 * Invariants after every step of a call: checked with each input of the turn machine, which pinpoints when a
 * call broke. The checker tracks timers and replies from the effects alone and does not trust the state.
 */

import { isAutomated } from '#runtime/turn/machine/line-state.ts';
import type { Effect } from '#runtime/turn/machine/turn-effects.ts';
import type { TimerName, TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import type { StepResult } from '#runtime/turn/machine/turn-machine.ts';
import type { TurnState } from '#runtime/turn/machine/turn-state.ts';
import { normalised } from '#runtime/turn/text/normalised.ts';
import { timerFaults } from './deadlines.ts';

/** Maximum speculative runs per turn. */
const SPECULATIONS = 3;
/** After the first violations, further ones of the same call add little information. */
const ENOUGH = 5;

/** The status of a reply. */
interface ReplyAccount {
  isSpeculative: boolean;
  /** The caller's words that it answers; empty for fixed texts. */
  readonly answers: string;
  isGivenUp: boolean;
}

/** Checks one call. */
export class StepInvariants {
  readonly violations: string[];
  readonly #timers = new Set<TimerName>();
  readonly #replies = new Map<string, ReplyAccount>();
  readonly #results = new Set<string>();
  /** The reply that called each tool, and the tools that ran. */
  readonly #askedBy = new Map<string, string>();
  readonly #ran = new Set<string>();
  #isLegPaused = false;
  #lastMs = 0;
  #hangUps = 0;
  #speculations = 0;
  #isConnected = false;

  /** Violations are added to `violations`. */
  constructor(violations: string[] = []) {
    this.violations = violations;
  }

  /** Checks one step. */
  observe(input: TurnInput, { effects, state }: StepResult): void {
    const before = this.violations.length;
    if (before >= ENOUGH) return;
    this.#accountInput(input);
    if (this.#hangUps > 0 && effects.length > 0) this.#found('something is done after the end');
    for (const effect of effects) this.#account(effect);
    this.#checkReuse(effects);
    const isJudged =
      input.type === 'timer.fired' &&
      input.name === 'judge' &&
      state.caller.is === 'stopped' &&
      state.recognizer.is === 'open';
    if (isJudged && !effects.some((effect) => effect.do === 'finalise'))
      this.#found('speech is judged and its words are not asked for');
    if (state.caller.is === 'silent') this.#speculations = 0;
    this.violations.push(...timerFaults(state, this.#timers));
    if (this.#isConnected && state.phase.is === 'connecting' && !this.#timers.has('screening'))
      this.#found('connected, and the call does not begin');
    this.#checkState(state);
    for (let index = before; index < this.violations.length; index++)
      this.violations[index] = `${input.atMs.toFixed(0)} ms, at ${input.type}: ${this.violations[index]}`;
  }

  #accountInput(input: TurnInput): void {
    if (input.atMs < this.#lastMs) this.#found('time goes back');
    this.#lastMs = input.atMs;
    if (input.type === 'call.connected') this.#isConnected = true;
    if (input.type === 'timer.fired') this.#timers.delete(input.name);
    // The next leg starts unpaused.
    if (input.type === 'leg.lost') this.#isLegPaused = false;
    if (input.type === 'reply.tool_called') this.#askedBy.set(input.call.callId, input.replyId);
  }

  #found(violation: string): void {
    this.violations.push(violation);
  }

  #account(effect: Effect): void {
    switch (effect.do) {
      case 'startTimer':
        this.#timers.add(effect.name);
        if (!Number.isFinite(effect.atMs)) this.#found(`the timer ${effect.name} never fires`);
        return;
      case 'stopTimer':
        this.#timers.delete(effect.name);
        return;
      case 'hangUp':
        this.#hangUps += 1;
        if (this.#hangUps > 1) this.#found('the call is hung up twice');
        return;
      case 'record':
        this.#checkItem(effect.item);
        return;
      default:
        this.#accountReply(effect);
    }
  }

  #accountReply(effect: Effect): void {
    switch (effect.do) {
      case 'say':
      case 'generate':
        if (this.#replies.has(effect.replyId)) this.#found(`two replies are called ${effect.replyId}`);
        this.#replies.set(effect.replyId, {
          isSpeculative: effect.do === 'generate' && effect.isSpeculative,
          answers:
            effect.do === 'generate'
              ? (effect.messages.findLast(({ role }) => role === 'user')?.content ?? '')
              : '',
          isGivenUp: false,
        });
        if (effect.do === 'generate') this.#checkRun(effect);
        return;
      case 'play':
      case 'holdBack':
      case 'commit':
      case 'discard':
      case 'clear':
        this.#changeReply(effect);
        return;
      case 'pause':
      case 'resume':
        this.#isLegPaused = effect.do === 'pause';
        return;
      case 'runTool':
        this.#checkTool(effect.call.callId);
        return;
      default:
    }
  }

  #checkTool(callId: string): void {
    if (this.#results.has(callId)) this.#found(`${callId} runs after its result`);
    if (this.#ran.has(callId)) this.#found(`${callId} runs twice`);
    if (this.#replies.get(this.#askedBy.get(callId) ?? '')?.isSpeculative)
      this.#found(`${callId} runs before its turn is taken`);
    this.#ran.add(callId);
  }

  #changeReply({
    do: what,
    replyId,
  }: Extract<Effect, { do: 'play' | 'holdBack' | 'commit' | 'discard' | 'clear' }>): void {
    const reply = this.#replies.get(replyId);
    if (!reply) {
      this.#found(`${what} of an unknown reply ${replyId}`);
      return;
    }
    if (what === 'commit') reply.isSpeculative = false;
    if (what === 'discard' || what === 'clear') reply.isGivenUp = true;
    if (what === 'play' && reply.isGivenUp) this.#found(`${replyId} is played after it was given up`);
    if (what === 'play' && reply.isSpeculative) this.#found(`${replyId} is played before its turn is taken`);
  }

  #checkRun({ isSpeculative, messages }: Extract<Effect, { do: 'generate' }>): void {
    this.#speculations = isSpeculative ? this.#speculations + 1 : 0;
    if (this.#speculations > SPECULATIONS) this.#found(`${this.#speculations} speculations for one turn`);
    // Every vendor refuses a request with tool messages that answer no call.
    const asked = new Set<string>();
    for (const message of messages) {
      if (message.role === 'assistant') for (const { callId } of message.toolCalls ?? []) asked.add(callId);
      else if (message.role === 'tool' && !asked.delete(message.callId))
        this.#found(`the model gets a result of ${message.callId} that it did not request`);
    }
    if (asked.size > 0) this.#found(`the model does not get the result of ${[...asked].join(', ')}`);
    if (messages.at(-1)?.role === 'assistant') this.#found('the model is asked to answer itself');
  }

  /** A speculative reply is used only for the exact words it answers. */
  #checkReuse(effects: readonly Effect[]): void {
    const committed = effects.find((effect) => effect.do === 'commit');
    const taken = effects.find(
      (effect) =>
        effect.do === 'event' &&
        effect.event.type === 'transcript' &&
        effect.event.role === 'user' &&
        effect.event.final,
    );
    if (committed?.do !== 'commit' || taken?.do !== 'event' || taken.event.type !== 'transcript') return;
    const answers = this.#replies.get(committed.replyId)?.answers ?? '';
    if (normalised(answers) !== normalised(taken.event.text))
      this.#found(`"${taken.event.text}" gets the answer to "${answers}"`);
  }

  #checkItem(item: Extract<Effect, { do: 'record' }>['item']): void {
    if (item.type === 'tool_result') {
      if (this.#results.has(item.call_id)) this.#found(`${item.call_id} has two results`);
      this.#results.add(item.call_id);
    }
    if (item.createdAtMs > this.#lastMs) this.#found(`a ${item.type} of the future is recorded`);
    if (item.type === 'message' && item.content.trim() === '') this.#found('an empty message is recorded');
  }

  #checkState({ caller, line, phase, speculation, waiting }: TurnState): void {
    if (phase.is === 'ended' && this.#hangUps === 0) this.#found('ended without hanging up');
    if (this.#isLegPaused && phase.is !== 'paused' && phase.is !== 'ended')
      this.#found(`the leg stays paused while ${phase.is}`);
    // A postponed turn is taken as soon as the floor is free, and somebody is there.
    if (!isAutomated(line) && phase.is === 'listening' && caller.is === 'silent' && waiting.length > 0)
      this.#found(`"${waiting[0]?.text}" waits during silence`);
    if (speculation && this.#replies.get(speculation.generation.replyId)?.isGivenUp)
      this.#found('a speculation that was given up is kept');
    if (phase.is !== 'answering') return;
    const { generation } = phase.answer;
    const reply = this.#replies.get(generation.replyId);
    if (reply?.isGivenUp) this.#found(`${generation.replyId} was given up and is waited for`);
    if (reply?.isSpeculative) this.#found(`${generation.replyId} answers a turn without a commit`);
  }
}
