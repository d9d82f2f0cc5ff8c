import { paint, printLine } from '../src/cli/terminal/output.ts';
import { Progress } from '../src/cli/terminal/progress.ts';
import { printTable } from '../src/cli/terminal/table.ts';
import type { Paybell } from '../src/client/paybell.ts';
import { startPaybell } from './paybell.ts';
import { DemoReceiver } from './receiver.ts';

/** A thousand events through a real Paybell to a receiver that verifies each signature. */

const EVENTS = 1_000;
const CONCURRENCY = 32;
const FAIL_ONE_IN = 20;
const TIME_LIMIT_MS = 60_000;

/** Returns whether every event arrived and was verified. */
export async function runEventsDemo(): Promise<boolean> {
  printLine(`\n  Starting ${paint('Paybell', 'bold')} on a temporary store …`);
  const paybell = await startPaybell();
  let receiver: DemoReceiver | null = null;
  try {
    const { secrets } = await paybell.client.secrets.list();
    receiver = new DemoReceiver(secrets[0]?.secret ?? '', FAIL_ONE_IN);
    return await deliverEvents(paybell.client, receiver);
  } finally {
    await paybell.stop();
    await receiver?.stop();
  }
}

async function deliverEvents(client: Paybell, receiver: DemoReceiver): Promise<boolean> {
  await client.webhooks.register({ postUrl: receiver.url, networkIds: [8453], events: ['TransferFinalized'] });
  printLine(`  Registered ${paint(receiver.url, 'cyan')} for TransferFinalized on network 8453`);
  printLine(`  Sending ${EVENTS} events; one in ${FAIL_ONE_IN} fails at its first attempt …\n`);
  const startedAtMs = performance.now();
  const [accepted] = await Promise.all([sendEvents(client), waitForArrivals(receiver)]);
  const tookS = (performance.now() - startedAtMs) / 1000;
  const arrived = accepted.size === EVENTS && accepted.isSubsetOf(receiver.verified);
  const isComplete = arrived && receiver.invalidSignatures === 0;
  report(receiver, accepted.size, tookS, isComplete);
  return isComplete;
}

/** The ids of the events that were accepted. */
async function sendEvents(client: Paybell): Promise<Set<string>> {
  const accepted = new Set<string>();
  let next = 0;
  const work = async () => {
    while (next < EVENTS) {
      const number = ++next;
      const event = { event: 'TransferFinalized', networkId: 8453, transferId: `trf_${number}`, amount: '25.00' };
      accepted.add((await client.events.publish(event)).eventId);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return accepted;
}

async function waitForArrivals(receiver: DemoReceiver): Promise<void> {
  const progress = new Progress();
  const endsAtMs = performance.now() + TIME_LIMIT_MS;
  while (receiver.verified.size < EVENTS && performance.now() < endsAtMs) {
    progress.show(receiver.verified.size / EVENTS, `${receiver.verified.size} of ${EVENTS} received and verified`);
    await Bun.sleep(20);
  }
  progress.clear();
}

function report(receiver: DemoReceiver, accepted: number, tookS: number, isComplete: boolean): void {
  const rows = [
    ['accepted', String(accepted)],
    ['delivered', String(receiver.arrived.size)],
    ['verified', String(receiver.verified.size)],
    ['retried', String(receiver.failed.size)],
  ];
  printTable(['events', 'count'], rows, '');
  const result = isComplete
    ? paint(`Every event arrived and was verified, in ${tookS.toFixed(1)} s.`, 'green')
    : paint(
        `Some events did not arrive or were not verified (${receiver.invalidSignatures} invalid signatures).`,
        'red',
      );
  printLine(`\n  ${result}\n`);
}
