import type { Call } from '../../chain/rpc/call.ts';
import { RpcFailure } from '../../chain/rpc/failures.ts';
import type { Node } from '../../chain/rpc/node.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** Checks that a node of Solana offers all calls that its reader needs. */

const SYSTEM_PROGRAM = '11111111111111111111111111111111';
/** A signature of zeros, which no transaction has. */
const NO_SIGNATURE = '1'.repeat(64);

const slot = (commitment: string): Call<unknown> => ({
  method: 'getSlot',
  params: [{ commitment }],
  read: (one) => one,
});
const HISTORY: readonly Omit<Call<unknown>, 'read'>[] = [
  { method: 'getSignaturesForAddress', params: [SYSTEM_PROGRAM, { limit: 1, commitment: 'confirmed' }] },
  { method: 'getSignatureStatuses', params: [[NO_SIGNATURE], { searchTransactionHistory: true }] },
  {
    method: 'getTransaction',
    params: [NO_SIGNATURE, { encoding: 'json', maxSupportedTransactionVersion: 1, commitment: 'confirmed' }],
  },
  { method: 'getMultipleAccounts', params: [[SYSTEM_PROGRAM], { encoding: 'base64', commitment: 'confirmed' }] },
];

export async function checkSolanaNode(node: Node): Promise<Finding> {
  const check = `node ${node.name}`;
  const [confirmed, finalized] = [slot('confirmed'), slot('finalized')];
  const oldest: Call<unknown> = { method: 'getFirstAvailableBlock', params: [], read: (one) => one };
  const outcomes = await node.send([confirmed, finalized, oldest]);
  const [head, final] = [outcomes.value(confirmed), outcomes.valueOrNull(finalized)];
  if (typeof head !== 'number') return failure(check, 'it has no slot', 'Wait until the node has read its network.');
  const first = outcomes.valueOrNull(oldest);
  const text = [
    `slot ${head}`,
    ...(typeof final === 'number' ? [`finalized ${final}`] : []),
    ...(typeof first === 'number' ? [`history from slot ${first}`] : []),
  ].join(', ');
  const refused = await refusedMethods(node);
  if (refused.length > 0) {
    const fix = `It refuses ${refused.join(' and ')}. Name a node that offers the history of transactions.`;
    return failure(check, text, fix);
  }
  if (typeof final !== 'number') {
    return warning(
      check,
      text,
      'It does not say which slot is finalized, so nothing becomes final. Name another node.',
    );
  }
  if (final < head) return ok(check, text);
  return warning(check, text, 'It calls its newest slot finalized. Paybell does not believe it. Name another node.');
}

/** Sends one call at a time, because a refused batch would not show which method is missing. */
async function refusedMethods(node: Node): Promise<string[]> {
  const refused: string[] = [];
  for (const { method, params } of HISTORY) {
    const call: Call<unknown> = { method, params, read: (one) => one };
    try {
      if ((await node.send([call])).failure(call) !== null) refused.push(method);
    } catch (error) {
      if (!(error instanceof RpcFailure) || error.kind !== 'rpc_error') throw error;
      refused.push(method);
    }
  }
  return refused;
}
