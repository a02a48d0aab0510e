/** Opens the rooms of the LiveKit server, and loads its SDK only if there is one. */
import type { Logger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import type { Rooms } from './rooms.ts';

/** As `openRooms`: null if LiveKit is not configured. */
export async function loadRooms(settings: Settings, logger: Logger): Promise<Rooms | null> {
  if (settings.LIVEKIT_URL === undefined) return null;
  const { openRooms } = await import('./open-rooms.ts');
  return openRooms(settings, logger);
}
