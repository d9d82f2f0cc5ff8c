import { expect, test } from 'bun:test';
import { statsSchema } from '../../../src/contract/stats.ts';
import { serviceForCommands } from '../../support/service-for-commands.ts';
import { until } from '../../support/until.ts';

const { client, paybell } = serviceForCommands();
const readStats = async (...options: string[]) => {
  return statsSchema.parse(JSON.parse((await paybell(['stats', '--json', ...options])).stdout));
};

test('stats of an entity without events says so', async () => {
  const { exitCode, stdout } = await paybell(['stats']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^No events from \S+Z to \S+Z\.\n\nNo destinations\.\n\nwaiting {2}0\nstorage {2}\S+/);
});

test('stats prints rows with events, a total and the destinations, and the same as JSON', async () => {
  await paybell(['webhooks', 'create', 'http://127.0.0.1:9/hook', '--networks', '1', '--events', 'LatePayment']);
  await client().send({ event: 'LatePayment', networkId: 1 });
  await until('the event and its first attempt are counted', async () => {
    const { total, backlog } = await readStats();
    return total.accepted === 1 && total.failedAttempts > 0 && backlog.waiting === 1;
  });
  const { stdout } = await paybell(['stats', '--interval', 'day', '--since', '2d']);
  expect(stdout).toMatch(/^start +events +accepted +delivered +failed +attempts +failed attempts +p50 +p95 +p99\n/);
  const figures = '1 +1 +0 +0 +[1-9]\\d* +[1-9]\\d* +– +– +–';
  expect(stdout).toMatch(new RegExp(`^\\d{4}-\\d\\d-\\d\\dT00:00:00Z +${figures}\\ntotal +${figures}$`, 'm'));
  expect(stdout).toMatch(/^waiting +1, (none|the oldest \S+ \w+) overdue$/m);
  expect((await readStats('--interval', 'minute')).intervals).toHaveLength(60);
  const elsewhere = await paybell(['stats', '--destination', 'https://other.example:443']);
  expect(elsewhere.stdout).toStartWith('No events from ');
});

test('stats with a wrong option is wrong usage that names it', async () => {
  expect(await paybell(['stats', '--interval', 'week'])).toMatchObject({ exitCode: 2 });
  const reversed = await paybell(['stats', '--since', '1000', '--until', '900']);
  expect(reversed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--since must be before until') });
});
