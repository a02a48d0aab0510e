/** An account in the format of the voice vendor's clients. */

/** Maximum models of a team in a list without pages. */
export const MAX_LISTED = 1_000;

/** The wallet limits an account, not a number of characters: the vendor's counters are constant. */
const UNTRACKED_SUBSCRIPTION = {
  tier: 'pay_as_you_go',
  character_count: 0,
  character_limit: 1_000_000_000,
  max_credit_limit_extension: 'unlimited',
  can_extend_character_limit: false,
  allowed_to_extend_character_limit: false,
  voice_slots_used: 0,
  professional_voice_slots_used: 0,
  professional_voice_slots_used_in_workspace: 0,
  voice_limit: MAX_LISTED,
  voice_add_edit_counter: 0,
  professional_voice_limit: 0,
  can_extend_voice_limit: false,
  can_use_instant_voice_cloning: false,
  can_use_professional_voice_cloning: false,
  current_overage: { amount: '0', currency: 'usd' },
  status: 'active',
  open_invoices: [],
  has_open_invoices: false,
};
const UNTRACKED_USER = {
  is_new_user: false,
  can_use_delayed_payment_methods: false,
  is_onboarding_completed: true,
  is_onboarding_checklist_completed: true,
  is_api_key_hashed: true,
  created_at: 0,
  seat_type: 'workspace_admin',
};

/** Converts an account. */
export function vendorUser({
  userId,
  workspaceId,
  name,
}: {
  readonly userId: string;
  readonly workspaceId: string;
  readonly name: string;
}) {
  return {
    ...UNTRACKED_USER,
    user_id: userId,
    workspace_id: workspaceId,
    first_name: name,
    subscription: UNTRACKED_SUBSCRIPTION,
  };
}
