import { printError } from '../src/cli/terminal/output.ts';
import { runEventsDemo } from './events.ts';

/** `npm run demo` sends events; `npm run demo -- chain` reads payments from a network that reorganises. */

const USAGE = 'Run `npm run demo`, `npm run demo -- chain` or `npm run -s demo -- chain --json`';

async function runDemo([name, ...options]: readonly string[]): Promise<boolean> {
  if (name === undefined) return runEventsDemo();
  if (name !== 'chain' || options.some((option) => option !== '--json')) throw new Error(USAGE);
  // Loads an EVM, which the demo of events does not need.
  const { runChainDemo } = await import('./chain/demo.ts');
  return runChainDemo({ isJson: options.length > 0 });
}

const succeeded = await runDemo(process.argv.slice(2)).catch((error) => {
  printError(error instanceof Error ? error.message : String(error));
  return false;
});
process.exit(succeeded ? 0 : 1);
