import { paint, printError, printLine, printTable } from '../src/cli/terminal/output.ts';
import { Progress } from '../src/cli/terminal/progress.ts';
import { type DemoPaybell, startPaybell } from './paybell.ts';
import { DemoReceiver } from './receiver.ts';

/** `npm run demo`: a thousand events through a real Paybell to a receiver that checks each signature. */

const EVENTS = 1_000;
const AT_A_TIME = 32;
/** One in so many is answered with 500 at first, so that retries are seen. */
const REFUSE_ONE_IN = 20;
const PATIENCE_MS = 60_000;

const progress = new Progress();
let secret = '';

printLine(`\n  Starting ${paint('Paybell', 'bold')} on a temporary store …`);
const paybell = await startPaybell();
const receiver = new DemoReceiver(() => secret, REFUSE_ONE_IN);
const good = await runDemo(paybell).catch((error) => {
  progress.clear();
  printError(error instanceof Error ? error.message : String(error));
  return false;
});
await paybell.stop();
await receiver.stop();
process.exit(good ? 0 : 1);

async function runDemo({ call }: DemoPaybell): Promise<boolean> {
  const { secrets } = await call<{ secrets: { secret: string }[] }>('GET', '/webhooks/secret');
  secret = secrets[0]?.secret ?? '';
  const registration = { postUrl: receiver.url, networkIds: [8453], events: ['TransferFinalized'] };
  await call('POST', '/webhooks/classic', registration);
  printLine(`  Registered ${paint(receiver.url, 'cyan')} for TransferFinalized on network 8453`);
  printLine(`  Sending ${EVENTS} events; one in ${REFUSE_ONE_IN} is turned down at first …\n`);
  const startedAtMs = performance.now();
  const [accepted] = await Promise.all([sendEvents(call), watchArrivals()]);
  const tookS = (performance.now() - startedAtMs) / 1000;
  const arrived = accepted.size === EVENTS && accepted.isSubsetOf(receiver.verified);
  const good = arrived && receiver.badSignatures === 0;
  report(accepted.size, tookS, good);
  return good;
}

/** The ids that were acknowledged. */
async function sendEvents(call: DemoPaybell['call']): Promise<Set<string>> {
  const accepted = new Set<string>();
  let next = 0;
  const work = async () => {
    while (next < EVENTS) {
      const number = ++next;
      const event = { event: 'TransferFinalized', networkId: 8453, transferId: `trf_${number}`, amount: '25.00' };
      const { eventId } = await call<{ eventId: string }>('POST', '/events', event);
      accepted.add(eventId);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return accepted;
}

/** Returns when all have arrived, or when they should have. */
async function watchArrivals(): Promise<void> {
  const endsAtMs = performance.now() + PATIENCE_MS;
  while (receiver.verified.size < EVENTS && performance.now() < endsAtMs) {
    progress.show(receiver.verified.size / EVENTS, `${receiver.verified.size} of ${EVENTS} received and verified`);
    await Bun.sleep(20);
  }
  progress.clear();
}

function report(accepted: number, tookS: number, good: boolean): void {
  const rows = [
    ['accepted', String(accepted)],
    ['delivered', String(receiver.arrived.size)],
    ['verified', String(receiver.verified.size)],
    ['retried', String(receiver.refused.size)],
  ];
  printTable(['events', 'count'], rows, '');
  const verdict = good
    ? paint(`Every event arrived and verified, in ${tookS.toFixed(1)} s.`, 'green')
    : paint(`Not every event arrived and verified (${receiver.badSignatures} bad signatures).`, 'red');
  printLine(`\n  ${verdict}\n`);
}
