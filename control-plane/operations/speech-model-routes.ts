/** The operator's routes for downloadable speech models: the table, and the downloads on this machine. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { ModelStatus } from '#media/speech/models/model-downloads.ts';
import { addressOf, bytesOf, type SpeechModel } from '#media/speech/models/model-table.ts';
import type { Context } from '../platform/context.ts';
import type { ApiServer } from '../platform/http/server.ts';
import { recogniserInUse } from './recogniser-in-use.ts';

const OPERATOR = { access: 'operator' } as const;
const modelPath = z.object({ model_id: z.string().describe('Id of a model of the table') });

const modelRecord = z.object({
  model_id: z.string(),
  kind: z.enum(['recogniser', 'voice']).describe('What it does: hear callers, or speak to them'),
  name: z.string().describe('Name of the model for people'),
  licence: z.string().describe('SPDX identifier of the model’s licence'),
  languages: z.array(z.string()).describe('ISO 639-1'),
  sample_rate_hz: z.number().int().describe('Rate a recogniser works at, or a voice speaks at, Hz'),
  bytes: z.number().int().describe('Length of all files'),
  state: z
    .enum(['absent', 'downloading', 'checking', 'ready'])
    .describe('checking: everything has arrived and is verified, loaded and measured'),
  received_bytes: z.number().int().describe('Bytes that are here; a stopped download is resumed from there'),
  real_time_factor: z
    .number()
    .nullable()
    .describe('Processing time per time of audio, measured on this machine on one core; null until then'),
  error: z.string().nullable().describe('Why the last download failed and what to do; null if it did not'),
  directory: z.string().describe('Where the files are, or where to put them without a network'),
  files: z
    .array(
      z.object({
        name: z.string().describe('Name of the file'),
        bytes: z.number().int().describe('Length of the file'),
        sha256: z.string().describe('SHA-256 of the file, hexadecimal'),
        url: z.string().describe('Where the file is downloaded from; see `MODELS_URL`'),
      }),
    )
    .describe('Files of the model'),
});

const modelList = z.object({
  models: z.array(modelRecord).describe('All models of the table, the recommended recogniser first'),
  hears_speech: z.boolean().describe('False: agents receive only keypad and typed input'),
});

/** Registers the routes. */
export function registerSpeechModelRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/admin/speech-models',
    {
      config: OPERATOR,
      schema: {
        tags: ['operator'],
        response: { 200: modelList },
      },
    },
    async () => ({
      models: await Promise.all(context.speechModels.table.map((model) => recordOf(context, model))),
      hears_speech: recogniserInUse(context.platform) !== null,
    }),
  );

  app.post(
    '/admin/speech-models/:model_id/download',
    {
      config: OPERATOR,
      schema: {
        tags: ['operator'],
        params: modelPath,
        response: { 202: modelRecord },
      },
    },
    async (request, reply) => {
      const model = existingModel(context, request.params.model_id);
      void context.speechModels.start(model);
      return reply.code(202).send(await recordOf(context, model));
    },
  );

  app.delete(
    '/admin/speech-models/:model_id/download',
    {
      config: OPERATOR,
      schema: {
        tags: ['operator'],
        params: modelPath,
        response: { 200: modelRecord },
      },
    },
    async (request) => {
      const model = existingModel(context, request.params.model_id);
      await context.speechModels.stop(model.id);
      return recordOf(context, model);
    },
  );
}

function existingModel(context: Context, id: string): SpeechModel {
  const model = context.speechModels.find(id);
  if (!model) throw fault('not_found');
  return model;
}

async function recordOf(context: Context, model: SpeechModel): Promise<z.input<typeof modelRecord>> {
  return toModelRecord(await context.speechModels.status(model), context.settings.MODELS_URL);
}

function toModelRecord(
  { model, state, presentBytes, realTimeFactor, error, directory }: ModelStatus,
  baseUrl: string,
): z.input<typeof modelRecord> {
  const { id, kind, title, licence, languages, sample_rate_hz, files } = model;
  return {
    model_id: id,
    kind,
    name: title,
    licence,
    languages,
    sample_rate_hz,
    bytes: bytesOf(model),
    state,
    received_bytes: presentBytes,
    real_time_factor: realTimeFactor,
    error,
    directory,
    files: files.map((file) => ({ ...file, url: addressOf(baseUrl, model, file) })),
  };
}
