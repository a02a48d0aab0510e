/**
 * The person called opts out of further calls, by key or by voice: it is reported at once and confirmed, and
 * the call ends (docs/batch-calls.md).
 */
import { keypadMessage } from '../../text/keypad.ts';
import { normalised } from '../../text/normalised.ts';
import { type Draft, emit, recordMessage } from '../draft.ts';
import { beginEnding } from '../ending/ending.ts';
import type { OptOut } from '../turn-config.ts';
import type { TurnInput } from '../turn-inputs.ts';
import { echoes } from './interruption.ts';

/**
 * Handles an opt-out; true when the input was one. Not before a person has answered, who alone can know how,
 * and not while the caller talks with another person.
 */
export function handleOptOut(draft: Draft, input: TurnInput): boolean {
  const { optOut, phrases } = draft.config;
  const { is } = draft.phase;
  if (
    !optOut ||
    draft.hasOptedOut ||
    is === 'connecting' ||
    is === 'voicemail' ||
    is === 'transferring' ||
    is === 'joined'
  )
    return false;
  const said =
    input.type === 'digit.pressed'
      ? pressed(draft, optOut, input.digit)
      : input.type === 'transcript.final'
        ? spoken(draft, optOut, input.text)
        : null;
  if (said === null) return false;
  draft.hasOptedOut = true;
  recordMessage(draft, { role: 'user', content: said, turnId: null, createdAtMs: draft.atMs });
  emit(draft, { do: 'optOut', by: input.type === 'digit.pressed' ? 'key' : 'voice' });
  beginEnding(draft, 'agent_hangup', optOut.confirmation === '' ? phrases.goodbye : optOut.confirmation);
  return true;
}

/** The key alone: within a longer entry it is an ordinary digit. */
function pressed(draft: Draft, { key }: OptOut, digit: string): string | null {
  return digit === key && draft.digits === '' ? keypadMessage(digit) : null;
}

/** One of the phrases anywhere in the caller's words, unless they echo the agent. */
function spoken(draft: Draft, { phrases }: OptOut, text: string): string | null {
  const { caller, phase } = draft;
  const said = [...(caller.is === 'silent' ? [] : caller.speech.finals), text.trim()].join(' ');
  const played = ('utterance' in phase ? phase.utterance?.text : null) ?? '';
  if (echoes(said, played)) return null;
  const words = ` ${normalised(said)} `;
  return phrases.map(normalised).some((phrase) => phrase !== '' && words.includes(` ${phrase} `))
    ? said
    : null;
}
