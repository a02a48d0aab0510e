/**
 * Journeys on one product beside a stand-in of a vendor: libraries of other vendors, the trace of a call,
 * custom speech, tests of an agent, an agent suggested by the model, and the described API, whose hostile
 * requests come last.
 */
import { afterAll, beforeAll } from 'vitest';
import { say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { openOtlpReceiver } from '#test/fakes/otlp-receiver.ts';
import { describeAgentTests } from './agent-tests.ts';
import { describeCallTraces } from './call-traces.ts';
import { describeCompatSdks } from './compat-sdks.ts';
import { describeCustomSpeech } from './custom-speech.ts';
import { describeDescribedApi } from './described-api.ts';
import { startProduct } from './product.ts';
import { describeSuggestedAgent } from './suggested-agent.ts';
import { HEARD, type VendorStage } from './vendor-stage.ts';

const stage = {} as VendorStage;

beforeAll(async () => {
  stage.answer = () => say('OK.');
  stage.vendor = await startOpenaiServer({ transcripts: [HEARD], chat: (body) => stage.answer(body) });
  stage.collector = await openOtlpReceiver();
  stage.product = await startProduct({
    environment: {
      ASR_PROVIDER: 'openai',
      OPENAI_BASE_URL: stage.vendor.url,
      LLM_DEFAULT: 'openai/test-model',
      SESSION_JOIN_SECONDS: '2',
      LOG_LEVEL: 'error',
      OTEL_EXPORTER_OTLP_ENDPOINT: stage.collector.url,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'SPAN_ONLY',
    },
  });
});
afterAll(async () => {
  await stage.product?.close();
  await stage.vendor?.close();
  await stage.collector?.close();
});

describeCompatSdks(stage);
describeCallTraces(stage);
describeCustomSpeech(stage);
describeAgentTests(stage);
describeSuggestedAgent(stage);
describeDescribedApi(stage);
