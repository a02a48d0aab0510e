/**
 * `npm run docs:traces`: draws the pictures of docs/traces.md from the spans of real phone calls to a product
 * beside a stand-in of a vendor, as they arrive at a collector.
 */
import { mkdirSync } from 'node:fs';
import { say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { openOtlpReceiver } from '#test/fakes/otlp-receiver.ts';
import { startProduct } from '#test/journeys/product.ts';
import { TracedCalls } from '#test/journeys/traced-calls.ts';
import { HEARD, type VendorStage } from '#test/journeys/vendor-stage.ts';
import { writePicture } from './pictures.ts';

/** About what vendors of a model need. */
const CHAT_FIRST_BYTE_MS = 250;

const stage = {} as VendorStage;
stage.answer = () => say('OK.');
stage.collector = await openOtlpReceiver();
stage.vendor = await startOpenaiServer({
  transcripts: [HEARD],
  chat: (body) => stage.answer(body),
  chatFirstByteMs: CHAT_FIRST_BYTE_MS,
});
stage.product = await startProduct({
  environment: {
    ASR_PROVIDER: 'openai',
    OPENAI_BASE_URL: stage.vendor.url,
    LOG_LEVEL: 'error',
    OTEL_EXPORTER_OTLP_ENDPOINT: stage.collector.url,
  },
});
try {
  const calls = await TracedCalls.open(stage);
  mkdirSync('docs/images/traces', { recursive: true });
  writePicture('booked.svg', await calls.book());
  writePicture('outage.svg', await calls.bookInVain());
  await calls.close();
} finally {
  await stage.product.close();
  await stage.vendor.close();
  await stage.collector.close();
}
