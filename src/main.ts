import { run } from './cli/program.ts';
import { endWithReader } from './cli/terminal/closed-pipe.ts';

endWithReader();
process.exitCode = await run(process.argv.slice(2));
