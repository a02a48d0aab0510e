/**
 * `WS …/realtime?model=…` of the general APIs; with `?intent=transcription` recognition only. The key is a
 * bearer token or `?api_key=`.
 */
import type { Context } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { isListeningModel, speakingModel } from './compat-models.ts';
import { GENERAL_STYLE } from './compat-scope.ts';
import { registerSocket } from './compat-sockets.ts';
import { serveRealtime } from './realtime-session.ts';

/** Registers it at a path. */
export function registerRealtime(app: ApiServer, context: Context, path: string): void {
  registerSocket(app, context, {
    path,
    style: GENERAL_STYLE,
    keyOf: (query) => query.get('api_key'),
    read: (query) => {
      const modelName = query.get('model') ?? '';
      const isListening = query.get('intent') === 'transcription' || isListeningModel(modelName);
      const wallTime = context.clock.wallTime();
      const model = speakingModel(isListening ? null : modelName, wallTime);
      return {
        kind: isListening ? ('transcription' as const) : ('realtime' as const),
        modelName: modelName || 'parley/s2.1-pro',
        model,
      };
    },
    serve: (seat, asked) => serveRealtime({ context, seat, ...asked }),
  });
}
