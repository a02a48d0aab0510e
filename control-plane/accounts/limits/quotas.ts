/**
 * Quotas on the stored objects of an account. The store does the counting, so concurrent creations cannot
 * exceed a quota together.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { freePlace, takePlace } from '../../platform/store/counted-places.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { idsOf } from '../../platform/store/ids-of.ts';

/** Counted kinds: display name, setting of the limit, collection, and the field with the owner's id. */
const COUNTED = {
  agents: { what: 'agents', setting: 'LIMIT_AGENTS', model: 'agents', owner: 'team_id' },
  tools: { what: 'tools', setting: 'LIMIT_TOOLS', model: 'tools', owner: 'team_id' },
  toolServers: {
    what: 'tool servers',
    setting: 'LIMIT_TOOL_SERVERS',
    model: 'toolServers',
    owner: 'team_id',
  },
  sipRegistrations: {
    what: 'SIP registrations',
    setting: 'LIMIT_SIP_REGISTRATIONS',
    model: 'sipRegistrations',
    owner: 'team_id',
  },
  sipPhones: { what: 'phones', setting: 'LIMIT_SIP_PHONES', model: 'sipPhones', owner: 'team_id' },
  knowledge: { what: 'knowledge sources', setting: 'LIMIT_KNOWLEDGE', model: 'knowledge', owner: 'team_id' },
  voices: { what: 'voice models', setting: 'LIMIT_VOICES', model: 'voices', owner: 'team_id' },
  tests: { what: 'agent tests', setting: 'LIMIT_TESTS', model: 'agentTests', owner: 'team_id' },
  batches: { what: 'batches of calls', setting: 'LIMIT_BATCHES', model: 'batchCalls', owner: 'team_id' },
  keys: { what: 'keys', setting: 'LIMIT_KEYS', model: 'keys', owner: 'user_id' },
} as const;

/** One counted object. */
interface CountedObject {
  readonly kind: keyof typeof COUNTED;
  readonly owner: string;
  readonly id: string;
}

type Parts = Pick<Context, 'models' | 'clock' | 'settings'>;

/**
 * Stores one more object, with the id `id`. Throws `quota_reached` and whatever `store` throws; after an
 * error the object does not count.
 */
export async function withinQuota<Stored>(
  context: Parts,
  object: CountedObject,
  store: () => Promise<Stored>,
): Promise<Stored> {
  const { what, setting, model, owner: field } = COUNTED[object.kind];
  const limit = context.settings[setting];
  const places = {
    id: `${object.kind}:${object.owner}`,
    limit,
    statesOf: async (ids: readonly string[]) =>
      new Map((await idsOf(context.models, model, { _id: { $in: ids } })).map((id) => [id, true])),
    earlier: () => idsOf(context.models, model, { [field]: object.owner }),
  };
  if (!(await takePlace(context, places, object.id))) throw fault('quota_reached', { limit, what, setting });
  try {
    return await store();
  } catch (error) {
    // An object that is there already keeps its place.
    if (!isDuplicateKey(error)) await freePlace(context, places.id, object.id);
    throw error;
  }
}

/**
 * Deletes a stored object and frees its place at once. Throws whatever `remove` throws; after an error the
 * object still counts.
 */
export async function removeFromQuota<Removed>(
  context: Pick<Parts, 'models' | 'clock'>,
  { kind, owner, id }: CountedObject,
  remove: () => Promise<Removed>,
): Promise<Removed> {
  const removed = await remove();
  await freePlace(context, `${kind}:${owner}`, id);
  return removed;
}
