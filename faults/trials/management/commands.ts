import { join } from 'node:path';
import type { Client } from '../../../test/support/service.ts';
import { countRows, withStore } from '../../harness/store-audit.ts';
import type { Site } from './site.ts';

/** A command of the operator that changes the store beside a running server. The command is killed, not the server. */
export type ManagementCommand = {
  readonly name: string;
  readonly arguments: (site: Site) => readonly string[];
  /** After the backlog is accepted, while the receivers wait. */
  readonly ready: (site: Site, client: Client) => Promise<void>;
  /** Counts the rows that the command changes: it is killed after the first of them. */
  readonly changes: string;
  /** Checks what the command did, after it was run again to its end. */
  readonly check: (site: Site) => Promise<void>;
};

/** Three transactions. */
const IMPORTED = 2_500;
const IMPORT_FILE = 'webhooks.jsonl';
const COUNT_IMPORTED = 'select count(*) as count from webhooks where network_id > 1';

const importCommand: ManagementCommand = {
  name: 'import',
  arguments: ({ testbed }) => ['import', IMPORT_FILE, '--entity', testbed.instances.credentials.entityId],
  ready: async (site) => {
    const { testbed } = site;
    const lines = Array.from({ length: IMPORTED }, (_, index) =>
      JSON.stringify({
        networkId: 2 + (index % 5),
        event: 'LatePayment',
        postUrl: testbed.ledger.url(`/imported/${index}`),
      }),
    );
    await Bun.write(join(testbed.instances.folder, IMPORT_FILE), lines.join('\n'));
    site.open();
  },
  changes: COUNT_IMPORTED,
  check: async ({ testbed }) => {
    const imported = await withStore(testbed.url, (db) => countRows(db, COUNT_IMPORTED));
    if (imported !== IMPORTED) testbed.violations.push(`${imported} of ${IMPORTED} webhooks are imported`);
  },
};

/** Removes what was delivered, and nothing of what waits. */
const retentionCommand: ManagementCommand = {
  name: 'retention',
  arguments: () => ['prune', '--older-than', '1s'],
  ready: async (site, client) => {
    const { testbed } = site;
    await site.deliverAll();
    for (const eventId of testbed.acknowledged) site.forgotten.add(eventId);
    await Bun.sleep(1_100);
    site.close();
    await testbed.load([client], { most: 50 }).ended;
  },
  changes: 'select count(*) as count from deliveries',
  check: async () => undefined,
};

export const COMMANDS: readonly ManagementCommand[] = [importCommand, retentionCommand];
