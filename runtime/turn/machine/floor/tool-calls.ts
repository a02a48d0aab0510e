/**
 * Tool calls of an answer: started only once the turn is taken, recorded on the timeline, and their results
 * kept for the model.
 */
import { LIMITS } from '#config/limits.ts';
import { type Draft, emit, record } from '../draft.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Turn } from '../turn-state.ts';
import { eventTurn } from './event-turn.ts';
import { recordUser } from './floor.ts';
import { answerOf, setAnswer } from './generating.ts';
import { askForKeys } from './press-keys.ts';
import { noteResult, withResult } from './tool-results.ts';

const STARTED = 'Started. No result will follow.';
const IN_BACKGROUND = 'Running in the background. The result will follow as an event; go on meanwhile.';

type ToolFinished = Extract<TurnInput, { type: 'tool.finished' }>;

/**
 * Starts a call the generation asked for. Hang-up, transfer and keys are carried out by the machine itself.
 */
export function runCall(draft: Draft, callId: string): void {
  const answer = answerOf(draft);
  const asked = answer?.generation.calls.find(({ call }) => call.callId === callId);
  if (!answer || !asked || asked.result !== null) return;
  const { call, source } = asked;
  // A call beyond the limit is refused at once, and the model reads the refusal as its result.
  const mode = asked.mode === 'background' && isBackgroundFull(draft) ? 'blocking' : asked.mode;
  const turnId = answer.turn.turnId;
  const result = mode === 'fire_and_forget' ? STARTED : mode === 'background' ? IN_BACKGROUND : null;
  setAnswer(draft, withResult(recordUser(draft, answer), callId, result));
  record(draft, {
    type: 'tool_call',
    call_id: callId,
    tool_name: call.toolName,
    tool_source: source,
    input: call.input,
    turn_id: turnId,
    createdAtMs: draft.atMs,
  });
  if (mode === 'keys') askForKeys(draft, callId);
  if (mode === 'hang_up' || mode === 'transfer' || mode === 'keys') return;
  const [input, isCut] = eventText(call.input);
  emit(draft, {
    do: 'event',
    event: {
      type: 'tool.started',
      callId,
      toolName: call.toolName,
      toolSource: source,
      input,
      ...(isCut ? { inputTruncated: true as const } : {}),
    },
  });
  draft.runningTools = { ...draft.runningTools, [callId]: { call, mode, source, turnId } };
  emit(draft, { do: 'runTool', call });
}

function isBackgroundFull({ runningTools }: Draft): boolean {
  return (
    Object.values(runningTools).filter(({ mode }) => mode === 'background').length >=
    LIMITS.backgroundCallsInFlight
  );
}

/** Records a call's outcome; returns the turn that a background result starts, if any. */
export function onToolFinished(draft: Draft, input: ToolFinished): Turn | null {
  const { [input.callId]: running, ...others } = draft.runningTools;
  if (!running) return null;
  draft.runningTools = others;
  const { call, source, turnId } = running;
  noteResult(draft, input, { toolName: call.toolName, source, turnId });
  emit(draft, { do: 'event', event: finishedEvent(input, call.toolName, source) });
  const answer = answerOf(draft);
  if (running.mode === 'blocking' || running.mode === 'unknown') {
    if (answer) setAnswer(draft, withResult(answer, input.callId, input.modelText));
    return null;
  }
  return running.mode === 'background'
    ? eventTurn(draft, `[The background tool ${call.toolName} has answered: ${input.modelText}]`, null)
    : null;
}

function finishedEvent(input: ToolFinished, toolName: string, toolSource: string) {
  const about = { callId: input.callId, toolName, toolSource };
  if (input.status === 'failed')
    return { type: 'tool.failed' as const, ...about, error: input.error ?? 'failed' };
  const [output, isCut] = eventText(input.output ?? '');
  return {
    type: 'tool.completed' as const,
    ...about,
    output,
    ...(isCut ? { outputTruncated: true as const } : {}),
  };
}

/** A tool value for the data channel: at most 4 KB. Also runs in browsers, which replay calls. */
function eventText(text: string): [text: string, isCut: boolean] {
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength <= LIMITS.toolEventBytes) return [text, false];
  const start = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    bytes.subarray(0, LIMITS.toolEventBytes),
  );
  return [start.replace(/(?<!\uFFFD)\uFFFD+$/, ''), true];
}
