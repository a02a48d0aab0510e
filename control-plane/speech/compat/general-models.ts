/**
 * `GET …/models` of the general APIs: public, with the fields of both the general vendor and the model
 * router.
 */
import type { Context } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { LISTED_MODELS } from './compat-models.ts';

/** Registers it. */
export function registerGeneralModels(scope: ApiServer, context: Context): void {
  const schema = { tags: ['compatible'], description: 'Lists the models served here.' };
  scope.get('/models', { config: { access: 'none' }, schema }, () => {
    const data = listModels(context);
    return { object: 'list', data, total_count: data.length, links: { next: null } };
  });
}

function listModels({ platform }: Pick<Context, 'platform'>) {
  return LISTED_MODELS.map(({ id, name, description, speaks }) => ({
    id,
    object: 'model',
    created: 0,
    owned_by: 'parley',
    canonical_slug: id,
    name,
    description,
    context_length: null,
    architecture: {
      modality: speaks ? 'text->audio' : 'audio->text',
      input_modalities: [speaks ? 'text' : 'audio'],
      output_modalities: [speaks ? 'speech' : 'transcription'],
      tokenizer: 'Other',
      instruct_type: null,
    },
    pricing: { prompt: '0', completion: '0' },
    top_provider: { context_length: null, max_completion_tokens: null, is_moderated: false },
    per_request_limits: null,
    supported_parameters: [],
    supported_voices: speaks ? platform.voices.map((voice) => voice.id) : null,
    default_parameters: null,
    links: { details: `/models/${id}` },
  }));
}
