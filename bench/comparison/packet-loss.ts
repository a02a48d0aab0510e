/** Loses packets on their way to a UDP port of this machine. Needs Linux, iptables and its administrator. */
import { spawnSync } from 'node:child_process';

/** Loses this share of the packets from now on. Returns how to undo it, or why it cannot be done here. */
export function losePackets(port: number, share: number): { undo(): void } | { readonly missing: string } {
  const rule = [
    ['INPUT', '--in-interface', 'lo', '--protocol', 'udp', '--dport', String(port)],
    ['--match', 'statistic', '--mode', 'random', '--probability', String(share), '--jump', 'DROP'],
  ].flat();
  const { error, status, stderr } = spawnSync('iptables', ['--wait', '--insert', ...rule], {
    encoding: 'utf8',
  });
  if (error || status !== 0)
    return {
      missing: `iptables cannot lose packets here: ${(error?.message ?? stderr).trim().split('\n')[0]}`,
    };
  let isUndone = false;
  return {
    undo() {
      if (isUndone) return;
      isUndone = true;
      spawnSync('iptables', ['--wait', '--delete', ...rule]);
    },
  };
}
