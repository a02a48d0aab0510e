/** Registers all routes of the API in one place. */
import { join } from 'node:path';
import { registerAccountRoutes } from './accounts/keys/account-routes.ts';
import { registerKeyRoutes } from './accounts/keys/key-routes.ts';
import { registerLedgerRoutes } from './accounts/wallet/ledger-routes.ts';
import { registerVerifyRoutes } from './accounts/wallet/verify-routes.ts';
import { registerWalletRoutes } from './accounts/wallet/wallet-routes.ts';
import { registerAdmitRoutes } from './calls/admission/admit-routes.ts';
import { registerStreamedCallRoutes } from './calls/admission/streamed-call-routes.ts';
import { registerVoiceTestCallRoutes } from './calls/admission/test-call-routes.ts';
import { registerRoomRoutes } from './calls/livekit/room-routes.ts';
import { registerPhoneCallRoutes } from './calls/outbound/phone-call-routes.ts';
import { registerTransferRoutes } from './calls/outbound/transfer-routes.ts';
import { registerTrunkLimitRoutes } from './calls/outbound/trunk-limit-routes.ts';
import { registerCallFileRoutes } from './calls/recordings/call-file-routes.ts';
import { registerFlightLogRoutes } from './calls/recordings/flight-log-routes.ts';
import { registerRecordingRoutes } from './calls/recordings/recording-routes.ts';
import { registerTuningRoutes } from './calls/recordings/tuning-routes.ts';
import { registerUploadRoutes } from './calls/recordings/upload-routes.ts';
import { registerVoiceTestRoutes } from './calls/recordings/voice-test-routes.ts';
import { registerCreateSessionRoutes } from './calls/sessions/create-session-routes.ts';
import { registerParticipantRoutes } from './calls/sessions/participant-routes.ts';
import { registerSessionRoutes } from './calls/sessions/session-routes.ts';
import { registerDeliveryRoutes } from './calls/webhooks/delivery-routes.ts';
import { registerTestEventRoutes } from './calls/webhooks/test-event-routes.ts';
import { registerSignallingRoutes } from './calls/workers/signalling-routes.ts';
import { registerAgentRoutes } from './catalogue/agents/agent-routes.ts';
import { registerConfigRoutes } from './catalogue/agents/config-routes.ts';
import { registerLimitRoutes } from './catalogue/agents/limit-routes.ts';
import { registerWidgetRoutes } from './catalogue/agents/widget-routes.ts';
import { registerKnowledgeRoutes } from './catalogue/knowledge/knowledge-routes.ts';
import { registerLostCallRoutes } from './catalogue/numbers/lost-call-routes.ts';
import { registerNumberRoutes } from './catalogue/numbers/number-routes.ts';
import { registerProofRoutes } from './catalogue/numbers/proof-routes.ts';
import { registerSipPhoneRoutes } from './catalogue/phones/phone-routes.ts';
import { registerSipRegistrationRoutes } from './catalogue/registrations/registration-routes.ts';
import { registerToolServerRoutes } from './catalogue/tool-servers/tool-server-routes.ts';
import { registerToolRoutes } from './catalogue/tools/tool-routes.ts';
import { registerSuggestionRoutes } from './jobs/agent-suggestions/suggestion-routes.ts';
import { registerTestRunRoutes } from './jobs/agent-tests/test-batch-routes.ts';
import { registerTestCallQuestionRoutes } from './jobs/agent-tests/test-call-question-routes.ts';
import { registerTestRoutes } from './jobs/agent-tests/test-routes.ts';
import { registerAnalysisRoutes } from './jobs/analysis/analysis-routes.ts';
import { registerBatchCallRoutes } from './jobs/batch-calls/batch-routes.ts';
import { registerDoNotCallRoutes } from './jobs/batch-calls/do-not-call-routes.ts';
import { registerRegretRoutes } from './jobs/regret/regret-routes.ts';
import { registerRehearsalRoutes } from './jobs/rehearsals/rehearsal-routes.ts';
import { registerSmsRoutes } from './jobs/sms/sms-routes.ts';
import { registerTextMessageRoutes } from './jobs/text-sessions/text-message-routes.ts';
import { registerTextSessionRoutes } from './jobs/text-sessions/text-session-routes.ts';
import { registerTextSocketRoutes } from './jobs/text-sessions/text-socket-routes.ts';
import { registerAnalyticsRoutes } from './operations/analytics/analytics-routes.ts';
import { registerAuditRoutes } from './operations/audit/audit-routes.ts';
import { recordChanges } from './operations/audit/record-changes.ts';
import { registerBackupRoutes } from './operations/backup/backup-routes.ts';
import { registerEventRoutes } from './operations/events/event-routes.ts';
import { registerHealthRoutes } from './operations/health/health-routes.ts';
import { registerLearningRoutes } from './operations/learning/learning-routes.ts';
import { registerMcpRoutes } from './operations/mcp/mcp-routes.ts';
import { registerOperatorRoutes } from './operations/operator-routes.ts';
import { registerPrivacyRoutes } from './operations/privacy/privacy-routes.ts';
import { registerScorecardRoutes } from './operations/scorecard/scorecard-routes.ts';
import { registerShareRoutes } from './operations/shares/share-routes.ts';
import { registerDemoRoutes } from './operations/site/demo-routes.ts';
import { registerSiteRoutes } from './operations/site/site-routes.ts';
import { registerSpeechModelRoutes } from './operations/speech-model-routes.ts';
import { registerTestCallRoutes } from './operations/test-call-routes.ts';
import type { Context } from './platform/context.ts';
import type { ApiServer } from './platform/http/server.ts';
import { registerRefusalRoutes } from './platform/refusals/refusal-routes.ts';
import { registerGeneralRoutes } from './speech/compat/general-routes.ts';
import { registerVendorRoutes } from './speech/compat/vendor-routes.ts';
import { registerAsrRoutes } from './speech/requests/asr-routes.ts';
import { registerLiveRoutes } from './speech/requests/live-routes.ts';
import { registerTtsRoutes } from './speech/requests/tts-routes.ts';
import { registerVoiceRoutes } from './speech/voices/voice-routes.ts';

