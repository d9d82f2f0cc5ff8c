import { CHAIN_ACTIONS } from './chain.ts';
import { DELIVERY_ACTIONS } from './deliveries.ts';
import { ENDPOINT_ACTIONS } from './endpoints.ts';
import { EVENT_ACTIONS } from './events.ts';
import { FAULT_ACTIONS } from './faults.ts';
import { INVOICE_ACTIONS } from './invoices.ts';
import { NODE_ACTIONS } from './nodes.ts';
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

export const ALL_ACTIONS: Actions = { ...ACTIONS, ...NODE_ACTIONS };
