/** Every route of the API, registered in one place. */
import { join } from 'node:path';
import { registerTestRunRoutes } from './agent-tests/batch-routes.ts';
import { registerTestRoutes } from './agent-tests/test-routes.ts';
import { registerAgentRoutes } from './agents/agent-routes.ts';
import { registerConfigRoutes } from './agents/config-routes.ts';
import { registerWidgetRoutes } from './agents/widget-routes.ts';
import { registerAnalysisRoutes } from './analysis/analysis-routes.ts';
import { registerAnalyticsRoutes } from './analytics/analytics-routes.ts';
import { registerAuditRoutes } from './audit/audit-routes.ts';
import { recordChanges } from './audit/record-changes.ts';
import { registerBackupRoutes } from './backup/backup-routes.ts';
import { registerAdmitRoutes } from './calls/admit-routes.ts';
import { registerPhoneCallRoutes } from './calls/phone-call-routes.ts';
import type { Context } from './context.ts';
import { registerEventRoutes } from './events/event-routes.ts';
import { registerHealthRoutes } from './health/health-routes.ts';
import { registerAccountRoutes } from './keys/account-routes.ts';
import { registerKeyRoutes } from './keys/key-routes.ts';
import { registerKnowledgeRoutes } from './knowledge/knowledge-routes.ts';
import { registerLimitRoutes } from './limits/limit-routes.ts';
import { registerRoomRoutes } from './livekit/room-routes.ts';
import { registerNumberRoutes } from './numbers/number-routes.ts';
import { registerOperatorRoutes } from './operator-routes.ts';
import { registerPrivacyRoutes } from './privacy/privacy-routes.ts';
import { registerRecordingRoutes } from './recordings/recording-routes.ts';
import { registerUploadRoutes } from './recordings/upload-routes.ts';
import { registerRefusalRoutes } from './refusals/refusal-routes.ts';
import type { ApiServer } from './server.ts';
import { registerCreateSessionRoutes } from './sessions/create-session-routes.ts';
import { registerSessionRoutes } from './sessions/session-routes.ts';
import { registerDemoRoutes } from './site/demo-routes.ts';
import { registerSiteRoutes } from './site/site-routes.ts';
import { registerToolRoutes } from './tools/tool-routes.ts';
import { registerLedgerRoutes } from './wallet/ledger-routes.ts';
import { registerVerifyRoutes } from './wallet/verify-routes.ts';
import { registerWalletRoutes } from './wallet/wallet-routes.ts';
import { registerDeliveryRoutes } from './webhooks/delivery-routes.ts';

/** Folder of the built web files, beside this one. */
const WEB_DIST = join(import.meta.dirname, '..', 'web', 'dist');

/** Registers all routes on a server that does not listen yet. */
export async function registerRoutes(app: ApiServer, context: Context): Promise<void> {
  recordChanges(app, context);
  registerHealthRoutes(app, context);
  registerAgentRoutes(app, context);
  registerConfigRoutes(app, context);
  registerWidgetRoutes(app, context);
  registerLimitRoutes(app, context);
  registerToolRoutes(app, context);
  registerTestRoutes(app, context);
  registerTestRunRoutes(app, context);
  await registerKnowledgeRoutes(app, context);
  registerNumberRoutes(app, context);
  registerCreateSessionRoutes(app, context);
  registerSessionRoutes(app, context);
  await registerRoomRoutes(app, context);
  registerPhoneCallRoutes(app, context);
  registerDeliveryRoutes(app, context);
  registerRefusalRoutes(app, context);
  registerPrivacyRoutes(app, context);
  registerAuditRoutes(app, context);
  registerAnalysisRoutes(app, context);
  registerAnalyticsRoutes(app, context);
  registerEventRoutes(app, context);
  registerRecordingRoutes(app, context);
  registerAdmitRoutes(app, context);
  await registerUploadRoutes(app, context);
  registerWalletRoutes(app, context);
  registerLedgerRoutes(app, context);
  registerAccountRoutes(app, context);
  registerKeyRoutes(app, context);
  registerOperatorRoutes(app, context);
  registerVerifyRoutes(app, context);
  registerBackupRoutes(app, context);
  registerDemoRoutes(app, context);
  await registerSiteRoutes(app, WEB_DIST);
}
