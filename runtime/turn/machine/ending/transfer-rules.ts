/** What the turn machine is told of the people a caller can be handed to. */
import type { CallPlan } from '#protocol/call-plan.ts';

/** One destination as the machine knows it. */
export interface TransferRule {
  /** As the model names it. */
  readonly label: string;
  readonly announcementMode: 'generated' | 'fixed' | 'off';
  readonly announcement: string;
  readonly onFailure: { readonly action: 'return_to_agent' | 'end_call'; readonly message: string };
  /** Why nobody can be transferred there. */
  readonly error: string | null;
}

/** What the machine is told of transfers; null where there are none. */
export interface TransferRules {
  readonly refuseQuestions: boolean;
  /** In the order of the configuration. */
  readonly destinations: readonly TransferRule[];
}

/** Reads the rules out of a plan. `render` fills the placeholders of a text. */
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
