/** What a draft changes: the settings that a rehearsal runs calls under, and those it cannot judge. Pure. */
import type { AgentConfig } from '#config/agent-config.ts';
import { REPLAYABLE_SETTINGS } from '#protocol/conversation-settings.ts';
import { type RehearsedChanges, rehearsedChanges } from '#protocol/rehearsal.ts';
import { draftChanges } from '../../catalogue/agents/draft-changes.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';

/** Paths of the settings that the turn machine decides by. */
const JUDGED: readonly string[] = [
  ...[...REPLAYABLE_SETTINGS, 'max_duration_seconds'].map((name) => `conversation.${name}`),
  'tools.system_tools.hang_up_call_refuse_questions',
];
const KEYPAD = 'conversation.keypad_input.';
/** Settings that change no call. */
const WITHOUT_EFFECT: readonly string[] = ['conversation.record_audio', 'analysis.', 'webhooks.'];

type Frozen = Pick<VersionDocument, 'config' | 'tools' | 'knowledge' | 'tool_servers'>;

/** The draft's values of the settings in which it differs from what a call ran. */
export function changesBetween(
  ran: AgentConfig,
  draft: AgentConfig,
  { isWeb }: { readonly isWeb: boolean },
): RehearsedChanges {
  const values = settingsOf(draft);
  const before = settingsOf(ran);
  const names = Object.keys(values).filter((name) => !isWeb || name !== 'keypad_input');
  return rehearsedChanges.parse(
    Object.fromEntries(
      names
        .filter((name) => JSON.stringify(values[name]) !== JSON.stringify(before[name]))
        .map((name) => [name, values[name]]),
    ),
  );
}

function settingsOf({ conversation, tools }: AgentConfig): Record<string, unknown> {
  return {
    ...Object.fromEntries(REPLAYABLE_SETTINGS.map((name) => [name, conversation[name]])),
    max_duration_seconds: conversation.max_duration_seconds,
    keypad_input: conversation.keypad_input,
    hang_up_call_refuse_questions: tools.system_tools.hang_up_call_refuse_questions,
  };
}

/** Paths of what the draft changes and no rehearsal judges; without a published version there is nothing. */
export function notJudged(published: Frozen | null, draft: Frozen): string[] {
  if (!published) return [];
  const paths = draftChanges(published.config, draft.config)
    .map(({ path }) => path)
    .filter((path) => !JUDGED.includes(path) && !path.startsWith(KEYPAD))
    .filter((path) => !WITHOUT_EFFECT.some((start) => path.startsWith(start)));
  const contents = (['tools', 'knowledge', 'tool_servers'] as const).filter(
    (name) => JSON.stringify(published[name] ?? []) !== JSON.stringify(draft[name] ?? []),
  );
  return [...paths, ...contents.map((name) => `content of ${name}`)];
}
