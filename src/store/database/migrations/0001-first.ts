import { chainTables } from './first/chain.ts';
import { countTables } from './first/counts.ts';
import { deliveryTables } from './first/deliveries.ts';
import { endpointTables } from './first/endpoints.ts';
import { eventTables } from './first/events.ts';
import { INVOICE_TABLES } from './first/invoices.ts';
import { listenTables } from './first/listen.ts';
import { queueTables } from './first/queue.ts';
import { taskTables } from './first/tasks.ts';
import { TENANT_TABLES } from './first/tenants.ts';
import { WEBHOOK_TABLES } from './first/webhooks.ts';
import type { Migration } from './migration.ts';

/** The whole schema. Its name identifies it: stores of development versions have another migration under this number. */
export const first: Migration = {
  version: 1,
  name: 'the first schema',
  statements: (dialect) => [
    ...TENANT_TABLES,
    ...WEBHOOK_TABLES,
    ...endpointTables(dialect),
    ...queueTables(dialect),
    ...eventTables(dialect),
    ...taskTables(dialect),
    ...deliveryTables(dialect),
    ...countTables(dialect),
    ...listenTables(dialect),
    ...chainTables(dialect),
    ...INVOICE_TABLES,
  ],
};
