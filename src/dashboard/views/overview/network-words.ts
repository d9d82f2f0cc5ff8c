import type { Chain, ChainNode } from '../../../client/chain/chains.ts';
import type { Display } from '../../components/values/badge.tsx';
import { durationText } from '../../components/values/duration-text.ts';

/** The states of networks and nodes in words. */

export const CHAIN_STATES: Readonly<Record<Chain['state'], Display>> = {
  starting: { label: 'Starting', tone: 'info', icon: 'clock' },
  following: { label: 'Following', tone: 'good', icon: 'check' },
  behind: { label: 'Behind', tone: 'warning', icon: 'alert' },
  stalled: { label: 'Stalled', tone: 'bad', icon: 'alert' },
  disagreeing: { label: 'Disagreeing', tone: 'bad', icon: 'alert' },
  halted: { label: 'Halted', tone: 'bad', icon: 'pause' },
};

/** `words` completes a sentence about the node. */
export const NODE_STATES: Readonly<Record<ChainNode['state'], { label: string; words: string }>> = {
  ok: { label: 'Healthy', words: 'healthy' },
  behind: { label: 'Behind', words: 'behind the others' },
  frozen: { label: 'Frozen', words: 'frozen: its newest block stays the same' },
  final_not_credible: { label: 'No finality', words: 'not saying what is final' },
  implausible: { label: 'Implausible', words: 'ahead of every other node' },
  failing: { label: 'Failing', words: 'failing' },
  wrong_chain: { label: 'Wrong network', words: 'on another network' },
};

/** The kinds of failure that the server names. */
export const NODE_ERRORS: Readonly<Record<string, string>> = {
  unreachable: 'Connection failed',
  timeout: 'Timed out',
  http_status: 'Unexpected HTTP status',
  rate_limited: 'Rate limit exceeded',
  too_large: 'Response too large',
  garbage: 'Response not understood',
  rpc_error: 'Request refused',
};

export function ageText(seconds: number | null): string {
  return seconds === null ? '–' : durationText(seconds * 1000);
}
