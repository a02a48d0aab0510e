/** The frozen parts of a text session: its plan, and the items of the session that it continues. */
import { z } from 'zod';
import type { Sealer } from '#base/sealer.ts';
import { type CallPlan, callPlan } from '#protocol/call-plan.ts';
import { type SessionItem, sessionItem } from '#protocol/session-record.ts';
import { planKnowledge } from '../../catalogue/knowledge/plan-knowledge.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionAttachment } from '../../platform/store/models/session-model.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { openJson } from '../sessions/sealed-contents.ts';
import { sealerOf } from '../sessions/session-store.ts';
import { attach } from '../sessions/timeline.ts';

type Parts = Pick<Context, 'models' | 'dataKeys'>;

/** Seals and stores the parts of a new session; `plan` has no knowledge, which stays with the version. */
export async function storeParts(
  context: Pick<Context, 'models'>,
  sessionId: string,
  {
    sealer,
    plan,
    earlier,
  }: { readonly sealer: Sealer; readonly plan: CallPlan; readonly earlier: readonly SessionItem[] | null },
): Promise<void> {
  const parts = { plan, ...(earlier && { context: earlier }) };
  for (const [part, content] of Object.entries(parts))
    await attach(context, {
      _id: partId(sessionId, part),
      session_id: sessionId,
      sealed: sealer.seal(JSON.stringify(content), part),
    });
}

/** The plan without its knowledge; null once the session is erased. */
export async function readTextPlan(context: Parts, session: TextSessionDocument): Promise<CallPlan | null> {
  return readPart(context, session, 'plan', callPlan);
}

/** The items of the session that this one continues; empty without one. */
export async function readEarlierItems(context: Parts, session: TextSessionDocument): Promise<SessionItem[]> {
  if (session.continued_from === null) return [];
  return (await readPart(context, session, 'context', z.array(sessionItem))) ?? [];
}

/** The knowledge of a session's version as it was published. */
export async function knowledgeOf(
  context: Pick<Context, 'models' | 'logger'>,
  { version_id }: Pick<TextSessionDocument, 'version_id'>,
): Promise<CallPlan['knowledge']> {
  const version = await context.models.versions.findById(version_id).lean<VersionDocument>();
  return version ? planKnowledge(context, version) : [];
}

function partId(sessionId: string, part: string): string {
  return `${sessionId}:${part}`;
}

async function readPart<Schema extends z.ZodType>(
  context: Parts,
  session: TextSessionDocument,
  part: string,
  schema: Schema,
): Promise<z.output<Schema> | null> {
  const kept = await context.models.sessionAttachments
    .findById(partId(session._id, part))
    .lean<SessionAttachment>();
  return openJson(sealerOf(context, session), kept?.sealed ?? null, part, schema);
}
