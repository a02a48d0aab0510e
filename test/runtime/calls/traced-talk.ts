/** What caller and agent say in a traced call. */
import { openCall } from './traced-call.ts';

export type TracedCall = ReturnType<typeof openCall>;

/** A call in which the agent listens. */
export function listening(options: Parameters<typeof openCall>[0] = {}): TracedCall {
  const call = openCall(options);
  call.script.take({ type: 'call.started' }, { type: 'call.connected' });
  return call;
}

/** The caller speaks for that long and is understood. */
export function says({ ears, script }: TracedCall, text: string, voicedMs = 600): void {
  script.voice(voicedMs);
  ears.final(text);
}

/** The caller says a sentence, and its turn is taken. */
export function asks(call: TracedCall, text: string): void {
  says(call, text);
  call.script.after(1_500);
}

/** The agent says its answer, to the end. */
export function answers({ script }: TracedCall, text = 'It is noon.'): void {
  script.answer(text);
  script.after(1_000);
  script.take({ type: 'playout.finished', replyId: replyOf(script), heard: text });
}

/** The utterances, in order. */
export function heard(call: TracedCall, name = 'speech_to_text nova-3') {
  return call.named(name).sort((one, other) => one.from - other.from);
}

/** The reply that was asked for last. */
export function replyOf(script: TracedCall['script']): string {
  return script.last('generate')?.replyId ?? '';
}
