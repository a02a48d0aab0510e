/** A caller's conversation with the agent: listens, is told the next move, and makes it, until the goal. */
import type { Action } from './scene.ts';
import { listen, type Move, type Playing, press, SPEECH_GAP_MS, say } from './take-turns.ts';

/** Speech of the agent after which a caller interrupts it, ms. */
const CUT_IN_AFTER_MS = 700;
/** An interrupted agent should be silent after this, ms. */
const HUSH_MS = 1_500;
/** Moves that the agent overtakes are not made; a caller may be told so many more, for each of its lines. */
const ATTEMPTS = 3;

/** Resolves after the conversation; true if the caller hangs up. */
export async function converse<Span>(
  conversation: Extract<Action, { do: 'converse' }>,
  playing: Playing<Span>,
): Promise<boolean> {
  const { mind, stream } = playing;
  if (!mind) throw new Error('a caller who converses needs a model that plays them');
  const { maxLines } = conversation;
  let made = 0;
  for (let asked = 0; made < maxLines && asked < ATTEMPTS * maxLines; asked++) {
    await listen(conversation, playing, playing.heardBeforeMs);
    const voicedMs = stream.lastVoicedMs;
    const isOvertaken = () => stream.lastVoicedMs !== voicedMs;
    const hasHeard = voicedMs !== playing.heardBeforeMs;
    const move = await mind.next(conversation, { movesLeft: maxLines - made, hasHeard, isOvertaken });
    // A caller lets the agent finish: what it says now belongs to what must be answered.
    if (move === null || isOvertaken()) continue;
    made++;
    await make(move, conversation, playing);
    if (move.do === 'hang_up') {
      mind.ended(move.goal === 'open' ? 'gave_up' : move.goal);
      return true;
    }
    if (move.goal !== 'open') {
      mind.ended(move.goal);
      return false;
    }
  }
  mind.ended('max_lines');
  return false;
}

async function make<Span>(
  move: Move,
  conversation: Extract<Action, { do: 'converse' }>,
  playing: Playing<Span>,
): Promise<void> {
  switch (move.do) {
    case 'say':
      await say(move.line, playing);
      if (move.cutIn) await cutIn(move.cutIn, conversation, playing);
      return;
    case 'press':
      return press(move.digits, playing);
    case 'wait':
      playing.heardBeforeMs = playing.stream.lastVoicedMs;
      return;
    case 'hang_up':
      if (move.line) await say(move.line, playing);
      return;
    default:
      move satisfies never;
  }
}

/** Interrupts the answer, unless it is over before. */
async function cutIn<Span>(
  line: Extract<Move, { do: 'say' }>['line'],
  { quietMs, timeoutMs }: Extract<Action, { do: 'converse' }>,
  playing: Playing<Span>,
): Promise<void> {
  const { stream } = playing;
  const isSpeaking = () => stream.agentSpokeForMs(SPEECH_GAP_MS) >= CUT_IN_AFTER_MS;
  const isOver = () => stream.lastVoicedMs !== playing.heardBeforeMs && stream.agentQuietForMs() >= quietMs;
  await stream.until(() => isSpeaking() || isOver(), timeoutMs);
  if (!isSpeaking()) return;
  await say(line, playing);
  // The rest of what was interrupted is no answer to it.
  await stream.until(() => stream.agentQuietForMs() >= SPEECH_GAP_MS, HUSH_MS);
  playing.heardBeforeMs = stream.lastVoicedMs;
}
