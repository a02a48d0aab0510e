/** Recognition on an owner's server with OpenAI's route for transcriptions: one utterance per request. */
import { z } from 'zod';
import { EgressTimeout } from '#base/egress.ts';
import { parseJson } from '#base/parse-json.ts';
import type { PlannedRecognizer } from '#config/custom-speech.ts';
import { type Recognizer, SpeechError } from '../speech.ts';
import { listenByUtterances } from '../vendors/openai.ts';
import { bearer, brokenRequest, OWN_SERVER, type OwnServerDeps, refusalOf } from './own-server.ts';

const DEFAULT_MODEL = 'whisper-1';
/** Most bytes of an answer: half a minute of speech with its words' times. */
const MAX_ANSWER_BYTES = 64 * 1_024;
const MAX_TEXT_CHARS = 5_000;
/** The utterance has a shorter deadline of its own. */
const REQUEST_MS = 30_000;

/** A longer text than an utterance can have is not one. */
const answer = z.object({ text: z.string().max(MAX_TEXT_CHARS) });

/** Creates the recogniser of one agent. */
export function createOwnOpenaiRecognizer(
  id: string,
  own: PlannedRecognizer,
  deps: OwnServerDeps,
): Recognizer {
  const post = (form: FormData, signal: AbortSignal) => postForm(form, signal, { own, deps });
  return {
    id,
    givesInterims: false,
    expectedFinalMs: 900,
    open: (recognition) =>
      listenByUtterances(
        own.model || DEFAULT_MODEL,
        { ...recognition, language: own.language || recognition.language },
        { post, clock: deps.clock },
      ),
  };
}

async function postForm(
  form: FormData,
  signal: AbortSignal,
  { own, deps }: { readonly own: PlannedRecognizer; readonly deps: OwnServerDeps },
): Promise<unknown> {
  // The guard's `fetch` does not know the form of the platform.
  const encoded = new Response(form);
  const { status, body, isTruncated } = await deps.egress
    .request(`${own.url}/audio/transcriptions`, {
      method: 'POST',
      headers: { 'content-type': encoded.headers.get('content-type') ?? '', ...bearer(own.api_key) },
      body: new Uint8Array(await encoded.arrayBuffer()),
      timeoutMs: REQUEST_MS,
      maxBytes: MAX_ANSWER_BYTES,
      signal,
    })
    .catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      throw error instanceof EgressTimeout
        ? new SpeechError('stalled', `${OWN_SERVER} did not answer in time`)
        : brokenRequest(error);
    });
  if (status < 200 || status >= 300) throw refusalOf(status);
  if (isTruncated)
    throw new SpeechError('unavailable', `${OWN_SERVER} sent more than ${MAX_ANSWER_BYTES} bytes`);
  return parseJson(answer, body.toString());
}
