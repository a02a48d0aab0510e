/**
 * How an agent that calls out meets menus, queues and the screening of phones. An optional section of the
 * configuration, absent until set.
 */
import { z } from 'zod';
import { LIMITS } from './limits.ts';

/** The section. */
export const automatedLinesSection = z.strictObject({
  /** False only in a patch, which then removes the section. */
  enabled: z.boolean().default(true),
  /** Said to a phone that screens the call; empty: the model says it. Placeholders are filled. */
  introduction: z.string().max(500).default(''),
  hold_max_seconds: z.number().int().min(30).max(3_600).default(900),
  menu_max_repeats: z.number().int().min(1).max(10).default(3),
  /** Address of a WAV file that a mailbox hears instead of the spoken message; empty: none. */
  voicemail_recording_url: z.string().max(LIMITS.urlChars).default(''),
});
type AutomatedLines = z.output<typeof automatedLinesSection>;

const { enabled, introduction, hold_max_seconds, menu_max_repeats, voicemail_recording_url } =
  automatedLinesSection.shape;

/** The section in a patch: null and `enabled: false` remove it; an empty one sets the defaults. */
export const automatedLinesPatch = z
  .strictObject({
    enabled: enabled.unwrap().optional(),
    introduction: introduction.unwrap().optional(),
    hold_max_seconds: hold_max_seconds.unwrap().optional(),
    menu_max_repeats: menu_max_repeats.unwrap().optional(),
    voicemail_recording_url: voicemail_recording_url.unwrap().optional(),
  })
  .nullable();

/** The section after a patch; no field if there is none. */
export function mergeAutomatedLines(
  current: AutomatedLines | undefined,
  patch: z.output<typeof automatedLinesPatch> | undefined,
): { automated_lines?: AutomatedLines } {
  if (patch === null) return {};
  if (patch === undefined) return current ? { automated_lines: current } : {};
  const merged = automatedLinesSection.parse({ ...current, ...patch });
  return merged.enabled ? { automated_lines: merged } : {};
}
