/** Messages between the call loop and a media thread or process: at most one batch per 5 ms each way. */
import type { FaultCode } from '#config/errors.ts';
import type { EventBatch } from '../leg/event-batch.ts';
import type { LegCommand } from '../leg/leg.ts';
import type {
  LivekitLegOptions,
  MediaThreadSettings,
  RtpLegOptions,
  StreamLegOptions,
  Transport,
  WebrtcLegOptions,
} from '../leg/leg-factory.ts';
import type { OpenedLeg } from '../leg/transport-leg.ts';

/** A command and the number of its leg. */
export interface AddressedCommand {
  readonly leg: number;
  readonly command: LegCommand;
}

/** Call loop → media thread. */
export type ToMediaThread =
  /** The first message. */
  | { readonly type: 'start'; readonly settings: MediaThreadSettings }
  /** Loads what the first legs of these transports would load. */
  | { readonly type: 'warmUp'; readonly transports: readonly Transport[] }
  | { readonly type: 'commands'; readonly commands: readonly AddressedCommand[] }
  | { readonly type: 'openRtp'; readonly leg: number; readonly options: RtpLegOptions }
  | { readonly type: 'openStream'; readonly leg: number; readonly options: StreamLegOptions }
  | { readonly type: 'openWebrtc'; readonly leg: number; readonly options: WebrtcLegOptions }
  | { readonly type: 'openLivekit'; readonly leg: number; readonly options: LivekitLegOptions }
  /** No audio is sent after this monotonic time. */
  | { readonly type: 'speakUntil'; readonly untilMs: number }
  | { readonly type: 'stop' };

/** Media thread → call loop. */
export type FromMediaThread =
  | { readonly type: 'ready' }
  /** Answers `warmUp`, when everything is loaded that can be; `isComplete`: all that was asked for. */
  | { readonly type: 'warm'; readonly isComplete: boolean }
  | { readonly type: 'events'; readonly batch: EventBatch }
  /** How late the wheel was at most since the last such message, which was at least a second ago. */
  | { readonly type: 'lateness'; readonly ms: number }
  | { readonly type: 'opened'; readonly leg: number; readonly opened: OpenedLeg }
  | { readonly type: 'refused'; readonly leg: number; readonly code: FaultCode; readonly message: string }
  | {
      readonly type: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly message: string;
      readonly detail: string | null;
    }
  | { readonly type: 'stopped' };
