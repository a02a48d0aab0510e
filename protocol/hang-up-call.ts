/** The tool by which a model ends the call. */

/** The tool's name. */
export const HANG_UP_CALL = '_hang_up_call';

/** True for the hang-up tool, with or without its underscore: models sometimes drop it. */
export function isHangUpCall(toolName: string): boolean {
  return toolName === HANG_UP_CALL || toolName === HANG_UP_CALL.slice(1);
}
