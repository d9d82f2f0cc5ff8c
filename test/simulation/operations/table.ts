import type { FamilyName } from '../fleet/new-network.ts';
import { CHAIN_ACTIONS } from './chain.ts';
import { DELIVERY_ACTIONS } from './deliveries.ts';
import { ENDPOINT_ACTIONS } from './endpoints.ts';
import { EVENT_ACTIONS } from './events.ts';
import { FAULT_ACTIONS } from './faults.ts';
import { INVOICE_ACTIONS } from './invoices.ts';
import { NODE_ACTIONS, SOLANA_NODE_ACTIONS } from './nodes.ts';
import type { Actions } from './operation.ts';
import { WEBHOOK_ACTIONS } from './webhooks.ts';

/** Everything that can happen in a run, by name, except for the faults of nodes. */
export const ACTIONS: Actions = {
  ...EVENT_ACTIONS,
  ...CHAIN_ACTIONS,
  ...INVOICE_ACTIONS,
  ...WEBHOOK_ACTIONS,
  ...ENDPOINT_ACTIONS,
  ...DELIVERY_ACTIONS,
  ...FAULT_ACTIONS,
};

/** Solana has no invoices: a request for one fails with 400 there. What happens to payments takes their share. */
const SOLANA_WEIGHTS: Readonly<Record<string, number>> = { payment: 14, drop: 8, reorder: 4, 'bring-back': 10 };

const SOLANA_ACTIONS: Actions = Object.fromEntries(
  Object.entries(ACTIONS)
    .filter(([name]) => !(name in INVOICE_ACTIONS))
    .map(([name, action]) => [name, { ...action, weight: SOLANA_WEIGHTS[name] ?? action.weight }]),
);

type Table = { readonly actions: Actions; readonly nodeActions: Actions; readonly all: Actions };

function tableOf(actions: Actions, nodeActions: Actions): Table {
  return { actions, nodeActions, all: { ...actions, ...nodeActions } };
}

/** By the family of the network. */
export const TABLES: Readonly<Record<FamilyName, Table>> = {
  evm: tableOf(ACTIONS, NODE_ACTIONS),
  solana: tableOf(SOLANA_ACTIONS, SOLANA_NODE_ACTIONS),
};
