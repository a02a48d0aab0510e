/** The turn machine's view of transfer destinations. */
import type { CallPlan } from '#protocol/call-plan.ts';

/** One destination. */
export interface TransferRule {
  /** The name the model uses. */
  readonly label: string;
  readonly announcementMode: 'generated' | 'fixed' | 'off';
  readonly announcement: string;
  readonly onFailure: { readonly action: 'return_to_agent' | 'end_call'; readonly message: string };
  /** Why this destination cannot be used; null if it can. */
  readonly error: string | null;
}

/** The destinations of an agent. */
export interface TransferRules {
  readonly refuseQuestions: boolean;
  /** In configuration order. */
  readonly destinations: readonly TransferRule[];
}

/** Reads the rules from a plan. `render` fills placeholders. */
export function transferRules(plan: CallPlan, render: (text: string) => string): TransferRules | null {
  const { transfer } = plan;
  const { transfer_destinations: destinations, transfer_refuse_questions: refuseQuestions } =
    plan.config.conversation;
  if (!transfer) return null;
  return {
    refuseQuestions,
    destinations: destinations.map(
      ({ label, announcement_mode, announcement_message, on_failure }, index) => ({
        label,
        announcementMode: announcement_mode,
        announcement: render(announcement_message).trim(),
        onFailure: { action: on_failure.action, message: render(on_failure.message).trim() },
        error: transfer.routes[index]?.error ?? null,
      }),
    ),
  };
}
