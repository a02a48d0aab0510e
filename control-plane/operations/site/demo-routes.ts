/**
 * `GET /demo.json`: data for the page at `/` for a visitor without a key: the demo agent, how to phone it,
 * and the engines in use.
 */
import { z } from 'zod';
import { DEMO_PHRASES } from '#config/demo-phrases.ts';
import { bytesOf, recommended } from '#media/speech/models/model-table.ts';
import type { Context } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { recogniserInUse } from '../recogniser-in-use.ts';
import { DEMO_AGENT_ID, findDemoNumber } from '../seed.ts';

const demoRecord = z.object({
  agent_id: z.string(),
  agent_name: z.string(),
  /** Null while no number leads to the demo agent. */
  sip_uri: z.string().nullable(),
  hears_speech: z.boolean(),
  /** Length of the recogniser that the operator can download; null if there is none. */
  recogniser_bytes: z.number().int().nullable(),
  engines: z.array(z.string()),
  phrases: z.array(z.string()),
});

/** Example phrases for a visitor, one of each kind. */
const SUGGESTIONS = [
  DEMO_PHRASES.opening_hours,
  DEMO_PHRASES.booking,
  DEMO_PHRASES.abilities,
  DEMO_PHRASES.name,
  DEMO_PHRASES.goodbye,
].map(([first]) => first);

/** Registers the route. */
export function registerDemoRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/demo.json',
    { config: { access: 'none' as const }, schema: { hide: true, response: { 200: demoRecord } } },
    async () => {
      const agent = await context.models.agents.findOne({ _id: DEMO_AGENT_ID }).lean();
      const number = await findDemoNumber(context);
      const { settings, platform } = context;
      const host =
        settings.SIP_PUBLIC_IP ?? (settings.SIP_HOST === '0.0.0.0' ? '127.0.0.1' : settings.SIP_HOST);
      const recognition = recogniserInUse(platform);
      const downloadable = recommended(context.speechModels.table);
      const voice = platform.voices.find((candidate) => candidate.default);
      return {
        agent_id: DEMO_AGENT_ID,
        agent_name: agent?.name ?? 'Parley demo',
        sip_uri: number === null ? null : `sip:${number}@${host}:${settings.SIP_PORT}`,
        hears_speech: recognition !== null,
        recogniser_bytes: downloadable ? bytesOf(downloadable) : null,
        engines: [
          `Model ${agent?.config.llm.model ?? 'none'}`,
          `Voice ${voice?.name ?? 'none'}`,
          `Recognition ${recognition ?? 'none'}`,
        ],
        phrases: SUGGESTIONS,
      };
    },
  );
}
