import { raiseFetchLimit } from './cli/raise-fetch-limit.ts';

await raiseFetchLimit();
// Loaded only now: for `serve` the line above starts the process anew.
const { run } = await import('./cli/program.ts');
process.exitCode = await run(process.argv.slice(2));
