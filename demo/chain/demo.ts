import { paint, printError, printJson, printLine } from '../../src/cli/terminal/output.ts';
import { Progress } from '../../src/cli/terminal/progress.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { startPaybell } from '../paybell.ts';
import type { Ledger } from './ledger.ts';
import { type DemoKind, MAX_DEPTH, type PaidNetwork } from './paid-network.ts';
import { ChainReceiver } from './receiver.ts';

/**
 * `npm run demo -- chain`: Paybell reads payments from a real EVM that keeps reorganising, and the receiver's ledger is
 * compared with the chain as it is in the end. With `--network tron`, the node of the EVM speaks as Tron's do. With
 * `--network solana`, the chain and its node are a model.
 */

const PAYMENTS = 200;
const REORGANISATIONS = 20;
const FAIL_ONE_IN = 20;
const BLOCK_MS = 100;
/** For Paybell to tell the receiver what the chain says. After it, what is missing counts as wrong. */
const SETTLE_LIMIT_MS = 60_000;
const QUIET_MS = 1_500;
const SHOWN_ERRORS = 10;

type Stage = { readonly network: PaidNetwork; readonly receiver: ChainReceiver; readonly progress: Progress };
type Told = (ledger: Ledger) => ReadonlySet<string>;
type Result = Readonly<Record<'seen' | 'moved' | 'retracted' | 'back' | 'final' | 'requests' | 'wrong', number>>;

type DemoOptions = { readonly isJson: boolean; readonly network: DemoKind };

/** Returns whether the receiver was told exactly what the chain says. */
export async function runChainDemo({ isJson, network: kind }: DemoOptions): Promise<boolean> {
  const say = isJson ? () => undefined : printLine;
  const chain = kind === 'solana' ? 'a model of Solana' : 'a local EVM';
  say(`\n  Starting ${chain}, and ${paint('Paybell', 'bold')} on a temporary store …`);
  const network = await startNetwork(kind);
  const { networkId, preset, pollEvery } = network.rules;
  const paybell = await startPaybell({
    CHAIN_RPC: `${networkId}=${network.url}`,
    // The local chain calls blocks final that are nearer to its head than those of Base, and makes them without a pause.
    CHAIN_RPC_RATE: '1000',
    CHAIN_MIN_DEPTH: `${networkId}=1`,
    CHAIN_POLL: `${networkId}=${pollEvery}`,
  });
  let receiver: ChainReceiver | null = null;
  try {
    const { secrets } = await paybell.client.secrets.list();
    receiver = new ChainReceiver(secrets[0]?.secret ?? '', FAIL_ONE_IN);
    const events = ['TransferProcessed', 'TransferFinalized'] as const;
    await paybell.client.webhooks.register({ postUrl: receiver.url, networkIds: [networkId], events: [...events] });
    await paybell.client.sources.create({
      networkId,
      preset,
      contract: network.contract,
      where: { to: [network.payee] },
      fromBlock: 'latest',
    });
    // No reorganisation reaches below the block from which on the source reads.
    await network.mine(MAX_DEPTH);
    say(`  Registered ${paint(receiver.url, 'cyan')}, and payments to ${paint(network.payee, 'cyan')} as a source`);
    say(`  Making ${PAYMENTS} payments and ${REORGANISATIONS} reorganisations of up to ${MAX_DEPTH} blocks …\n`);
    const startedAtMs = performance.now();
    await play({ network, receiver, progress: new Progress() });
    const errors = receiver.ledger.errors(await network.payments());
    const tookS = (performance.now() - startedAtMs) / 1000;
    const result = resultOf(receiver, errors.length);
    if (isJson) printJson({ payments: PAYMENTS, reorganisations: REORGANISATIONS, ...result, tookS, errors });
    else report(result, errors, tookS);
    return result.wrong === 0;
  } finally {
    await paybell.stop();
    await receiver?.stop();
    await network.stop();
  }
}

/** Loads the code of one network alone. */
async function startNetwork(kind: DemoKind): Promise<PaidNetwork> {
  if (kind === 'solana') return new (await import('./solana-network.ts')).SolanaNetwork();
  return (await import('./network.ts')).DemoNetwork.start(PAYMENTS, kind);
}

async function play(stage: Stage): Promise<void> {
  const { network, receiver } = stage;
  const believed: Told = (ledger) => ledger.believed;
  for (let round = 0; round < REORGANISATIONS; round++) {
    await network.pay(PAYMENTS / REORGANISATIONS);
    await settle(stage, round, believed);
    await network.reorganise();
  }
  await settle(stage, REORGANISATIONS, believed);
  await network.mine(network.rules.finalBehind + 1);
  // A lone node has to call a block final at two heads.
  await settle(stage, REORGANISATIONS, ({ finalized }) => finalized, { mines: 'always' });
  // Nothing may come after the end, either.
  while (performance.now() - receiver.lastRequestAtMs < QUIET_MS) await Bun.sleep(50);
  stage.progress.clear();
}

/** Waits until the receiver was told what the chain says. A lost payment is taken back only when blocks have come without it. */
async function settle(
  { network, receiver, progress }: Stage,
  round: number,
  told: Told,
  { mines }: { mines: 'always' | 'after a reorganisation' } = { mines: 'after a reorganisation' },
): Promise<void> {
  const endsAtMs = performance.now() + SETTLE_LIMIT_MS;
  let minedAtMs = performance.now();
  while (performance.now() < endsAtMs) {
    const chain = new Set((await network.payments()).keys());
    const isTrue = told(receiver.ledger).isSubsetOf(chain);
    if (isTrue && told(receiver.ledger).size === chain.size) return;
    const share = round / REORGANISATIONS;
    progress.show(share, `${round} of ${REORGANISATIONS} reorganisations, ${receiver.requests} requests`);
    await Bun.sleep(20);
    if ((isTrue && mines !== 'always') || performance.now() - minedAtMs < BLOCK_MS) continue;
    minedAtMs = performance.now();
    await network.mine();
  }
}

function resultOf({ ledger, requests, invalidSignatures }: ChainReceiver, errors: number): Result {
  const processed = ledger.all('TransferProcessed');
  return {
    seen: processed.length,
    moved: ledger.moved,
    retracted: ledger.all('EventRetracted').length,
    back: processed.filter(({ revision }) => revision > 1).length,
    final: ledger.all('TransferFinalized').length,
    requests,
    wrong: errors + invalidSignatures,
  };
}

function report(result: Result, errors: readonly string[], tookS: number): void {
  const { requests, wrong, ...payments } = result;
  const rows = [
    ...Object.entries({ ...payments, 'requests received': requests }).map(([name, count]) => [name, String(count)]),
    ['wrong', paint(String(wrong), wrong === 0 ? 'green' : 'red')],
  ];
  printTable(['payments', 'count'], rows, '');
  for (const error of errors.slice(0, SHOWN_ERRORS)) printError(error);
  const end =
    wrong === 0
      ? paint(`Paybell told the receiver what the chain says: 0 wrong, in ${tookS.toFixed(1)} s.`, 'green')
      : paint(`Paybell told the receiver something else than the chain says: ${wrong} wrong.`, 'red');
  printLine(`\n  ${end}\n`);
}
