/**
 * The thin tier above the cells: numbers have a first and a second cell, accounts a home. Nothing here is
 * asked while a call lasts.
 */
import type { Random } from '../../simulation/random.ts';

/** How much there is of everything. */
export interface TierPlan {
  readonly seed: number;
  readonly cells: number;
  /** Calls to the numbers of each cell, evenly spread over `rampMs`. */
  readonly callsPerCell: number;
  readonly callMs: number;
  readonly accountsPerCell: number;
  readonly loss: Loss | null;
}

/** A cell without power and database between these times, ms. */
export interface Loss {
  readonly cell: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A telephone number. */
export interface Line {
  readonly account: string;
  readonly first: number;
  readonly second: number;
}

/** A call: to which number, and where and when it arrives. */
export interface PlacedCall {
  readonly sessionId: string;
  readonly line: Line;
  readonly cell: number;
  readonly atMs: number;
}

/** Everything has started by then, ms. */
export const READY_MS = 9_000;
/** Calls begin within the length of one, so that all are there at the same time. */
export const rampMs = ({ callMs }: TierPlan): number => callMs;
/** A trunk gives an INVITE without any answer up after this time, and remembers it. */
const TRUNK_MS = 4_000;
/** The trunk tries a cell again so long after it is back. */
const RETURN_MS = 30_000;
/** Of ten numbers of an account, so many have its home as their first cell. */
const AT_HOME_OF_TEN = 7;
const NUMBERS_PER_ACCOUNT = 90;
/** Starting credit of an account, in micro-dollars, and of one in ten, which are going to run out of it. */
const CREDIT = 1_000_000_000;
const SMALL_CREDIT = 12_000_000;
const SMALL_ONE_IN = 10;

/** The home of an account. */
export function homeOf(account: string, { cells }: TierPlan): number {
  return indexOf(account) % cells;
}

/** The credit of an account at the beginning, in micro-dollars. */
export function creditOf(account: string, { cells }: TierPlan): number {
  const isSmall = Math.floor(indexOf(account) / cells) % SMALL_ONE_IN === SMALL_ONE_IN - 1;
  return isSmall ? SMALL_CREDIT : CREDIT;
}

/** Of `account-<index>`. */
function indexOf(account: string): number {
  return Number(account.slice(account.indexOf('-') + 1));
}

/** The accounts of all cells. */
export function accountsOf({ cells, accountsPerCell }: TierPlan): string[] {
  return Array.from({ length: cells * accountsPerCell }, (_, index) => `account-${index}`);
}

/** Every number. Second cells of the numbers of a cell are all others, evenly. */
export function linesOf(plan: TierPlan): Line[] {
  const others = plan.cells - 1;
  return accountsOf(plan).flatMap((account, index) => {
    const home = homeOf(account, plan);
    return Array.from({ length: NUMBERS_PER_ACCOUNT }, (_, number) => {
      const isAtHome = others === 0 || number % 10 < AT_HOME_OF_TEN;
      const first = isAtHome ? home : (home + 1 + (number % others)) % plan.cells;
      const second = others === 0 ? first : (first + 1 + ((number + index) % others)) % plan.cells;
      return { account, first, second };
    });
  });
}

/** Every call of the run, with the cell in which it arrives. */
export function callsOf(plan: TierPlan, lines: readonly Line[], random: Random): PlacedCall[] {
  return Array.from({ length: plan.cells }, (_, first) => {
    const own = lines.filter((line) => line.first === first);
    return Array.from({ length: plan.callsPerCell }, (_call, index) => {
      const line = random.pick(own);
      const atMs = READY_MS + random.next() * rampMs(plan);
      return { sessionId: `session-${first}-${index}`, line, ...placeOf(line, atMs, plan.loss) };
    });
  }).flat();
}

/** Where and when the trunk gets through: in the second cell while the first is lost. */
export function placeOf(line: Line, atMs: number, loss: Loss | null): Pick<PlacedCall, 'cell' | 'atMs'> {
  const { first, second } = line;
  const isLost = loss?.cell === first && atMs >= loss.fromMs && atMs < loss.untilMs + RETURN_MS;
  if (!isLost) return { cell: first, atMs };
  const isKnown = atMs >= loss.fromMs + TRUNK_MS;
  return { cell: second, atMs: isKnown ? atMs : atMs + TRUNK_MS };
}
