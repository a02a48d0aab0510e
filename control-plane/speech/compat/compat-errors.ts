/** Errors in the format of each vendor whose protocol we offer. */
import { type Fault, fault } from '#config/errors.ts';
import { SpeechJobError } from '#media/speech/pool/speech-jobs.ts';
import { faultOf, firstProblem, InvalidRequest } from '../../platform/http/problems.ts';
import { speechFault } from '../requests/speech-service.ts';

/** Maps any error to the fault to report. */
export function compatFault(thrown: unknown): Fault {
  const error = thrown instanceof Error ? thrown : new Error('thrown value', { cause: thrown });
  if (error instanceof SpeechJobError) return speechFault(error) as Fault;
  if (error instanceof InvalidRequest) return fault('bad_request', { detail: firstProblem(error) });
  if ('code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return fault('media_type', {
      types: 'application/json, or multipart/form-data where a file is uploaded',
    });
  return faultOf(error);
}

/** Error format of the general vendor and of the model router. */
export function generalError({ status, message, code }: Fault) {
  return { error: { code: status, message, type: generalType(status), metadata: { reason: code } } };
}

function generalType(status: number): string {
  if (status === 401 || status === 403) return 'authentication_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'provider_error' : 'invalid_request_error';
}

/** Error format of the voice vendor. */
export function voiceVendorError({ status, message, code }: Fault) {
  return { detail: { status: voiceVendorStatus(status, code), message } };
}

function voiceVendorStatus(status: number, code: Fault['code']): string {
  if (code === 'reference_not_found' || code === 'voice_not_found') return 'voice_not_found';
  if (code === 'model_unknown') return 'model_not_found';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'not_found';
  if (status === 413) return 'payload_too_large';
  if (status === 429) return 'rate_limit_error';
  if (status === 502 || status === 503) return 'upstream_error';
  return status >= 500 ? 'provider_error' : 'invalid_request';
}
