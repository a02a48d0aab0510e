/**
 * Seeded defects of the turn loop and of the tool servers: each is a plausible fault, written as a patch of
 * one file; simulated calls and the tests of that code must catch them all.
 */
import { LINE_DEFECTS } from './line-defects.ts';
import { TOOL_SERVER_DEFECTS } from './tool-server-defects.ts';

/** One defect. `find` occurs exactly once in `file`, whatever its line breaks. */
export interface Defect {
  readonly name: string;
  readonly breaks: string;
  /** Relative to runtime. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const TOOLS = 'tools';

/** A defect in short. */
export type DefectRow = readonly [
  name: string,
  breaks: string,
  /** Relative to the folder of the list. */
  file: string,
  find: string,
  replace: string,
];

/** Of runtime/turn/machine. */
const LIST: readonly DefectRow[] = [
  [
    'no-progress-watch',
    'an answer may hang for ever',
    'timers.ts',
    "deadline: () => 'progress',",
    'deadline: () => null,',
  ],
  [
    'unheard-counts',
    'activity of the model and of tools counts as speech to the caller',
    'floor/floor.ts',
    "if (phase.is !== 'answering' || !phase.answer.turn.wantsAudio) progress(draft);",
    'progress(draft);',
  ],
  [
    'no-hold-line',
    'the caller hears silence while a slow model works',
    'answering/hold-line.ts',
    "if (phase.is !== 'answering' || phase.answer.hasHoldLine) return;",
    'return;',
  ],
  [
    'no-false-interruption',
    'a cough silences the agent permanently',
    'timers.ts',
    "deadline: () => 'falseInterruption',",
    'deadline: () => null,',
  ],
  [
    'no-judge',
    'the end of speech is not judged',
    'endpointing/voice.ts',
    "startTimer(draft, 'judge', input.speechEndMs + JUDGE_AFTER_MS);",
    '',
  ],
  [
    'resumed-is-new',
    'speech that continues after a pause loses its beginning',
    'endpointing/voice.ts',
    'talk(draft, caller.speech);',
    'talk(draft, newSpeech(startMs));',
  ],
  [
    'no-finalise',
    'the recogniser is not asked for its final',
    'endpointing/turn-end.ts',
    "if (isAsked) emit(draft, { do: 'finalise' });",
    '',
  ],
  [
    'late-final-twice',
    'a late final becomes a second turn',
    'endpointing/turn-end.ts',
    "return endpoint.isSettled ? null : { is: 'committed'",
    "return endpoint.isSettled || true ? null : { is: 'committed'",
  ],
  [
    'final-lost',
    'a final replaces the earlier finals',
    'endpointing/transcript.ts',
    'finals: [...speech.finals, text]',
    'finals: [text]',
  ],
  [
    'interim-kept',
    'the words of a final are said twice',
    'endpointing/transcript.ts',
    "finals: [...speech.finals, text], interim: ''",
    'finals: [...speech.finals, text]',
  ],
  [
    'turn-not-joined',
    'one thought gets two replies',
    'endpointing/turn-admission.ts',
    "emit(draft, { do: 'discard', replyId: answer.generation.replyId });\n  takeTurn(draft, " +
      'mergedTurn(answer.turn, turn));',
    'takeTurn(draft, mergedTurn(answer.turn, turn));',
  ],
  [
    'wait-begun-anew',
    'a caller who types while they wait waits twice as long',
    'endpointing/merged-turn.ts',
    "more.source === 'speech' ? more : first",
    'more',
  ],
  [
    'spoken-answered-in-writing',
    'a caller who speaks and types hears no answer',
    'endpointing/merged-turn.ts',
    'first.wantsAudio || more.wantsAudio',
    'more.wantsAudio',
  ],
  [
    'typed-words-lost',
    'a late final deletes a message typed after its words',
    'endpointing/transcript.ts',
    'turn.text.slice(at + interim.length)',
    "''",
  ],
  [
    'wait-from-now',
    'deadlines count from now, not from the end of speech',
    'endpointing/turn-end.ts',
    'const dueMs = caller.endMs + Math.min(',
    'const dueMs = draft.atMs + Math.min(',
  ],
  [
    'no-commit',
    'a reply begun early is never released',
    'answering/answering.ts',
    "if (isReusable) emit(draft, { do: 'commit', replyId: speculation.generation.replyId });",
    '',
  ],
  [
    'dropped-answered',
    'rejected speech is answered',
    'endpointing/turn-admission.ts',
    'function drop(draft: Draft, rule: string, turn: Turn): void {',
    'function drop(draft: Draft, rule: string, turn: Turn): void {\n  draft.waiting = [...draft.waiting, ' +
      'turn];',
  ],
  [
    'speculates-without-end',
    'every interim costs a run of the model',
    'endpointing/turn-end.ts',
    'speculations: speech.speculations + 1',
    'speculations: 0',
  ],
  [
    'parked-tool-lost',
    'a tool called by a speculation never runs',
    'answering/answering.ts',
    'for (const { call } of generation.calls) runCall(draft, call.callId);',
    '',
  ],
  [
    'tool-runs-early',
    'a tool runs before its turn ends',
    'playout/reply-and-playout.ts',
    "if (answerOf(draft)?.generation.replyId === replyId && draft.phase.is !== 'connecting') " +
      'runCall(draft, call.callId);',
    "emit(draft, { do: 'runTool', call });\n      if (answerOf(draft)?.generation.replyId === replyId && " +
      "draft.phase.is !== 'connecting') runCall(draft, call.callId);",
  ],
  [
    'tool-runs-twice',
    'a repeated call runs again',
    'playout/reply-and-playout.ts',
    'isRepeated(call, generation.calls) ? REPEATED : null',
    'null',
  ],
  [
    'tools-not-followed',
    'the model does not continue after its tools',
    'answering/answering.ts',
    'else followTools(draft);',
    '',
  ],
  [
    'heard-not-recorded',
    'heard speech is missing from the transcript',
    'floor/floor.ts',
    "recordMessage(draft, { role: 'assistant'",
    "if (utterance.kind !== 'reply') recordMessage(draft, { role: 'assistant'",
  ],
  [
    'generated-as-heard',
    'the transcript contains words that the caller did not hear',
    'playout/reply-and-playout.ts',
    'recordHeard(draft, phase.utterance, input.heard);',
    'recordHeard(draft, phase.utterance, phase.utterance.text);',
  ],
  [
    'user-not-recorded',
    "the caller's words are missing from the timeline",
    'floor/floor.ts',
    "if (turn.source !== 'event') recordMessage(",
    "if (turn.source === 'typed') recordMessage(",
  ],
  [
    'history-lost',
    'the model does not get the previous turn',
    'floor/floor.ts',
    'draft.history = [...draft.history, ...answerMessages(recorded, isCut)];',
    '',
  ],
  [
    'cut-not-shown',
    'the model does not learn that it was interrupted',
    'floor/generating.ts',
    'if (isCut && last',
    'if (!isCut && last',
  ],
  [
    'results-forgotten',
    'the model is asked with calls whose results are missing',
    'floor/generating.ts',
    "...calls.map(({ call, result }) => ({ role: 'tool'",
    "...calls.slice(1).map(({ call, result }) => ({ role: 'tool'",
  ],
  [
    'pause-forgotten',
    'the leg stays paused after a cut',
    'floor/floor.ts',
    "if (isPaused) emit(draft, { do: 'resume' });",
    '',
  ],
  [
    'resume-forgotten',
    'the agent does not resume after a cough',
    'floor/floor.ts',
    "    emit(draft, { do: 'resume' });\n    progress(draft);\n    enter(draft, { is: 'speaking'",
    "    progress(draft);\n    enter(draft, { is: 'speaking'",
  ],
  [
    'waiting-forgotten',
    'speech over the agent is never answered',
    'answering/answering.ts',
    '  draft.waiting = rest;\n  takeTurn(draft, { ...first, committedMs: draft.atMs });',
    '  draft.waiting = rest;',
  ],
  [
    'lone-word-lost',
    'a word too short to pause the agent does not stop it either',
    'interruption/overlap.ts',
    "if (caller.is !== 'stopped' || !isMeant(speech, speechText(speech), phase.utterance?.text ?? '', " +
      'config))',
    'if (!Number.isNaN(draft.atMs))',
  ],
  [
    'echo-word-cuts',
    'an echoed word of the agent interrupts it',
    'interruption/interruption.ts',
    'return words.some((word) =>',
    'return words.every((word) => word) || words.some((word) =>',
  ],
  [
    'gap-is-pause',
    'gaps within words shorten the wait for an unfinished turn',
    'endpointing/endpointing.ts',
    'pauseMs < SHORTEST_PAUSE_MS ? averageMs :',
    'pauseMs < 0 ? averageMs :',
  ],
  [
    'waiting-repeated',
    'speech over the agent is answered repeatedly',
    'answering/answering.ts',
    '  draft.waiting = rest;\n',
    '',
  ],
  [
    'unprotected',
    'interruptible off is ignored',
    'floor/floor.ts',
    "isInterruptible: draft.config.interruptible && options.kind !== 'farewell'",
    'isInterruptible: true',
  ],
  [
    'ignore-all',
    'the agent cannot be interrupted by words',
    'interruption/interruption.ts',
    "return isOpen && !isFinal ? 'open' : 'words';",
    "return isOpen && !isFinal ? 'open' : 'acknowledgement';",
  ],
  [
    'acknowledged-cut',
    'an "mhm" interrupts the agent',
    'interruption/interruption.ts',
    "if (read === 'whole') return 'acknowledgement';",
    '',
  ],
  [
    'answer-ignored',
    'a yes to a question of the agent is taken for a sign of listening',
    'interruption/interruption.ts',
    "return isAnswer ? 'answer' : judgement;",
    'return judgement;',
  ],
  [
    'acknowledgement-waited-for',
    'after an "mhm" the agent is silent for as long as it waits before an answer',
    'endpointing/turn-end.ts',
    'resumeAfterListening(draft, caller.speech);',
    '',
  ],
  [
    'recogniser-left-out',
    'a caller who speaks waits for the next attempt to reopen the recogniser',
    'endpointing/voice.ts',
    'reopenRecognizer(draft);',
    '',
  ],
  [
    'failures-uncounted',
    'a failed model keeps the call open for ever',
    'answering/answering.ts',
    'draft.failedGenerations += 1;\n  const isLast',
    'const isLast',
  ],
  [
    'no-retry',
    'a failed run is not tried again',
    'answering/answering.ts',
    'generation.attempt < ATTEMPTS',
    'generation.attempt < 1',
  ],
  [
    'idle-forgotten',
    'the call of a silent caller never ends',
    'answering/idle.ts',
    "startTimer(draft, 'idle', draft.atMs + Math.max(0, nextThresholdMs(draft) - beforeMs));",
    '',
  ],
  [
    'no-end-cap',
    'a farewell that cannot be played keeps the call open',
    'ending/ending.ts',
    "startPhaseTimer(draft, 'endCap', draft.atMs + FAREWELL_GAP_MS);",
    "draft.effects.push({ do: 'stopTimer', name: 'endCap' });",
  ],
  [
    'digits-dropped',
    'earlier keys of an entry are lost',
    'endpointing/typed-and-keyed-input.ts',
    'draft.digits = digits;',
    "draft.digits = draft.digits === '' ? digits : draft.digits;",
  ],
  [
    'waterfall-overlaps',
    'the parts of a latency do not add up',
    'answering/waterfall.ts',
    '    reachedMs = untilMs;\n    return partMs;',
    '    return partMs;',
  ],
];

/** All seeded defects. */
export const DEFECTS: readonly Defect[] = [
  ...defectsIn('turn/machine', LIST),
  ...defectsIn('turn/machine', LINE_DEFECTS),
  ...defectsIn(TOOLS, TOOL_SERVER_DEFECTS),
];

/** Whether only calls with a tool server can show it. */
export function isOfToolServers({ file }: Pick<Defect, 'file'>): boolean {
  return file.startsWith(`${TOOLS}/`);
}

function defectsIn(folder: string, rows: readonly DefectRow[]): Defect[] {
  return rows.map(([name, breaks, file, find, replace]) => ({
    name,
    breaks,
    file: `${folder}/${file}`,
    find,
    replace,
  }));
}

/** Matches the location of a defect, whatever line breaks the formatter has used. */
export function placeOf({ find }: Pick<Defect, 'find'>): RegExp {
  const tokens = find.match(/'(?:[^'\\]|\\.)*'|[\w$]+|\S/g) ?? [];
  const parts = tokens.map(
    (token) => (/^[)\]}]$/.test(token) ? ',?\\s*' : '') + token.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
  );
  return new RegExp(parts.join('\\s*'));
}
