/** The general vendor's API below each of its clients' usual base addresses, including the model router's. */

import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import { acceptBodies } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { GENERAL_STYLE, registerCompatScope } from './compat-scope.ts';
import { registerGeneralChat } from './general-chat.ts';
import { registerGeneralModels } from './general-models.ts';
import { registerGeneralSpeech } from './general-speech.ts';
import { registerGeneralTranscription } from './general-transcription.ts';
import { registerRealtime } from './realtime-routes.ts';

const PREFIXES = ['/compat/v1', '/compat/api/v1', '/compat/openai/v1'];

/** Registers it. */
export async function registerGeneralRoutes(app: ApiServer, context: Context): Promise<void> {
  for (const prefix of PREFIXES) {
    await registerCompatScope(app, context, {
      prefix,
      style: GENERAL_STYLE,
      routes: (scope) => {
        acceptBodies(scope, {
          kinds: ['multipart'],
          json: true,
          mostBytes: LIMITS.compatVendorBodyBytes,
          mayMiss: true,
        });
        registerGeneralSpeech(scope, context);
        registerGeneralTranscription(scope, context);
        registerGeneralChat(scope, context);
        registerGeneralModels(scope, context);
      },
    });
    registerRealtime(app, context, `${prefix}/realtime`);
  }
}
