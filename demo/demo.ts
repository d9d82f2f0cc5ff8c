import { printError } from '../src/cli/terminal/output.ts';
import { DEMO_KINDS } from './chain/paid-network.ts';
import { runEventsDemo } from './events.ts';

/** `npm run demo` sends events; `npm run demo -- chain` reads payments from a network that reorganises. */

const USAGE =
  'Run `npm run demo`, `npm run demo -- chain`, `npm run demo -- chain --network tron` (or solana) or `npm run -s demo -- chain --json`';

async function runDemo([name, ...options]: readonly string[]): Promise<boolean> {
  if (name === undefined) return runEventsDemo();
  const isJson = options.includes('--json');
  const [flag, kind = 'evm', ...others] = options.filter((option) => option !== '--json');
  const isNetwork = flag === '--network' && others.length === 0;
  if (name !== 'chain' || (flag !== undefined && !isNetwork)) throw new Error(USAGE);
  const network = DEMO_KINDS.find((each) => each === kind);
  if (network === undefined) throw new Error(USAGE);
  const { runChainDemo } = await import('./chain/demo.ts');
  return runChainDemo({ isJson, network });
}

const succeeded = await runDemo(process.argv.slice(2)).catch((error) => {
  printError(error instanceof Error ? error.message : String(error));
  return false;
});
process.exit(succeeded ? 0 : 1);
