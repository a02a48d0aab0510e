/** Voices, models and the user in the format of the voice vendor's clients. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { type Caller, callerOf } from '../../platform/http/auth.ts';
import { searchPattern } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { VoiceDocument } from '../../platform/store/models/voice-model.ts';
import { findVoice } from '../voices/voice-store.ts';
import { LISTED_MODELS } from './compat-models.ts';
import { OWN_KEY } from './compat-scope.ts';
import { MAX_LISTED, vendorUser } from './vendor-user.ts';

const voicesQuery = z.looseObject({
  page_size: z.coerce.number().int().min(1).max(100).default(10),
  search: z.string().max(200).optional(),
  next_page_token: z
    .string()
    .regex(/^\d{1,6}$/)
    .optional(),
});

/** Registers them. */
export function registerVendorCatalogue(scope: ApiServer, context: Context): void {
  const tags = ['compatible'];
  scope.get(
    '/v1/voices',
    { config: OWN_KEY, schema: { tags, description: 'Lists all voices.' } },
    async (request) => ({
      voices: (await listVoices(context, callerOf(request), { skip: 0, limit: MAX_LISTED })).voices,
    }),
  );
  scope.get(
    '/v2/voices',
    {
      config: OWN_KEY,
      schema: { tags, description: 'Lists voices, page by page.', querystring: voicesQuery },
    },
    async (request) => {
      const { page_size: limit, search, next_page_token } = request.query;
      const skip = Number(next_page_token ?? 0);
      const { voices, total } = await listVoices(context, callerOf(request), { skip, limit, search });
      const has_more = skip + voices.length < total;
      return {
        voices,
        has_more,
        total_count: total,
        next_page_token: has_more ? String(skip + voices.length) : null,
      };
    },
  );
  const params = z.object({ voice_id: z.string() });
  scope.get(
    '/v1/voices/:voice_id',
    { config: OWN_KEY, schema: { tags, description: 'Returns a voice.', params } },
    async (request) => {
      const { voice_id: id } = request.params;
      const own = context.platform.voices.find((voice) => voice.id === id);
      if (own) return engineVoice(own);
      try {
        return modelVoice(await findVoice(context, callerOf(request).teamId, id), context);
      } catch {
        throw fault('voice_not_found');
      }
    },
  );
  scope.get(
    '/v1/models',
    { config: OWN_KEY, schema: { tags, description: 'Lists the synthesis models.' } },
    () =>
      LISTED_MODELS.filter(({ speaks }) => speaks).map(({ id, name, description }) => ({
        model_id: id,
        name,
        description,
        can_do_text_to_speech: true,
        can_do_voice_conversion: false,
        can_be_finetuned: false,
        can_use_style: false,
        can_use_speaker_boost: false,
        serves_pro_voices: false,
        requires_alpha_access: false,
        token_cost_factor: 1,
        languages: [...new Set(context.platform.voices.flatMap(({ languages }) => languages))].map(
          (code) => ({
            language_id: code,
            name: code,
          }),
        ),
      })),
  );
  scope.get(
    '/v1/user',
    { config: OWN_KEY, schema: { tags, description: 'Returns the account of the key.' } },
    async (request) => {
      const caller = callerOf(request);
      const user = await context.models.users.findById(caller.userId).lean();
      return vendorUser({ userId: caller.userId, workspaceId: caller.workspaceId, name: user?.name ?? '' });
    },
  );
}

/** The engine's voices, then the team's own models, newest first. */
async function listVoices(
  context: Context,
  caller: Caller,
  { skip, limit, search }: { skip: number; limit: number; search?: string | undefined },
) {
  const name = search?.toLowerCase() ?? '';
  const engine = context.platform.voices.filter((voice) => voice.name.toLowerCase().includes(name));
  const filter = {
    team_id: caller.teamId,
    ...(search === undefined ? {} : { title: searchPattern(search) }),
  };
  const shown = engine.slice(skip, skip + limit).map(engineVoice);
  const total = engine.length + (await context.models.voices.countDocuments(filter));
  if (shown.length === limit) return { voices: shown, total };
  const rows = await context.models.voices
    .find(filter)
    .sort({ created_at: -1, _id: -1 })
    .skip(Math.max(0, skip - engine.length))
    .limit(limit - shown.length)
    .lean<VoiceDocument[]>();
  return { voices: [...shown, ...rows.map((voice) => modelVoice(voice, context))], total };
}

function engineVoice({
  id,
  name,
  languages,
}: {
  readonly id: string;
  readonly name: string;
  readonly languages: readonly string[];
}) {
  return {
    voice_id: id,
    name,
    category: 'premade',
    labels: { language: languages.join(', ') },
    description: '',
    preview_url: null,
    settings: null,
  };
}

function modelVoice(voice: VoiceDocument, context: Context) {
  const preview_url =
    voice.samples.length > 0 ? `${context.publicAddress.url}/model/${voice._id}/samples/0` : null;
  return {
    voice_id: voice._id,
    name: voice.title,
    category: 'cloned',
    labels: {},
    description: voice.description,
    preview_url,
    settings: null,
  };
}
