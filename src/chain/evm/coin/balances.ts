import type { Node } from '../../rpc/node.ts';
import type { EvmPoll } from '../follow/evm-poll.ts';
import { balanceAt } from '../rpc/calls.ts';

/**
 * Asks for the balances of invoices that Paybell has called late. Asks at the tip, because payments in later blocks are
 * not stored yet. A balance that no stored payment explains came from a contract.
 */
export async function readBalances(poll: EvmPoll, node: Node): Promise<void> {
  const { lease, state, follow } = poll;
  if (!lease.areBalancesDue || state.tip === null) return;
  const { number } = state.tip;
  const due = await follow.store.dueBalances(lease.networkId);
  const asked = due.map((invoice) => ({ invoice, call: balanceAt(invoice.address, number) }));
  if (asked.length === 0) return;
  const outcomes = await node.send(asked.map(({ call }) => call));
  // Stores a refusal as an unknown balance, so that Paybell does not ask again. An API request can still check the
  // invoice.
  const answers = asked.filter(({ call }) => {
    const failure = outcomes.failure(call);
    return failure === null || failure.kind === 'rpc_error';
  });
  await follow.store.noteBalances(
    answers.map(({ invoice: { entityId, invoiceId }, call }) => ({
      ...{ entityId, invoiceId },
      balance: outcomes.failure(call) === null ? outcomes.value(call) : null,
    })),
  );
}