/** Folder of the built web files. */
const WEB_DIST = join(import.meta.dirname, '..', 'web', 'dist');

/** Registers all routes on a server that is not listening yet. */
export async function registerRoutes(app: ApiServer, context: Context): Promise<void> {
  recordChanges(app, context);
  registerHealthRoutes(app, context);
  registerEachAgent(app, context);
  registerToolRoutes(app, context);
  registerToolServerRoutes(app, context);
  registerTrials(app, context);
  registerSuggestionRoutes(app, context);
  await registerKnowledgeRoutes(app, context);
  registerNumberRoutes(app, context);
  registerSipRegistrationRoutes(app, context);
  registerSipPhoneRoutes(app, context);
  registerTrunkLimitRoutes(app, context);
  registerProofRoutes(app, context);
  await registerLostCallRoutes(app, context);
  registerCreateSessionRoutes(app, context);
  registerSessionRoutes(app, context);
  registerParticipantRoutes(app, context);
  await registerRoomRoutes(app, context);
  registerPhoneCallRoutes(app, context);
  registerTextSessionRoutes(app, context);
  registerTextMessageRoutes(app, context);
  registerTextSocketRoutes(app, context);
  await registerSmsRoutes(app, context);
  await registerBatchCallRoutes(app, context);
  registerDoNotCallRoutes(app, context);
  registerDeliveryRoutes(app, context);
  registerTestEventRoutes(app, context);
  registerRefusalRoutes(app, context);
  registerPrivacyRoutes(app, context);
  registerAuditRoutes(app, context);
  registerAnalysisRoutes(app, context);
  registerAnalyticsRoutes(app, context);
  registerEventRoutes(app, context);
  registerStoredCallRoutes(app, context);
  registerAdmitRoutes(app, context);
  await registerStreamedCallRoutes(app, context);
  registerSignallingRoutes(app, context);
  registerTransferRoutes(app, context);
  await registerUploadRoutes(app, context);
  await registerTtsRoutes(app, context);
  registerLiveRoutes(app, context);
  await registerAsrRoutes(app, context);
  await registerVoiceRoutes(app, context);
  await registerGeneralRoutes(app, context);
  await registerVendorRoutes(app, context);
  registerWalletRoutes(app, context);
  registerLedgerRoutes(app, context);
  registerAccountRoutes(app, context);
  registerKeyRoutes(app, context);
  registerOperatorRoutes(app, context);
  registerTestCallRoutes(app, context);
  registerSpeechModelRoutes(app, context);
  registerVerifyRoutes(app, context);
  registerBackupRoutes(app, context);
  registerDemoRoutes(app, context);
  registerMcpRoutes(app, context);
  await registerSiteRoutes(app, context, WEB_DIST);
}

/** What tries a draft before it is published. */
function registerTrials(app: ApiServer, context: Context): void {
  registerTestRoutes(app, context);
  registerTestRunRoutes(app, context);
  registerRehearsalRoutes(app, context);
  registerVoiceTestCallRoutes(app, context);
  registerTestCallQuestionRoutes(app, context);
  registerRegretRoutes(app, context);
  registerLearningRoutes(app, context);
}

/** What is stored of ended calls. */
function registerStoredCallRoutes(app: ApiServer, context: Context): void {
  registerRecordingRoutes(app, context);
  registerFlightLogRoutes(app, context);
  registerCallFileRoutes(app, context);
  registerVoiceTestRoutes(app, context);
  registerTuningRoutes(app, context);
}

/** Agents, their configuration and which calls get which version. */
function registerEachAgent(app: ApiServer, context: Context): void {
  registerAgentRoutes(app, context);
  registerConfigRoutes(app, context);
  registerShareRoutes(app, context);
  registerScorecardRoutes(app, context);
  registerWidgetRoutes(app, context);
  registerLimitRoutes(app, context);
}
