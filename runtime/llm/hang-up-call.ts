/** The tool by which a model ends the call. */

/** Its name. */
export const HANG_UP_CALL = '_hang_up_call';

/** True for the hang-up tool, with or without its underscore: models drop it at times. */
export function isHangUpCall(toolName: string): boolean {
  return toolName === HANG_UP_CALL || toolName === HANG_UP_CALL.slice(1);
}
