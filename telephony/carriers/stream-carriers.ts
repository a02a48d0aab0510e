/** The vendors that bring calls as media streams. */
import type { StreamVendor } from '#protocol/media-streams.ts';
import type { StreamCarrier } from './stream-carrier.ts';

/** The vendor. Loaded when first used: an SDK takes time and memory that only its users should pay for. */
export async function streamCarrier(vendor: StreamVendor): Promise<StreamCarrier> {
  switch (vendor) {
    case 'twilio':
      return (await import('./twilio-voice.ts')).twilioVoice;
    case 'telnyx':
      return (await import('./telnyx-voice.ts')).telnyxVoice;
    case 'vonage':
      return (await import('./vonage-voice.ts')).vonageVoice;
    case 'plivo':
      return (await import('./plivo-voice.ts')).plivoVoice;
    default:
      return vendor satisfies never;
  }
}
